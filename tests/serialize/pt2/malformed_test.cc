// Malformed archives: a message, no crash.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"
#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

using ::testing::HasSubstr;

std::string Error(const std::string& bytes) {
  const auto module = ImportPt2Bytes(bytes);
  return module.ok() ? "" : std::string(module.status().message());
}

// An archive with that program text, and nothing else to be found wrong.
std::string With(const std::string& json, const std::string& weights = "{\"config\":{}}") {
  ZipWriter zip;
  zip.Add("m/archive_format", "pt2");
  zip.Add("m/byteorder", "little");
  zip.Add("m/data/weights/model_weights_config.json", weights);
  zip.Add("m/data/weights/weight_0", std::string(16, '\0'));
  zip.Add("m/models/model.json", json);
  return zip.Finish();
}

TestProgram Relu() {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.nodes = {TestProgram::Node("torch.ops.aten.relu.default", {{"self", TestProgram::T("x")}},
                               {TestProgram::T("y")})};
  p.values = {{"y", 7, {"2"}}};
  p.outputs = {"y"};
  return p;
}

// The program's text with one piece replaced, which must be there.
std::string Broken(const std::string& from, const std::string& to) {
  std::string json = Relu().Json();
  EXPECT_THAT(json, HasSubstr(from));
  return Error(With(absl::StrReplaceAll(json, {{from, to}})));
}

TEST(MalformedTest, TheProgramItselfIsGood) { EXPECT_EQ(Error(With(Relu().Json())), ""); }

TEST(MalformedTest, Containers) {
  EXPECT_THAT(Error(""), HasSubstr("ZIP archive"));
  EXPECT_THAT(Error("PK\3\4 and no more"), HasSubstr("ZIP archive"));
  ZipWriter empty;
  EXPECT_THAT(Error(empty.Finish()), HasSubstr("ZIP archive"));
  ZipWriter nothing;
  nothing.Add("m/else", "");
  EXPECT_THAT(Error(nothing.Finish()), HasSubstr("archive_format"));
  ZipWriter other;
  other.Add("m/archive_format", "ptq");
  EXPECT_THAT(Error(other.Finish()), HasSubstr("expected pt2, got \"ptq\""));
  ZipWriter big;
  big.Add("m/archive_format", "pt2");
  big.Add("m/byteorder", "big");
  EXPECT_THAT(Error(big.Finish()), HasSubstr("only little"));
  ZipWriter none;
  none.Add("m/archive_format", "pt2");
  EXPECT_THAT(Error(none.Finish()), HasSubstr("no program"));
  ZipWriter old;
  old.Add("serialized_exported_program.json", "{}");
  EXPECT_THAT(Error(old.Finish()), HasSubstr("serialized_exported_program.json: $.schema_version"));
}

TEST(MalformedTest, Json) {
  EXPECT_THAT(Error(With("")), HasSubstr("m/models/model.json: not valid"));
  EXPECT_THAT(Error(With("{\"a\":")), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error(With("[]")), HasSubstr("$.schema_version"));
  const std::string deep(100000, '[');
  EXPECT_THAT(Error(With(deep)), HasSubstr("nested 100000 deep"));
  // Brackets in strings are not nesting.
  EXPECT_THAT(Error(With(absl::StrCat("{\"a\":\"", deep, "\"}"))), HasSubstr("$.schema_version"));
}

TEST(MalformedTest, Versions) {
  EXPECT_THAT(Broken("\"major\":8", "\"major\":9"),
              HasSubstr("schema version 9.20; versions 2.x to 8.x are read"));
  EXPECT_EQ(Broken("\"minor\":20", "\"minor\":99,\"new\":[1]"), "");
}

TEST(MalformedTest, PlacesAreNamed) {
  EXPECT_THAT(Broken("\"target\":\"torch.ops.aten.relu.default\"", "\"target\":7"),
              HasSubstr("$.graph_module.graph.nodes[0].target: expected a "
                        "string"));
  EXPECT_THAT(Broken("\"kind\":1}]", "\"kind\":1},5]"),
              HasSubstr("nodes[0].inputs[1]: expected an object"));
  EXPECT_THAT(Broken("\"dtype\":7", "\"dtype\":7.5"), HasSubstr("dtype: expected an integer"));
  EXPECT_THAT(Broken("{\"as_int\":2}", "{\"as_int\":99999999999999999999}"), HasSubstr("as_int"));
  EXPECT_THAT(Broken("{\"as_int\":2}", "{\"as_nothing\":2}"),
              HasSubstr("unknown member \"as_nothing\""));
  EXPECT_THAT(Broken("\"arg\":{\"as_tensor\"", "\"arg\":{\"as_bogus\""), HasSubstr("as_bogus"));
}

