// Small programs, imported and run.
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string T(const std::string& name) { return TestProgram::T(name); }

std::string Aten(const std::string& op, const std::vector<std::pair<std::string, std::string>>& in,
                 const std::vector<std::string>& out) {
  std::vector<std::string> outputs;
  for (const std::string& name : out) outputs.push_back(T(name));
  return TestProgram::Node("torch.ops.aten." + op, in, outputs);
}

std::unique_ptr<Module> Import(const TestProgram& program, const Pt2ImportOptions& options = {}) {
  auto module = ImportPt2Bytes(program.Archive(), options);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << program.Json();
  return module.ok() ? *std::move(module) : nullptr;
}

std::string Error(const TestProgram& program) {
  const auto module = ImportPt2Bytes(program.Archive());
  return module.ok() ? "" : std::string(module.status().message());
}

HostTensor Floats(std::vector<int64_t> dims, std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

std::vector<double> Execute(const Module& module, std::vector<HostTensor> inputs,
                            size_t output = 0) {
  const Graph& main = *module.main();
  while (static_cast<int>(inputs.size()) < main.num_inputs()) {
    const InputInfo& info = main.input_info(static_cast<int>(inputs.size()));
    inputs.push_back(module.constants().tensor(info.initial >= 0 ? info.initial : info.value));
  }
  const auto outputs = reference::Run(main, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[output].ReadDoubles() : std::vector<double>();
}

TestProgram AddProgram() {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}, {"y", 7, {"2"}}};
  p.nodes = {Aten("add.Tensor", {{"self", T("x")}, {"other", T("y")}}, {"z"})};
  p.values = {{"z", 7, {"2"}}};
  p.outputs = {"z"};
  return p;
}

TEST(ImportTest, SaysHowFarItIs) {
  std::vector<int64_t> done;
  Pt2ImportOptions options;
  options.progress = [&](int64_t now, int64_t total) {
    done.push_back(now);
    EXPECT_EQ(total, 3);  // Two inputs and a node.
  };
  ASSERT_NE(Import(AddProgram(), options), nullptr);
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
}

TEST(ImportTest, NamesInputsAndOutputs) {
  const auto module = Import(AddProgram());
  ASSERT_NE(module, nullptr);
  const Graph& main = *module->main();
  EXPECT_EQ(main.input_info(0).name, "x");
  EXPECT_EQ(main.input_info(1).name, "y");
  EXPECT_THAT(main.output_names(), ElementsAre("z"));
  EXPECT_THAT(Execute(*module, {Floats({2}, {1, 2}), Floats({2}, {10, 20})}), ElementsAre(11, 22));
}

TEST(ImportTest, SourceNamesHaveTheModulesPath) {
  const auto source = [](const std::string& stack) {
    TestProgram p = AddProgram();
    const std::string empty = "\"metadata\":{}";
    std::string& node = p.nodes[0];
    const size_t at = node.find(empty);
    EXPECT_NE(at, std::string::npos);
    node.replace(at, empty.size(),
                 absl::StrCat("\"metadata\":{\"nn_module_stack\":\"", stack, "\"}"));
    const auto module = Import(p);
    const Node* first = module->main()->first_node();
    return module->provenance().Names(first->provenance()).at(0);
  };
  EXPECT_EQ(source(""), "z");
  EXPECT_EQ(source("L__self__,,Net"), "z");
  EXPECT_EQ(source("L__self__,,Net;L__self___a_0_b,a.0.b,torch.nn.Linear"), "a.0/b/z");
  EXPECT_EQ(source("L__self__,,Net;k,encoder.layers.11.0,f(x, y)"), "encoder/layers.11.0/z");
  EXPECT_EQ(source("k,L['self'].a.b,C"), "a/b/z");
  EXPECT_EQ(source("nonsense"), "z");
  EXPECT_EQ(source("k,a/b,C"), "z");
  EXPECT_EQ(source(absl::StrCat("k,", std::string(1000, 'a'), ",C")), "z");
}

