// Programs that draw random numbers.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using Inputs = std::vector<std::pair<std::string, std::string>>;

std::string T(const std::string& name) { return TestProgram::T(name); }
std::string Int(int64_t v) { return absl::StrCat("{\"as_int\":", v, "}"); }
std::string Float(double v) { return absl::StrCat("{\"as_float\":", v, "}"); }
std::string Bool(bool v) { return absl::StrCat("{\"as_bool\":", v ? "true" : "false", "}"); }
std::string Size(const std::string& ints) { return absl::StrCat("{\"as_ints\":[", ints, "]}"); }

// A program of x: f32[20000] and one node, whose results come out.
TestProgram OneNode(const std::string& op, Inputs inputs, int results = 1) {
  TestProgram p;
  p.inputs = {{"x", 7, {"20000"}}};
  std::vector<std::string> outputs;
  for (int i = 0; i < results; ++i) {
    p.outputs.push_back(absl::StrCat("y", i));
    outputs.push_back(T(p.outputs.back()));
  }
  p.nodes = {TestProgram::Node("torch.ops.aten." + op, inputs, outputs)};
  return p;
}

// A module, with the state of its generator as the runs leave it.
class Program {
 public:
  explicit Program(const TestProgram& p, int64_t seed = 1) {
    Pt2ImportOptions options;
    options.random_seed = seed;
    auto module = ImportPt2Bytes(p.Archive(), options);
    EXPECT_TRUE(module.ok()) << module.status() << "\n" << p.Json();
    if (!module.ok()) return;
    module_ = *std::move(module);
    const Graph& main = *module_->main();
    for (int i = 0; i < main.num_inputs(); ++i) {
      const InputInfo& info = main.input_info(i);
      if (info.param == kRandomState) state_at_ = i;
      inputs_.push_back(info.initial >= 0
                            ? module_->constants().tensor(info.initial)
                            : HostTensor(main.input(i)->type().dtype(), Dims(main.input(i))));
    }
  }

  bool ok() const { return module_ != nullptr; }
  bool draws() const { return state_at_ >= 0; }
  const Module& module() const { return *module_; }
  void set_input(int i, double value) {
    HostTensor& t = inputs_[i];
    t.WriteDoubles(std::vector<double>(t.numel(), value));
  }
  void set_input(int i, const std::vector<double>& values) { inputs_[i].WriteDoubles(values); }

  // Runs once; the next run continues from the state of this one.
  std::vector<std::vector<double>> Run() {
    std::vector<HostTensor> written;
    reference::RunOptions options;
    options.written = &written;
    const auto outputs = reference::Run(*module_->main(), inputs_, options);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return {{}, {}, {}};
    if (draws()) {
      EXPECT_TRUE(written[state_at_].valid());
      inputs_[state_at_] = written[state_at_];
    }
    std::vector<std::vector<double>> values;
    for (const HostTensor& t : *outputs) values.push_back(t.ReadDoubles());
    return values;
  }

 private:
  static std::vector<int64_t> Dims(const Value* v) {
    std::vector<int64_t> dims;
    for (SymInt d : v->type().dims()) dims.push_back(d.value());
    return dims;
  }

  std::unique_ptr<Module> module_;
  std::vector<HostTensor> inputs_;
  int state_at_ = -1;
};

double Mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double Variance(const std::vector<double>& x) {
  const double mean = Mean(x);
  double sum = 0;
  for (double v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size());
}

struct Distribution {
  const char* op;
  Inputs inputs;
  double mean, variance, least, most;
};

