// Random well-typed graphs through every pass: the result verifies, computes the same, does not
// change in a second run, and is the same in every run.
//
// The graphs are small, and drawn from few values and sizes, so that operands
// repeat and rules fire. A failure names the seed and prints the graph.
#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/golden/semantics.h"

namespace weft {
namespace {

const OpDef* const kUnary[] = {&ops::neg,  &ops::abs, &ops::relu,        &ops::floor,
                               &ops::sign, &ops::exp, &ops::logical_not, &ops::sqrt};
const OpDef* const kBinary[] = {&ops::add,         &ops::sub, &ops::mul,        &ops::maximum,
                                &ops::minimum,     &ops::eq,  &ops::lt,         &ops::ge,
                                &ops::logical_and, &ops::pow, &ops::logical_or, &ops::add,
                                &ops::sub,         &ops::mul, &ops::ne,         &ops::div};
const OpDef* const kReductions[] = {&ops::sum, &ops::amax, &ops::mean,
                                    &ops::any, &ops::prod, &ops::amin};
const DType kDTypes[] = {DType::kF32,  DType::kF16, DType::kI32, DType::kI8,
                         DType::kBool, DType::kF32, DType::kF32, DType::kI64};

// Tries random ops; what the builder refuses is not in the graph.
class RandomGraph {
 public:
  RandomGraph(Graph* graph, uint32_t seed) : graph_(graph), random_(seed) {
    SymbolInfo info;
    info.symbol = SymInt::Symbol("s0");
    info.range = {1, 8};
    graph->module().symbols().Declare(info);
    const SymInt sizes[] = {info.symbol, 1, 2, 3, 4};
    for (int i = 0; i < 4; ++i) {
      std::vector<SymInt> dims;
      for (int d = Draw(3); d >= 0; --d) dims.push_back(sizes[Draw(5)]);
      const DType dtype = i < 2 ? DType::kF32 : kDTypes[Draw(8)];
      pool_.push_back(graph->AddInput(Type::Tensor(dtype, dims)));
    }
  }

  void Grow(int nodes) {
    for (int tries = 0; tries < nodes * 20 && made_ < nodes; ++tries) Try();
    std::vector<Value*> outputs;
    for (size_t i = pool_.size() - 3; i < pool_.size(); ++i) {
      outputs.push_back(pool_[i]);
    }
    graph_->SetOutputs(outputs);
  }

 private:
  int Draw(int n) { return static_cast<int>(random_() % n); }
  Value* Pick() {
    // New values more often than old ones.
    const int n = static_cast<int>(pool_.size());
    const int window = Draw(2) == 0 ? std::min(n, 4) : n;
    return pool_[n - 1 - Draw(window)];
  }
  Value* PickOf(DType dtype) {
    for (int i = 0; i < 8; ++i) {
      Value* v = Pick();
      if (v->type().dtype() == dtype) return v;
    }
    return nullptr;
  }

  void Try() {
    Builder::Options options;
    options.fold = Draw(8) == 0;
    Builder b(graph_, nullptr, options);
    Value* made = Make(b);
    if (made == nullptr || !b.status().ok() || !made->type().is_tensor()) {
      return;
    }
    const SymInt numel = made->type().numel();
    if (!numel.is_valid() || (numel.is_constant() && numel.value() > 512)) {
      return;
    }
    ++made_;
    pool_.push_back(made);
  }

  Value* Make(Builder& b) {
    Value* x = Pick();
    const Type type = x->type();
    switch (Draw(14)) {
      case 0:
        return b.Op(*kUnary[Draw(8)], {x});
      case 1:
      case 2:
        return MakeBinary(b, x, PickOf(type.dtype()));
      case 3:
        return MakeBinary(b, x, Literal(b, type.dtype()));
      case 4:
        return b.Op(ops::convert, {x}, {{"dtype", kDTypes[Draw(8)]}});
      case 5:
        return b.Op(ops::reshape, {x}, {{"size", Reshaped(type)}});
      case 6:
        return b.Op(ops::permute, {x}, {{"dims", Permutation(type.rank())}});
      case 7:
        return MakeSlice(b, x);
      case 8:
        return MakeCat(b, x);
      case 9:
        return MakePad(b, x);
      case 10:
        return b.Op(ops::expand, {x}, {{"size", Expanded(type)}});
      case 11:
        return MakeReduction(b, x);
      case 12: {
        Value* c = PickOf(DType::kBool);
        Value* y = PickOf(type.dtype());
        return c && y ? b.Op(ops::where, {c, x, y}) : nullptr;
      }
      default:
        return b.Op(ops::neg, {x});
    }
  }