TEST(ImportTest, FillsDefaultsAndPromotes) {
  TestProgram p;
  p.inputs = {{"x", 5, {"3"}}};
  // int64 + 0.5 * 2: the number makes it a float; alpha is not the default.
  p.nodes = {
      Aten("add.Tensor",
           {{"self", T("x")}, {"other", "{\"as_float\":0.5}"}, {"alpha", "{\"as_int\":2}"}}, {"z"}),
      Aten("div.Tensor", {{"self", T("x")}, {"other", T("x")}}, {"w"}),
      Aten("softmax.int", {{"self", T("z")}, {"dim", "{\"as_int\":0}"}}, {"s"})};
  p.values = {{"z", 7, {"3"}}, {"w", 7, {"3"}}, {"s", 7, {"3"}}};
  p.outputs = {"z", "w", "s"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const HostTensor x = HostTensor::FromInts(DType::kI64, {3}, {1, 2, 3});
  EXPECT_THAT(Execute(*module, {x}), ElementsAre(2, 3, 4));
  EXPECT_THAT(Execute(*module, {x}, 1), ElementsAre(1, 1, 1));
}

TEST(ImportTest, ReadsWeightsWithStridesAndSharedStorages) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.weights = {
      {"p_a", "a", "parameter", {2, 2}, {1, 2}, 0, "weight_0"},
      {"p_b", "b.c", "buffer", {2}, {2}, 1, "weight_0"},
      {"c_c", "k", "tensor_constant", {2}, {0}, 0, "tensor_0"},
  };
  p.storages["data/weights/weight_0"] = {1, 2, 3, 4};
  p.storages["data/constants/tensor_0"] = {10};
  p.nodes = {Aten("mv.default", {{"self", T("p_a")}, {"vec", T("x")}}, {"y"}),
             Aten("add.Tensor", {{"self", T("y")}, {"other", T("p_b")}}, {"z"}),
             Aten("add.Tensor", {{"self", T("z")}, {"other", T("c_c")}}, {"w"})};
  p.outputs = {"w"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->main()->num_inputs(), 1);
  // [[1, 3], [2, 4]] [1, 1] + [2, 4] + [10, 10]
  EXPECT_THAT(Execute(*module, {Floats({2}, {1, 1})}), ElementsAre(16, 20));

  Pt2ImportOptions options;
  options.parameters_as_inputs = true;
  const auto open = Import(p, options);
  ASSERT_NE(open, nullptr);
  ASSERT_EQ(open->main()->num_inputs(), 4);
  EXPECT_EQ(open->main()->input_info(1).param, "b.c");
  EXPECT_GE(open->main()->input_info(1).initial, 0);
}

// Quantized programs of PyTorch keep the float weights that they were made from.
TEST(ImportTest, LeavesOutWeightsThatNothingReads) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.weights = {{"p_read", "read", "parameter", {2}, {1}, 0, "weight_0"},
               {"p_result", "result", "parameter", {2}, {1}, 0, "weight_1"},
               {"p_left", "left", "parameter", {2}, {1}, 0, "weight_2"}};
  for (int i = 0; i < 3; ++i) p.storages[absl::StrCat("data/weights/weight_", i)] = {1.0f + i, 2};
  p.nodes = {Aten("add.Tensor", {{"self", T("x")}, {"other", T("p_read")}}, {"y"})};
  p.outputs = {"y", "p_result"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const std::string text = PrintModule(*module);
  EXPECT_THAT(text, HasSubstr("\"read\""));
  EXPECT_THAT(text, HasSubstr("\"result\""));
  EXPECT_THAT(text, Not(HasSubstr("\"left\"")));
  EXPECT_THAT(Execute(*module, {Floats({2}, {1, 1})}), ElementsAre(2, 3));
  EXPECT_THAT(Execute(*module, {Floats({2}, {1, 1})}, 1), ElementsAre(2, 2));

  Pt2ImportOptions options;
  options.parameters_as_inputs = true;
  const auto open = Import(p, options);
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->main()->num_inputs(), 4);
}

// Sums of i8 that need more bits, as programs of integers have them.
TEST(ImportTest, OperatorsWithTheDTypeOfTheirResult) {
  TestProgram p;
  p.inputs = {{"a", 2, {"1", "2"}}, {"b", 2, {"2", "1"}}};
  const auto multiply = [&](const std::string& op) {
    p.nodes = {TestProgram::Node("torch.ops.higher_order.out_dtype",
                                 {{"", absl::StrCat("{\"as_operator\": \"", op, "\"}")},
                                  {"", "{\"as_scalar_type\": 4}"},
                                  {"", T("a")},
                                  {"", T("b")}},
                                 {T("y")})};
  };
  p.outputs = {"y"};
  multiply("torch.ops.aten.mm.default");
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->main()->output(0)->type().dtype(), DType::kI32);
  EXPECT_THAT(Execute(*module, {HostTensor::FromInts(DType::kI8, {1, 2}, {100, 100}),
                                HostTensor::FromInts(DType::kI8, {2, 1}, {100, 100})}),
              ElementsAre(20000));
  multiply("torch.ops.aten.frobnicate.default");
  EXPECT_THAT(Error(p), HasSubstr("frobnicate.default\" is not supported"));
}

