// Archives of PyTorch before 2.8, and the pickles in them.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pickle.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"
#include "tests/serialize/pt2/saved_writer.h"
#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Storages = std::map<std::string, std::vector<float>>;

std::string T(const std::string& name) { return TestProgram::T(name); }

// w x + k, w a transposed parameter.
TestProgram Affine() {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.weights = {{"p_w", "w", "parameter", {2, 2}, {1, 2}, 0, "-"},
               {"c_k", "k", "tensor_constant", {2}, {1}, 0, "-"}};
  p.nodes = {TestProgram::Node("torch.ops.aten.mv.default", {{"self", T("p_w")}, {"vec", T("x")}},
                               {T("y")}),
             TestProgram::Node("torch.ops.aten.add.Tensor", {{"self", T("y")}, {"other", T("c_k")}},
                               {T("z")})};
  p.outputs = {"z"};
  return p;
}

const std::vector<SavedTensor>& State() {
  static const auto& state = *new std::vector<SavedTensor>{{"w", "0", {2, 2}, {1, 2}, 0, true}};
  return state;
}

std::string Archive(const std::string& json, const std::string& state,
                    const std::string& ending = ".pt") {
  ZipWriter zip;
  zip.Add("version", "8.8");
  zip.Add("serialized_exported_program.json", json);
  zip.Add("serialized_state_dict" + ending, state);
  zip.Add("serialized_constants" + ending,
          SavedFile(PickleOf({{"k", "7", {2}, {1}, 1, false}}), {{"7", {0, 10, 20}}}));
  return zip.Finish();
}

std::string Good() {
  return Archive(Affine().Json(), SavedFile(PickleOf(State()), {{"0", {1, 2, 3, 4}}}));
}

std::string ErrorOf(const std::string& bytes) {
  const auto module = ImportPt2Bytes(bytes);
  return module.ok() ? "" : std::string(module.status().message());
}

TEST(OldArchiveTest, ReadsProgramAndTensors) {
  for (const char* ending : {".pt", ".json"}) {
    const auto module = ImportPt2Bytes(
        Archive(Affine().Json(), SavedFile(PickleOf(State()), {{"0", {1, 2, 3, 4}}}), ending));
    ASSERT_TRUE(module.ok()) << module.status();
    const HostTensor x = HostTensor::FromDoubles(DType::kF32, {2}, {1, 1});
    const auto y = reference::Run(*(*module)->main(), {x});
    ASSERT_TRUE(y.ok()) << y.status();
    // [[1, 3], [2, 4]] [1, 1] + [10, 20]
    EXPECT_THAT((*y)[0].ReadDoubles(), ElementsAre(14, 26));
  }
}

TEST(OldArchiveTest, ReadsOlderSchemas) {
  const std::string state = SavedFile(PickleOf(State()), {{"0", {1, 2, 3, 4}}});
  const auto with = [&](const std::string& version) {
    return ErrorOf(Archive(
        absl::StrReplaceAll(Affine().Json(), {{"{\"major\":8,\"minor\":20}", version}}), state));
  };
  EXPECT_EQ(with("{\"major\":2,\"minor\":1}"), "");
  EXPECT_EQ(with("{\"major\":5,\"minor\":3}"), "");
  EXPECT_THAT(with("{\"major\":1,\"minor\":0}"),
              HasSubstr("schema version 1.0; versions 2.x to 8.x are read"));
}

TEST(OldArchiveTest, AFileOfTorchSaveMayStandAmongTheWeights) {
  ZipWriter zip;
  zip.Add("m/archive_format", "pt2");
  zip.Add("m/models/model.json", Affine().Json());
  zip.Add("m/data/weights/model.pt", SavedFile(PickleOf(State()), {{"0", {1, 2, 3, 4}}}));
  zip.Add("m/data/constants/model.pt",
          SavedFile(PickleOf({{"k", "7", {2}, {1}, 0, false}}), {{"7", {0, 10}}}));
  EXPECT_EQ(ErrorOf(zip.Finish()), "");
}

TEST(OldArchiveTest, TensorsThatDoNotFit) {
  const auto with = [](const SavedTensor& t, const Storages& storages) {
    return ErrorOf(Archive(Affine().Json(), SavedFile(PickleOf({t}), storages)));
  };
  EXPECT_THAT(with({"w", "0", {2, 2}, {1, 2}, 1, true}, {{"0", {1, 2, 3, 4}}}),
              HasSubstr("tensor \"w\""));
  EXPECT_THAT(with({"w", "9", {2, 2}, {1, 2}, 0, true}, {{"0", {1, 2, 3, 4}}}),
              HasSubstr("no entry \"archive/data/9\""));
  EXPECT_THAT(with({"w", "0", {2, -2}, {1, 2}, 0, true}, {{"0", {1}}}), HasSubstr("negative"));
  EXPECT_THAT(with({"w", "0", {2, 2}, {1}, 0, true}, {{"0", {1}}}), HasSubstr("differ in number"));
  EXPECT_THAT(with({"v", "0", {2, 2}, {1, 2}, 0, true}, {{"0", {1}}}), HasSubstr("no \"w\""));
}