  Value* MakeBinary(Builder& b, Value* x, Value* y) {
    if (y == nullptr) return nullptr;
    if (Draw(2) == 0) std::swap(x, y);
    const OpDef& op = *kBinary[Draw(16)];
    if (&op == &ops::div && !IsFloat(x->type().dtype())) {
      return b.Op(op, {x, y}, {{"rounding_mode", "floor"}});
    }
    return b.Op(op, {x, y});
  }

  Value* Literal(Builder& b, DType dtype) {
    constexpr double kValues[] = {0, 1, 2, -1, 4, 0.5, 3, -0.0};
    const double v = kValues[Draw(8)];
    if (IsComplex(dtype)) return nullptr;
    if (Draw(3) > 0) return b.Scalar(dtype, v);
    return b.Constant(HostTensor::FromDoubles(dtype, {1, 2}, {v, v}));
  }

  std::vector<SymInt> Reshaped(Type type) {
    std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
    switch (Draw(4)) {
      case 0:
        dims = {type.numel()};
        break;
      case 1:
        dims.insert(dims.begin() + Draw(type.rank() + 1), 1);
        break;
      case 2:
        for (size_t i = 0; i < dims.size(); ++i) {
          if (dims[i].Is(1)) dims.erase(dims.begin() + i--);
        }
        break;
      default:
        std::reverse(dims.begin(), dims.end());
    }
    return dims;
  }
  std::vector<int64_t> Permutation(int rank) {
    std::vector<int64_t> dims(rank);
    for (int i = 0; i < rank; ++i) dims[i] = i;
    for (int i = rank - 1; i > 0; --i) std::swap(dims[i], dims[Draw(i + 1)]);
    return dims;
  }
  std::vector<SymInt> Expanded(Type type) {
    std::vector<SymInt> dims;
    for (int i = Draw(2); i > 0; --i) dims.push_back(Draw(2) ? 1 : 2);
    for (SymInt d : type.dims()) {
      dims.push_back(d.Is(1) && Draw(2) == 0 ? SymInt(3) : d);
    }
    return dims;
  }
  Value* MakeSlice(Builder& b, Value* x) {
    if (x->type().rank() == 0) return nullptr;
    return b.Op(ops::slice, {x},
                {{"dim", Draw(x->type().rank())},
                 {"start", Draw(5) - 2},
                 {"end", Draw(3) == 0 ? SymInt(SymRange::kMax) : SymInt(Draw(7) - 2)},
                 {"step", 1 + Draw(4) / 3}});
  }
  Value* MakeCat(Builder& b, Value* x) {
    if (x->type().rank() == 0) return nullptr;
    std::vector<Value*> parts = {x};
    for (int i = Draw(3); i > 0; --i) {
      if (Value* y = PickOf(x->type().dtype())) parts.push_back(y);
    }
    const NamedAttr dim = {"dim", Draw(x->type().rank())};
    return b.Op(ops::cat, parts, {&dim, 1});
  }
  Value* MakePad(Builder& b, Value* x) {
    std::vector<int64_t> pad(2 * x->type().rank());
    for (int64_t& p : pad) p = std::max(0, Draw(5) - 3);
    if (!pad.empty() && Draw(4) == 0) pad[0] = -1;
    return b.Op(ops::pad, {x, nullptr}, {{"pad", pad}});
  }
  Value* MakeReduction(Builder& b, Value* x) {
    std::vector<int64_t> dims;
    for (int i = 0; i < x->type().rank(); ++i) {
      if (Draw(2) == 0) dims.push_back(i);
    }
    return b.Op(*kReductions[Draw(6)], {x}, {{"dim", dims}, {"keepdim", Draw(2) == 0}});
  }