TEST(ImportTest, KeepsSymbolsAndRanges) {
  TestProgram p;
  p.inputs = {{"x", 7, {"Symbol('s0', positive=True, integer=True)"}},
              {"y", 7, {"Add(Mul(Integer(2), Symbol('s0')), Integer(1))"}}};
  p.ranges =
      "{\"s0\":{\"min_val\":3,\"max_val\":50},"
      "\"2*s0 + 1\":{\"min_val\":7,\"max_val\":101}}";
  p.nodes = {Aten("cat.default",
                  {{"tensors",
                    "{\"as_tensors\":[{\"name\":\"x\"},"
                    "{\"name\":\"y\"}]}"}},
                  {"z"})};
  p.values = {{"z", 7, {"Add(Mul(Integer(3), Symbol('s0')), Integer(1))"}}};
  p.outputs = {"z"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const SymInt s0 = SymInt::Symbol("s0");
  EXPECT_EQ(module->main()->output(0)->type().dim(0), s0 * 3 + 1);
  EXPECT_EQ(module->symbols().RangeOf(s0), (SymRange{3, 50}));
  const auto bad =
      reference::Run(*module->main(), {Floats({2}, {1, 2}), Floats({5}, {1, 2, 3, 4, 5})});
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("3 <= s0"));
}

TEST(ImportTest, ComparesShapes) {
  TestProgram p = AddProgram();
  p.values[0].sizes = {"3"};
  EXPECT_THAT(Error(p), HasSubstr("value 'z': size 0: the file says 3, "
                                  "inference 2"));
  p.values[0] = {"z", 8, {"2"}};
  EXPECT_THAT(Error(p), HasSubstr("value 'z': the file says f64"));
  p.values[0] = {"z", 7, {"1", "2"}};
  EXPECT_THAT(Error(p), HasSubstr("value 'z': the file says rank 2"));
}

TEST(ImportTest, ListsAllUnknownOperators) {
  TestProgram p = AddProgram();
  p.nodes.push_back(Aten("frobnicate.default", {}, {"a"}));
  p.nodes.push_back(TestProgram::Node("torch.ops.mylib.op.default", {}, {T("b")}));
  p.nodes.push_back(Aten("poisson.default", {}, {"c"}));
  const std::string error = Error(p);
  EXPECT_THAT(error, HasSubstr("torch.ops.aten.frobnicate.default (node 'a')"));
  EXPECT_THAT(error, HasSubstr("torch.ops.mylib.op.default (node 'b')"));
  EXPECT_THAT(error, HasSubstr("it is drawn by rejection"));
}

TEST(ImportTest, ListsWriteBacksOfDecomposedPrograms) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.weights = {{"b_s", "s", "buffer", {2}, {1}, 0, "weight_0"}};
  p.storages["data/weights/weight_0"] = {1, 2};
  p.nodes = {Aten("add.Tensor", {{"self", T("b_s")}, {"other", T("x")}}, {"z"})};
  p.outputs = {"z", "x"};
  p.output_specs = {"{\"buffer_mutation\":{\"arg\":{\"name\":\"z\"},\"buffer_name\":\"s\"}}",
                    "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const Graph& main = *module->main();
  ASSERT_THAT(main.write_backs(), ElementsAre(0));
  EXPECT_EQ(main.input_info(0).param, "s");
  EXPECT_EQ(main.num_own_outputs(), 1);
  EXPECT_THAT(Execute(*module, {Floats({2}, {1, 2}), Floats({2}, {10, 20})}, 1),
              ElementsAre(11, 22));
}

// x.clone()[0].add_(1), and what x's clone is after that.
TEST(ImportTest, WritesThroughViews) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2", "2"}}};
  p.nodes = {
      Aten("clone.default", {{"self", T("x")}}, {"c"}),
      Aten("select.int", {{"self", T("c")}, {"dim", "{\"as_int\":0}"}, {"index", "{\"as_int\":0}"}},
           {"v"}),
      Aten("add_.Tensor", {{"self", T("v")}, {"other", "{\"as_int\":1}"}}, {"w"}),
      Aten("mul.Tensor", {{"self", T("c")}, {"other", "{\"as_int\":2}"}}, {"y"})};
  p.outputs = {"y", "w", "x"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const HostTensor x = Floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Execute(*module, {x}), ElementsAre(4, 6, 6, 8));
  EXPECT_THAT(Execute(*module, {x}, 1), ElementsAre(2, 3));
  EXPECT_THAT(Execute(*module, {x}, 2), ElementsAre(1, 2, 3, 4));
}

// The zeros of a program are memory of its own, every element.
TEST(ImportTest, CreatedTensorsMayBeWritten) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2"}}};
  p.nodes = {Aten("zeros.default", {{"size", "{\"as_ints\":[3]}"}}, {"z"}),
             Aten("slice.Tensor",
                  {{"self", T("z")},
                   {"dim", "{\"as_int\":0}"},
                   {"start", "{\"as_int\":1}"},
                   {"end", "{\"as_int\":9223372036854775807}"}},
                  {"v"}),
             Aten("copy_.default", {{"self", T("v")}, {"src", T("x")}}, {"w"})};
  p.outputs = {"z"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(Execute(*module, {Floats({2}, {5, 6})}), ElementsAre(0, 5, 6));
}