TEST(RandomTest, DistributionsHaveTheirMoments) {
  const Inputs x = {{"self", T("x")}};
  const auto with = [&](Inputs more) {
    more.insert(more.begin(), x[0]);
    return more;
  };
  const double inf = HUGE_VAL;
  const Distribution cases[] = {
      {"rand.default", {{"size", Size("20000")}}, 0.5, 1 / 12.0, 0, 1},
      {"rand_like.default", x, 0.5, 1 / 12.0, 0, 1},
      {"randn.default", {{"size", Size("100,200")}}, 0, 1, -inf, inf},
      {"randn_like.default", x, 0, 1, -inf, inf},
      {"randint.default", {{"high", Int(10)}, {"size", Size("20000")}}, 4.5, 8.25, 0, 9},
      {"randint.low",
       {{"low", Int(-5)}, {"high", Int(5)}, {"size", Size("20000")}},
       -0.5,
       8.25,
       -5,
       4},
      {"randint_like.default", with({{"high", Int(2)}}), 0.5, 0.25, 0, 1},
      {"uniform.default", with({{"from", Float(-2)}, {"to", Float(4)}}), 1, 3, -2, 4},
      {"exponential.default", with({{"lambd", Float(2)}}), 0.5, 0.25, 0, inf},
      {"geometric.default", with({{"p", Float(0.5)}}), 2, 2, 1, inf},
      {"bernoulli.p", with({{"p", Float(0.3)}}), 0.3, 0.21, 0, 1},
      {"normal_functional.default", with({{"mean", Float(3)}, {"std", Float(2)}}), 3, 4, -inf, inf},
      {"random.to", with({{"to", Int(3)}}), 1, 2 / 3.0, 0, 2},
  };
  for (const Distribution& d : cases) {
    SCOPED_TRACE(d.op);
    Program program(OneNode(d.op, d.inputs));
    ASSERT_TRUE(program.ok());
    ASSERT_TRUE(program.draws());
    const std::vector<double> y = program.Run()[0];
    ASSERT_EQ(y.size(), 20000u);
    // Five standard errors of the mean.
    EXPECT_NEAR(Mean(y), d.mean, 5 * std::sqrt(d.variance / 20000));
    EXPECT_NEAR(Variance(y), d.variance, 0.06 * d.variance);
    EXPECT_GE(*std::min_element(y.begin(), y.end()), d.least);
    EXPECT_LE(*std::max_element(y.begin(), y.end()), d.most);
  }
}

TEST(RandomTest, RunsGoOnAndSeedsRepeat) {
  const TestProgram p = OneNode("rand.default", {{"size", Size("8")}});
  Program a(p, 5), b(p, 5), c(p, 6);
  const auto first = a.Run();
  const auto second = a.Run();
  EXPECT_NE(first[0], second[0]);
  EXPECT_EQ(b.Run()[0], first[0]);
  EXPECT_EQ(b.Run()[0], second[0]);
  EXPECT_NE(c.Run()[0], first[0]);
}

TEST(RandomTest, DrawsOfOneRunDiffer) {
  TestProgram p = OneNode("rand.default", {{"size", Size("8")}});
  p.nodes.push_back(
      TestProgram::Node("torch.ops.aten.rand.default", {{"size", Size("8")}}, {T("z")}));
  p.outputs.push_back("z");
  Program program(p);
  ASSERT_TRUE(program.ok());
  const auto y = program.Run();
  EXPECT_NE(y[0], y[1]);
}

TEST(RandomTest, PermutationsHaveEachNumberOnce) {
  Program program(OneNode("randperm.default", {{"n", Int(1000)}}));
  ASSERT_TRUE(program.ok());
  const std::vector<double> first = program.Run()[0];
  const std::vector<double> second = program.Run()[0];
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 1000u);
  EXPECT_EQ(*std::min_element(first.begin(), first.end()), 0);
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), 999);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_NE(first, second);
}