  Graph* graph_;
  std::mt19937 random_;
  std::vector<Value*> pool_;
  int made_ = 0;
};

struct Result {
  std::unique_ptr<Module> module;
  PipelineReport report;
  NumericContract fired = NumericContract::kBitExact;
  absl::Status status;
  bool changed = false;
};

Result RunOn(const std::string& text, const std::string& pipeline) {
  Result result;
  auto module = ParseModule(text, ops::Registry());
  result.status = module.status();
  if (!module.ok()) return result;
  result.module = *std::move(module);
  PassContext::Options options;
  options.strict = true;
  PassContext context(options);
  auto parsed = Pipeline::Parse(pipeline, BuiltinPasses());
  result.status = parsed.status();
  if (!parsed.ok()) return result;
  result.status = PassManager(*std::move(parsed)).Run(*result.module, context, &result.report);
  for (const PassReport& pass : result.report.passes) {
    result.fired = std::max(result.fired, pass.fired);
    result.changed |= pass.changed;
  }
  return result;
}

// Decompositions may round otherwise than the ops they replace.
const char* const kPipelines[] = {
    "canonicalize",  "cse,dce",        "fold_constants", "propagate_shapes", "default",
    "fuse_vertical", "fuse_reduction", "fuse_concat",    "fuse_epilogue",    "fuse_horizontal"};

class RandomTest : public testing::TestWithParam<const char*> {};

TEST_P(RandomTest, KeepsWhatGraphsCompute) {
  constexpr uint32_t kGraphs = 400;
  const std::string pipeline = GetParam();
  std::set<std::string> rules;
  uint32_t compared = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    Module module(ops::Registry());
    RandomGraph(module.AddFunction("main"), seed).Grow(5 + seed % 25);
    const std::string text = PrintModule(module);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    Result result = RunOn(text, pipeline);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const std::string after = PrintModule(*result.module);
    const absl::Status same =
        golden::CheckSameResults(module, *result.module, result.fired, module);
    compared += same.ok();
    ASSERT_TRUE(same.ok() || same.code() == absl::StatusCode::kFailedPrecondition) << same << "\n"
                                                                                   << after;
    const Result twin = RunOn(text, pipeline);
    ASSERT_EQ(PrintModule(*twin.module), after);
    const Result again = RunOn(after, pipeline);
    ASSERT_TRUE(again.status.ok()) << again.status;
    ASSERT_EQ(PrintModule(*again.module), after) << again.report.ToString() << "\n first result:\n"
                                                 << after;
    for (const PassReport& pass : result.report.passes) {
      for (const auto& [name, n] : pass.counters) rules.insert(name);
    }
  }
  // Few sizes do not fit for all values of the symbol.
  EXPECT_GE(compared, kGraphs * 9 / 10);
  // The graphs give the passes work to do.
  if (pipeline == "canonicalize") {
    EXPECT_THAT(rules.size(), testing::Ge(40u));
  }
}

// Whatever is fused or left out, the values are those of the graph.
TEST(RandomFusionTest, DecisionsDoNotMatter) {
  constexpr uint32_t kGraphs = 300;
  int64_t fused = 0;
  uint32_t compared = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    Module module(ops::Registry());
    RandomGraph(module.AddFunction("main"), seed).Grow(10 + seed % 40);
    const std::string text = PrintModule(module);
    const std::string option = absl::StrCat("{seed=", seed + 1, "}");
    const std::string pipeline = absl::StrCat(
        "fuse_epilogue", option, ",fuse_reduction", option, ",fuse_vertical", option,
        ",fuse_horizontal{seed=", seed + 1, ", min_group=2},fuse_concat", option, ",cse,dce");
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    Result result = RunOn(text, pipeline);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const absl::Status same =
        golden::CheckSameResults(module, *result.module, result.fired, module);
    compared += same.ok();
    ASSERT_TRUE(same.ok() || same.code() == absl::StatusCode::kFailedPrecondition)
        << same << "\n"
        << PrintModule(*result.module);
    fused += result.report.Counter("fused");
  }
  EXPECT_GE(compared, kGraphs * 9 / 10);
  EXPECT_GT(fused, kGraphs);
}

INSTANTIATE_TEST_SUITE_P(Pipelines, RandomTest, testing::ValuesIn(kPipelines));

}  // namespace
}  // namespace weft