TEST(ImportTest, RunsConditions) {
  TestProgram p;
  p.inputs = {{"c", 12, {}}, {"x", 7, {"2"}}};
  const auto branch = [](const std::string& op) {
    return absl::StrCat("{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[", T("a"),
                        "],\"outputs\":[", T("r"), "],\"nodes\":[",
                        Aten(op, {{"self", T("a")}}, {"r"}),
                        "],\"tensor_values\":{},\"sym_int_values\":{}}}}");
  };
  p.nodes = {TestProgram::Node("torch.ops.higher_order.cond",
                               {{"", T("c")},
                                {"", branch("neg.default")},
                                {"", branch("abs.default")},
                                {"", "{\"as_tensors\":[{\"name\":\"x\"}]}"}},
                               {T("y")})};
  p.outputs = {"y"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  const HostTensor x = Floats({2}, {1, -2});
  EXPECT_THAT(Execute(*module, {HostTensor::ScalarInt(DType::kBool, 1), x}), ElementsAre(-1, 2));
  EXPECT_THAT(Execute(*module, {HostTensor::ScalarInt(DType::kBool, 0), x}), ElementsAre(1, 2));
}

TEST(ImportTest, InlinesAutocastWithItsCasts) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2", "2"}}};
  const std::string body = absl::StrCat(
      "{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[", T("a"), "],\"outputs\":[", T("m"),
      "],\"nodes\":[", Aten("mm.default", {{"self", T("a")}, {"mat2", T("a")}}, {"m"}),
      "],\"tensor_values\":{},\"sym_int_values\":{}}}}");
  p.nodes = {TestProgram::Node("torch.ops.higher_order.wrap_with_autocast",
                               {{"", "{\"as_string\":\"cpu\"}"},
                                {"", "{\"as_scalar_type\":13}"},
                                {"", "{\"as_bool\":true}"},
                                {"", "{\"as_bool\":true}"},
                                {"", body},
                                {"", T("x")}},
                               {T("y")})};
  p.values = {{"y", 13, {"2", "2"}}};
  p.outputs = {"y"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->main()->output(0)->type().dtype(), DType::kBF16);
}

TEST(ImportTest, DataDependentSizesGetTheirRanges) {
  TestProgram p;
  p.inputs = {{"n", 5, {}}};
  p.ranges = "{\"u0\":{\"min_val\":1,\"max_val\":8}}";
  p.nodes = {TestProgram::Node("torch.ops.aten.item.default", {{"self", T("n")}},
                               {"{\"as_sym_int\":{\"as_name\":\"item\"}}"}),
             Aten("ones.default", {{"size", "{\"as_sym_ints\":[{\"as_name\":\"item\"}]}"}}, {"z"})};
  p.values = {{"z", 7, {"Symbol('u0', integer=True)"}}};
  p.outputs = {"z"};
  TestProgram named = p;
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(Execute(*module, {HostTensor::ScalarInt(DType::kI64, 3)}), ElementsAre(1, 1, 1));
  EXPECT_FALSE(reference::Run(*module->main(), {HostTensor::ScalarInt(DType::kI64, 9)}).ok());
}

TEST(ImportTest, GuardsAreConditions) {
  TestProgram p;
  p.inputs = {{"a_0", 7, {"Symbol('s0', integer=True)"}},
              {"a_1", 7, {"Symbol('s1', integer=True)"}}};
  p.extra = R"(,"guards_code":["L['a'][0].size()[0] <= L['a'][1].size()[0]","L['b'] is None"])";
  p.nodes = {Aten("neg.default", {{"self", T("a_0")}}, {"z"}),
             Aten("neg.default", {{"self", T("a_1")}}, {"w"})};
  p.outputs = {"z", "w"};
  const auto module = Import(p);
  ASSERT_NE(module, nullptr);
  ASSERT_EQ(module->symbols().conditions().size(), 1u);
  const auto run = [&](int64_t a, int64_t b) {
    return reference::Run(*module->main(),
                          {HostTensor(DType::kF32, {a}), HostTensor(DType::kF32, {b})});
  };
  EXPECT_TRUE(run(2, 3).ok());
  const auto refused = run(4, 3);
  EXPECT_NE(refused.status().message().find("does not hold"), std::string::npos)
      << refused.status();
}

// The imported module prints, reads back and runs the same.
TEST(ImportTest, TextRoundTrip) {
  const auto module = Import(AddProgram());
  ASSERT_NE(module, nullptr);
  const std::string text = PrintModule(*module);
  const auto again = ParseModule(text, module->registry(), "again");
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_THAT(Execute(**again, {Floats({2}, {1, 2}), Floats({2}, {3, 4})}), ElementsAre(4, 6));
}

}  // namespace
}  // namespace weft::pt2