TEST(MalformedTest, Graphs) {
  EXPECT_THAT(Broken("\"self\"", "\"me\""),
              HasSubstr("argument \"me\" is not one of the operator's"));
  EXPECT_THAT(Broken("\"dtype\":7", "\"dtype\":1234"), HasSubstr("dtype 1234"));
  EXPECT_THAT(Broken("{\"as_int\":2}", "{\"as_int\":-2}"), HasSubstr("negative"));
  TestProgram p = Relu();
  p.outputs = {"nothing"};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("nothing before it defines 'nothing'"));
  p = Relu();
  p.nodes.clear();
  EXPECT_THAT(Error(p.Archive()), HasSubstr("defines 'y'"));
  p = Relu();
  p.nodes[0] = TestProgram::Node("torch.ops.aten.relu.default", {}, {TestProgram::T("y")});
  EXPECT_THAT(Error(p.Archive()), HasSubstr("argument \"self\" is missing"));
  p = Relu();
  p.inputs[0].sizes = {"Symbol('s0', integer=True) + bogus("};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("input 'x': the expression"));
}

TEST(MalformedTest, Weights) {
  TestProgram p = Relu();
  p.weights = {{"p_w", "w", "parameter", {4}, {1}, 0, "weight_0"}};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("no entry \"program/data/weights/weight_0\""));
  p.storages["data/weights/weight_0"] = {1, 2};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("input 'p_w': tensor \"w\""));
  p.weights[0].sizes = {2};
  p.weights[0].strides = {1000000000};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("tensor \"w\""));
  p.weights[0].strides = {-1};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("tensor \"w\""));
  p.weights[0].strides = {1};
  p.weights[0].offset = 1;
  EXPECT_THAT(Error(p.Archive()), HasSubstr("tensor \"w\""));
  p.weights[0].offset = 0;
  EXPECT_EQ(Error(p.Archive()), "");
  p.weights[0].sizes = {int64_t{1} << 40};
  p.weights[0].strides = {1};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("tensor \"w\""));
}

// Elements that share their bytes are not made apart: 2^38 of them here.
TEST(MalformedTest, WeightsThatAreMoreThanTheirBytes) {
  TestProgram p = Relu();
  p.storages["data/weights/weight_0"] = {1, 2};
  p.weights = {{"p_w", "w", "parameter", {1 << 20, 1 << 18}, {0, 0}, 0, "weight_0"}};
  EXPECT_THAT(Error(p.Archive()),
              HasSubstr("tensor \"w\": its elements take 1099511627776 bytes and are stored as 8"));
  p.weights[0].sizes = {1000, 1000};
  EXPECT_EQ(Error(p.Archive()), "");
}

TEST(MalformedTest, RanksAreBounded) {
  TestProgram p = Relu();
  p.inputs[0].sizes = std::vector<std::string>(65, "1");
  EXPECT_THAT(Error(p.Archive()), HasSubstr("a tensor of 65 dims; the limit is 64"));
}

// Data that is small in the archive and large in memory.
TEST(MalformedTest, Bombs) {
  EXPECT_THAT(Error(With("{" + std::string(2 << 20, ' '))),
              HasSubstr("2097152 blanks in a row; the limit is 1048576"));
  ZipWriter zip;
  zip.Add("m/archive_format", "pt2");
  zip.AddDeflated("m/models/model.json", std::string(80 << 20, ' '));
  EXPECT_THAT(Error(zip.Finish()), HasSubstr("until the limit of 67108864"));
}

// Products and sums of sizes, strides and offsets that pass 64 bits.
TEST(MalformedTest, SizesThatOverflow) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  TestProgram p = Relu();
  p.storages["data/weights/weight_0"] = {1, 2};
  const auto error = [&](std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) {
    p.weights = {{"p_w", "w", "parameter", sizes, strides, offset, "weight_0"}};
    return Error(p.Archive());
  };
  EXPECT_EQ(error({2}, {1}, 0), "");
  EXPECT_THAT(error({kMax, kMax}, {1, 1}, 0), HasSubstr("tensor \"w\""));
  EXPECT_THAT(error({kMax}, {0}, 0), HasSubstr("tensor \"w\""));
  EXPECT_THAT(error({2, 2}, {kMax, kMax}, 0), HasSubstr("tensor \"w\""));
  EXPECT_THAT(error({2}, {1}, kMax), HasSubstr("tensor \"w\""));
  EXPECT_THAT(error({1}, {1}, -1), HasSubstr("tensor \"w\""));
  EXPECT_THAT(Broken("{\"as_int\":2}", "{\"as_int\":9223372036854775808}"), HasSubstr("as_int"));
  p = Relu();
  p.inputs[0].sizes = {"9223372036854775807", "9223372036854775807"};
  p.values[0].sizes = p.inputs[0].sizes;
  EXPECT_NE(Error(p.Archive()), "");
}

TEST(MalformedTest, Signatures) {
  TestProgram p = Relu();
  p.output_specs = {
      "{\"buffer_mutation\":{\"arg\":{\"name\":\"y\"},"
      "\"buffer_name\":\"nowhere\"}}"};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("writes 'nowhere', which is no input"));
  p.output_specs = {"{\"token\":{\"arg\":{\"name\":\"y\"}}}"};
  EXPECT_THAT(Error(p.Archive()), HasSubstr("outputs of kind \"token\""));
}

TEST(MalformedTest, EveryPrefixOfTheArchiveIsAnError) {
  const std::string bytes = Relu().Archive();
  for (size_t n = 0; n < bytes.size(); n += 7) {
    EXPECT_NE(Error(bytes.substr(0, n)), "") << n;
  }
}

}  // namespace
}  // namespace weft::pt2