TEST(RandomTest, SamplesFollowTheWeights) {
  for (bool replacement : {true, false}) {
    SCOPED_TRACE(replacement);
    TestProgram p = OneNode("multinomial.default", {{"self", T("x")},
                                                    {"num_samples", Int(replacement ? 4 : 2)},
                                                    {"replacement", Bool(replacement)}});
    p.inputs = {{"x", 7, {"5000", "4"}}};
    Program program(p);
    ASSERT_TRUE(program.ok());
    std::vector<double> weights;
    for (int i = 0; i < 5000; ++i) weights.insert(weights.end(), {1, 0, 3, 4});
    program.set_input(0, weights);
    const std::vector<double> y = program.Run()[0];
    std::vector<double> count(4);
    const size_t samples = replacement ? 4 : 2;
    ASSERT_EQ(y.size(), 5000 * samples);
    for (double v : y) ++count[static_cast<int>(v)];
    EXPECT_EQ(count[1], 0);
    if (replacement) {
      EXPECT_NEAR(count[0] / 20000, 0.125, 0.012);
      EXPECT_NEAR(count[2] / 20000, 0.375, 0.018);
      continue;
    }
    for (size_t i = 0; i < y.size(); i += 2) ASSERT_NE(y[i], y[i + 1]);
    double firsts = 0;
    for (size_t i = 0; i < y.size(); i += 2) firsts += y[i] == 3;
    EXPECT_NEAR(firsts / 5000, 0.5, 0.036);
  }
}

TEST(RandomTest, DropoutKeepsTheMean) {
  const Inputs train = {{"input", T("x")}, {"p", Float(0.25)}, {"train", Bool(true)}};
  for (const char* op : {"dropout.default", "native_dropout.default"}) {
    SCOPED_TRACE(op);
    const bool native = absl::StartsWith(op, "native");
    Program program(OneNode(op, train, native ? 2 : 1));
    ASSERT_TRUE(program.ok());
    program.set_input(0, 3);
    const auto y = program.Run();
    EXPECT_NEAR(Mean(y[0]), 3, 0.07);
    for (size_t i = 0; i < y[0].size(); ++i) {
      ASSERT_TRUE(y[0][i] == 0 || y[0][i] == 4) << y[0][i];
      if (native) {
        ASSERT_EQ(y[1][i], y[0][i] != 0);
      }
    }
  }
  Program alpha(OneNode("alpha_dropout.default", train));
  ASSERT_TRUE(alpha.ok());
  alpha.set_input(0, 0);
  const auto y = alpha.Run();
  // With mean 0 the mean stays 0.
  EXPECT_NEAR(Mean(y[0]), 0, 0.04);
  EXPECT_EQ(std::set<double>(y[0].begin(), y[0].end()).size(), 2u);
}

TEST(RandomTest, NothingIsDrawnOutsideOfTraining) {
  Program program(
      OneNode("dropout.default", {{"input", T("x")}, {"p", Float(0.5)}, {"train", Bool(false)}}));
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE(program.draws());
}

TEST(RandomTest, SlopesAreRandomInTraining) {
  Program program(OneNode("rrelu.default", {{"self", T("x")},
                                            {"lower", Float(0.25)},
                                            {"upper", Float(0.75)},
                                            {"training", Bool(true)}}));
  ASSERT_TRUE(program.ok());
  program.set_input(0, -1);
  const auto y = program.Run();
  EXPECT_NEAR(Mean(y[0]), -0.5, 0.006);
  EXPECT_GE(*std::min_element(y[0].begin(), y[0].end()), -0.75);
  EXPECT_LE(*std::max_element(y[0].begin(), y[0].end()), -0.25);
}

// Attention whose values are all 1: weights that are kept sum up to 1 on average.
TEST(RandomTest, AttentionDropsWeights) {
  TestProgram p = OneNode("scaled_dot_product_attention.default", {{"query", T("x")},
                                                                   {"key", T("x")},
                                                                   {"value", T("x")},
                                                                   {"dropout_p", Float(0.5)},
                                                                   {"is_causal", Bool(true)}});
  p.inputs = {{"x", 7, {"2", "3", "40", "4"}}};
  Program program(p);
  ASSERT_TRUE(program.ok());
  ASSERT_TRUE(program.draws());
  program.set_input(0, 1);
  const std::vector<double> y = program.Run()[0];
  EXPECT_NEAR(Mean(y), 1, 0.15);
  EXPECT_GT(Variance(y), 0.01);
}

