// A user-defined op, rule and pass, without a change to Weft's tree.
#include <iostream>
#include <memory>

#include "api/compiler.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "passes/engine/pass.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/engine/rewrite/predicates.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/pipelines.h"

namespace {

using namespace weft;  // NOLINT: an example.

// The op: schema, shape, meaning.
absl::StatusOr<Types> InferSquare(const OpArgs& args) { return Types{args.type(0)}; }

absl::Status EvalSquare(EvalContext& c) {
  std::vector<double> values = c.in(0).ReadDoubles();
  for (double& v : values) v *= v;
  c.out(0).WriteDoubles(values);
  return absl::OkStatus();
}

WEFT_DEFINE_OP(square, OpSpec("square(Tensor self) -> Tensor", "self * self.")
                           .Traits(kPointwise)
                           .Infer(InferSquare)
                           .Eval(EvalSquare));

// The rule: x * x = square(x) for floats.
Value* BuildSquare(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(square, {m[pattern::x]});
}

constexpr Rule kRules[] = {
    {"mul-by-self",
     "x * x = square(x) for floats",
     NumericContract::kBitExact,
     pattern::Op(ops::mul, pattern::x.If(pattern::kFloat), pattern::x),
     {},
     BuildSquare},
};

// The pass: applies the rule until it matches nowhere.
class FindSquaresPass : public Pass {
 public:
  absl::string_view name() const override { return "find_squares"; }
  absl::string_view doc() const override { return "x * x becomes square(x)."; }
  absl::Status Run(Module& module, PassContext& context) override {
    const absl::Span<const Rule> themes[] = {kRules};
    return ApplyRules(module, context, themes);
  }
};

std::unique_ptr<Pass> CreateFindSquaresPass() { return std::make_unique<FindSquaresPass>(); }

constexpr char kProgram[] = R"(
func @main(%x: f32[s0]) -> (%y: f32[s0]) {
  %0 = mul(%x, %x)
  %1 = add(%0, %x)
  return %1
})";

absl::Status Run() {
  OpRegistry ops = ops::Registry();
  ops.Register(&square);
  PassRegistry passes = BuiltinPasses();
  passes.Add(CreateFindSquaresPass);

  auto module = ParseModule(kProgram, ops);
  if (!module.ok()) return module.status();
  CompileOptions options;
  options.passes = "find_squares,default";
  options.registry = &passes;
  options.verify = VerifyLevel::kSemantics;
  auto result = Compile(**module, options);
  if (!result.ok()) return result.status();
  std::cout << PrintModule(**module);
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
