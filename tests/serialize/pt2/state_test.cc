// Buffers that are written and share memory; conditions that are asserted.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string T(const std::string& name) { return TestProgram::T(name); }

std::string Aten(const std::string& op, const std::vector<std::pair<std::string, std::string>>& in,
                 const std::vector<std::string>& out) {
  std::vector<std::string> outputs;
  for (const std::string& name : out) outputs.push_back(T(name));
  return TestProgram::Node("torch.ops.aten." + op, in, outputs);
}

// Outputs, and after them what was written to the inputs.
struct Results {
  absl::Status status;
  std::vector<std::vector<double>> outputs, written;
};

Results Execute(const Module& module, const std::vector<HostTensor>& user) {
  const Graph& main = *module.main();
  std::vector<HostTensor> inputs, written;
  size_t next = 0;
  for (int i = 0; i < main.num_inputs(); ++i) {
    const int initial = main.input_info(i).initial;
    inputs.push_back(initial >= 0 ? module.constants().tensor(initial) : user[next++]);
  }
  reference::RunOptions options;
  options.written = &written;
  const auto outputs = reference::Run(main, inputs, options);
  Results r;
  r.status = outputs.status();
  if (!outputs.ok()) return r;
  for (const HostTensor& t : *outputs) r.outputs.push_back(t.ReadDoubles());
  for (const HostTensor& t : written) {
    r.written.push_back(t.valid() ? t.ReadDoubles() : std::vector<double>());
  }
  return r;
}

std::string ErrorOf(const TestProgram& p) {
  const auto module = ImportPt2Bytes(p.Archive());
  return module.ok() ? "" : std::string(module.status().message());
}

// row.add_(x) and the sum of cache and row: `row` is the second row of `cache`.
TestProgram CacheRow() {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.weights = {{"b_row", "row", "buffer", {2}, {1}, 2, "weight_0"},
               {"b_cache", "cache", "buffer", {2, 2}, {2, 1}, 0, "weight_0"}};
  p.storages["data/weights/weight_0"] = {1, 2, 3, 4};
  p.nodes = {Aten("add_.Tensor", {{"self", T("b_row")}, {"other", T("x")}}, {"y"}),
             Aten("add.Tensor", {{"self", T("b_cache")}, {"other", T("y")}}, {"z"})};
  p.outputs = {"z"};
  return p;
}

const HostTensor& Tens() {
  static const auto& t = *new HostTensor(HostTensor::FromDoubles(DType::kF32, {2}, {10, 20}));
  return t;
}

TEST(SharedMemory, AWriteToAViewIsAWriteToTheWhole) {
  const auto module = ImportPt2Bytes(CacheRow().Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  // One input for both.
  ASSERT_EQ((*module)->main()->num_inputs(), 2);
  EXPECT_EQ((*module)->main()->input_info(0).param, "cache");
  const Results r = Execute(**module, {Tens()});
  ASSERT_TRUE(r.status.ok()) << r.status;
  EXPECT_THAT(r.outputs[0], ElementsAre(14, 26, 26, 48));
  EXPECT_THAT(r.written[0], ElementsAre(1, 2, 13, 24));
}

TEST(SharedMemory, AWriteToTheWholeShowsInItsViews) {
  TestProgram p = CacheRow();
  p.nodes = {Aten("mul_.Scalar", {{"self", T("b_cache")}, {"other", "{\"as_float\":2.0}"}}, {"y"}),
             Aten("add.Tensor", {{"self", T("b_row")}, {"other", T("x")}}, {"z"})};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  const Results r = Execute(**module, {Tens()});
  EXPECT_THAT(r.outputs[0], ElementsAre(16, 28));
  EXPECT_THAT(r.written[0], ElementsAre(2, 4, 6, 8));
}

TEST(SharedMemory, EqualViewsAreOne) {
  TestProgram p = CacheRow();
  p.weights[1] = {"b_cache", "cache", "buffer", {2}, {1}, 2, "weight_0"};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  const Results r = Execute(**module, {Tens()});
  EXPECT_THAT(r.outputs[0], ElementsAre(26, 48));
}

// Rows beside each other have nothing in common.
TEST(SharedMemory, PartsThatDoNotTouchAreNotShared) {
  TestProgram p = CacheRow();
  p.weights[1] = {"b_cache", "cache", "buffer", {2}, {1}, 0, "weight_0"};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->main()->input_info(0).param, "row");
  const Results r = Execute(**module, {Tens()});
  EXPECT_THAT(r.outputs[0], ElementsAre(14, 26));
  EXPECT_THAT(r.written[0], ElementsAre(13, 24));
}