TEST(RandomTest, InPlaceDrawsAreWrittenToTheirTensor) {
  for (const char* op : {"uniform_.default", "normal_.default", "bernoulli_.float"}) {
    SCOPED_TRACE(op);
    TestProgram p;
    p.inputs = {{"x", 7, {"20000"}}};
    p.nodes = {
        TestProgram::Node("torch.ops.aten.clone.default", {{"self", T("x")}}, {T("c")}),
        TestProgram::Node(std::string("torch.ops.aten.") + op, {{"self", T("c")}}, {T("d")})};
    p.outputs = {"c", "d"};
    Program program(p);
    ASSERT_TRUE(program.ok());
    const auto y = program.Run();
    EXPECT_EQ(y[0], y[1]);
    EXPECT_GT(Variance(y[0]), 0.05);
  }
}

// The steps of a loop draw different numbers, and what is drawn after the loop,
// or in the next run, differs from them.
TEST(RandomTest, LoopsCarryTheState) {
  TestProgram p;
  p.inputs = {{"x", 7, {"3", "4"}}, {"h", 7, {"4"}}};
  const std::string body =
      R"({"as_graph":{"name":"body","graph":{"inputs":[{"as_tensor":{"name":"c"}},)"
      R"({"as_tensor":{"name":"s"}}],"outputs":[{"as_tensor":{"name":"c"}},)"
      R"({"as_tensor":{"name":"r"}}],"nodes":[)" +
      TestProgram::Node("torch.ops.aten.rand_like.default", {{"self", T("s")}}, {T("r")}) +
      R"(],"tensor_values":{},"sym_int_values":{},"sym_bool_values":{},)"
      R"("is_single_tensor_return":false}}})";
  p.nodes = {TestProgram::Node("torch.ops.higher_order.scan",
                               {{"", body},
                                {"", R"({"as_tensors":[{"name":"h"}]})"},
                                {"", R"({"as_tensors":[{"name":"x"}]})"},
                                {"", R"({"as_tensors":[]})"}},
                               {T("last"), T("steps")}),
             TestProgram::Node("torch.ops.aten.rand_like.default", {{"self", T("h")}}, {T("z")})};
  p.outputs = {"steps", "z"};
  Program program(p);
  ASSERT_TRUE(program.ok());
  std::set<double> seen;
  for (int run = 0; run < 3; ++run) {
    const auto y = program.Run();
    seen.insert(y[0].begin(), y[0].end());
    seen.insert(y[1].begin(), y[1].end());
  }
  EXPECT_EQ(seen.size(), 3u * 16u) << PrintModule(program.module());
}

TEST(RandomTest, ResizeIsAViewOfTheFirstElements) {
  TestProgram p;
  p.inputs = {{"x", 7, {"2", "3"}}};
  p.nodes = {TestProgram::Node("torch.ops.aten.clone.default", {{"self", T("x")}}, {T("c")}),
             TestProgram::Node("torch.ops.aten.resize_.default",
                               {{"self", T("c")}, {"size", Size("2,2")}}, {T("r")}),
             TestProgram::Node("torch.ops.aten.mul_.Scalar",
                               {{"self", T("r")}, {"other", Float(10)}}, {T("m")})};
  p.outputs = {"c", "m"};
  Program program(p);
  ASSERT_TRUE(program.ok());
  program.set_input(0, {1, 2, 3, 4, 5, 6});
  const auto y = program.Run();
  EXPECT_EQ(y[0], (std::vector<double>{10, 20, 30, 40}));
  EXPECT_EQ(y[1], y[0]);

  p.nodes[1] = TestProgram::Node("torch.ops.aten.resize_.default",
                                 {{"self", T("c")}, {"size", Size("7")}}, {T("r")});
  const auto larger = ImportPt2Bytes(p.Archive());
  ASSERT_FALSE(larger.ok());
  EXPECT_TRUE(absl::StrContains(larger.status().message(), "resized from 6 to 7 elements"))
      << larger.status();
}

}  // namespace
}  // namespace weft::pt2