TEST(OldArchiveTest, FilesThatAreNoArchives) {
  EXPECT_THAT(ErrorOf(Archive(Affine().Json(), "nothing")),
              HasSubstr("serialized_state_dict.pt: not a well-formed ZIP archive"));
  ZipWriter none;
  none.Add("archive/else", "");
  EXPECT_THAT(ErrorOf(Archive(Affine().Json(), none.Finish())), HasSubstr("data.pkl"));
  const std::string big =
      absl::StrReplaceAll(SavedFile(PickleOf(State()), {}), {{"little", "big   "}});
  EXPECT_NE(ErrorOf(Archive(Affine().Json(), big)), "");
}

// --- Pickles -----------------------------------------------------------------------

std::string PickleError(const std::string& bytes) {
  const auto tensors = ReadPickledTensors(bytes, "p");
  return tensors.ok() ? "" : std::string(tensors.status().message());
}

TEST(PickleTest, ReadsViewsOfStorages) {
  const auto tensors = ReadPickledTensors(
      PickleOf({{"a", "3", {2, 300}, {300, 1}, 70000, false}, {"s", "4", {}, {}, 0, true}}), "p");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  const PickledTensor& a = (*tensors)[0].second;
  EXPECT_EQ((*tensors)[0].first, "a");
  EXPECT_EQ(a.storage, "3");
  EXPECT_EQ(a.dtype, DType::kF32);
  EXPECT_THAT(a.sizes, ElementsAre(2, 300));
  EXPECT_THAT(a.strides, ElementsAre(300, 1));
  EXPECT_EQ(a.offset, 70000);
  EXPECT_TRUE((*tensors)[1].second.sizes.empty());
}

// The attributes of a module's state, memoized values, an empty dict.
TEST(PickleTest, ReadsWhatElseIsWritten) {
  EXPECT_EQ(PickleError("\x80\x02}q\x01."), "");
  const std::string state = PickleOf({{"a", "0", {1}, {1}, 0, false}});
  const std::string built = state.substr(0, state.size() - 1) + "}q\x05X\x09" +
                            std::string(3, '\0') + "_metadatah\x05sb.";
  EXPECT_EQ(PickleError(built), "");
}

TEST(PickleTest, RunsNothing) {
  EXPECT_THAT(PickleError("\x80\x02"
                          "cos\nsystem\n(X\x02\0\0\0lstR."),
              HasSubstr("p: byte 2: it asks for os.system"));
  EXPECT_THAT(PickleError("\x80\x02"
                          "cbuiltins\neval\n."),
              HasSubstr("builtins.eval"));
  EXPECT_THAT(PickleError("\x80\x02"
                          "ctorch._utils\n_rebuild_wrapper_subclass\n."),
              HasSubstr("_rebuild_wrapper_subclass"));
  EXPECT_THAT(PickleError("\x80\x02"
                          "ctorch\nload\n."),
              HasSubstr("torch.load"));
  EXPECT_THAT(PickleError("\x80\x02i"), HasSubstr("opcode 105"));
  EXPECT_THAT(PickleError("\x80\x04."), HasSubstr("protocols above 2"));
}

TEST(PickleTest, BrokenMachines) {
  EXPECT_THAT(PickleError(""), HasSubstr("ends early"));
  EXPECT_THAT(PickleError("."), HasSubstr("no dict of tensors"));
  EXPECT_THAT(PickleError("}"), HasSubstr("ends early"));
  EXPECT_THAT(PickleError("\x85"), HasSubstr("byte 0: nothing is on the stack"));
  EXPECT_THAT(PickleError("t"), HasSubstr("no mark"));
  EXPECT_THAT(PickleError("h\x07"), HasSubstr("nothing is memoized as 7"));
  EXPECT_THAT(PickleError("q\x07"), HasSubstr("nothing is on the stack"));
  EXPECT_THAT(PickleError("}(Nu."), HasSubstr("a key has no value"));
  EXPECT_THAT(PickleError("}(NNu."), HasSubstr("not the tensor of a name"));
  EXPECT_THAT(PickleError("NQ."), HasSubstr("persistent id"));
  EXPECT_THAT(PickleError("N)R."), HasSubstr("no function"));
  EXPECT_THAT(PickleError("N(s"), HasSubstr("nothing is on the stack"));
  EXPECT_THAT(PickleError("ctorch._utils\n_rebuild_tensor_v2\n)R."),
              HasSubstr("not those of a tensor"));
  EXPECT_THAT(PickleError("X\xff\xff\xff\xff"), HasSubstr("ends early"));
  // A dict that holds itself is a value like any other.
  EXPECT_THAT(PickleError("}q\x01(h\x01h\x01u."), HasSubstr("not the tensor of a name"));
  // Depth costs nothing.
  EXPECT_THAT(PickleError(std::string(100000, '(') + std::string(100000, 't') + "."),
              HasSubstr("no dict of tensors"));
  EXPECT_THAT(PickleError(std::string((1 << 24) + 1, 'N')), HasSubstr("the limit is"));
}

TEST(PickleTest, NamesComeOnce) {
  EXPECT_THAT(
      PickleError(PickleOf({{"a", "0", {1}, {1}, 0, false}, {"a", "0", {1}, {1}, 0, true}})),
      HasSubstr("\"a\" twice"));
}

// Every byte of a good archive cut off, or changed: a message, or still good.
TEST(PickleTest, SurvivesEveryByte) {
  const std::string good = PickleOf({{"a", "0", {2, 3}, {3, 1}, 0, true}});
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(PickleError(good.substr(0, i)), "");
    for (int change : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      PickleError(bad);
    }
  }
  EXPECT_EQ(ErrorOf(Good()), "");
}

}  // namespace
}  // namespace weft::pt2