TEST(SharedMemory, IsRefusedWithoutARoot) {
  TestProgram p = CacheRow();
  p.weights[0] = {"b_row", "row", "buffer", {2}, {1}, 1, "weight_0"};
  p.weights[1] = {"b_cache", "cache", "buffer", {2}, {1}, 2, "weight_0"};
  EXPECT_THAT(ErrorOf(p), HasSubstr("one of \"row\", \"cache\" is written, they share memory"));
}

TEST(SharedMemory, WriteBacksOfDecomposedPrograms) {
  TestProgram p = CacheRow();
  p.nodes = {Aten("add.Tensor", {{"self", T("b_row")}, {"other", T("x")}}, {"z"})};
  p.outputs = {"z", "b_cache"};
  p.output_specs = {"{\"buffer_mutation\":{\"arg\":{\"name\":\"z\"},\"buffer_name\":\"row\"}}",
                    "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"b_cache\"}}}}"};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  const Results r = Execute(**module, {Tens()});
  EXPECT_THAT(r.written[0], ElementsAre(1, 2, 13, 24));
  p.outputs = {"z", "b_cache"};
  p.output_specs[1] =
      "{\"buffer_mutation\":{\"arg\":{\"name\":\"b_cache\"},\"buffer_name\":\"cache\"}}";
  EXPECT_THAT(ErrorOf(p), HasSubstr("so is a tensor that shares its memory"));
}

// --- Conditions --------------------------------------------------------------------

TEST(Asserts, AreCheckedOnData) {
  TestProgram p;
  p.inputs = {{"x", 7, {}}};
  p.nodes = {Aten("gt.Scalar", {{"self", T("x")}, {"other", "{\"as_float\":0.0}"}}, {"c"}),
             Aten("_assert_async.msg",
                  {{"self", T("c")}, {"assert_msg", "{\"as_string\":\"x is positive\"}"}}, {}),
             Aten("neg.default", {{"self", T("x")}}, {"y"})};
  p.outputs = {"y"};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(PrintModule(**module), HasSubstr("runtime_assert("));
  EXPECT_TRUE(Execute(**module, {HostTensor::Scalar(DType::kF32, 1)}).status.ok());
  EXPECT_THAT(
      std::string(Execute(**module, {HostTensor::Scalar(DType::kF32, -1)}).status.message()),
      HasSubstr("assertion failed: x is positive"));
}

// item() > 2 * item(): neither is a bound of one symbol.
TEST(Asserts, OfSizesAreConditions) {
  TestProgram p;
  p.inputs = {{"a", 5, {}}, {"b", 5, {}}};
  const auto sym = [](const std::string& name) {
    return absl::StrCat("{\"as_sym_int\":{\"as_name\":\"", name, "\"}}");
  };
  p.nodes = {TestProgram::Node("torch.ops.aten.item.default", {{"self", T("a")}}, {sym("u")}),
             TestProgram::Node("torch.ops.aten.item.default", {{"self", T("b")}}, {sym("v")}),
             TestProgram::Node("_operator.lt", {{"a", sym("u")}, {"b", sym("v")}},
                               {"{\"as_sym_bool\":{\"as_name\":\"c\"}}"}),
             TestProgram::Node("torch.ops.aten._assert_scalar.default",
                               {{"self", "{\"as_sym_bool\":{\"as_name\":\"c\"}}"},
                                {"assert_msg", "{\"as_string\":\"a < b\"}"}},
                               {}),
             Aten("add.Tensor", {{"self", T("a")}, {"other", T("b")}}, {"y"})};
  p.outputs = {"y"};
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  const HostTensor one = HostTensor::ScalarInt(DType::kI64, 1);
  const HostTensor two = HostTensor::ScalarInt(DType::kI64, 2);
  EXPECT_TRUE(Execute(**module, {one, two}).status.ok());
  EXPECT_FALSE(Execute(**module, {two, one}).status.ok());
}

TEST(Asserts, ThatNeverHoldAreErrors) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.nodes = {TestProgram::Node(
      "torch.ops.aten._assert_scalar.default",
      {{"self", "{\"as_bool\":false}"}, {"assert_msg", "{\"as_string\":\"no way\"}"}}, {})};
  p.outputs = {"x"};
  EXPECT_THAT(ErrorOf(p), HasSubstr("it never holds: no way"));
}

}  // namespace
}  // namespace weft::pt2
