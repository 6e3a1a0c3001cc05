// A plugin: the op twice(x), a pass that finds it, a rule, and the op of squash.cc.
#include "squash.h"
#include "weft/api/plugin.h"
#include "weft/base/status_macros.h"
#include "weft/graph/ops/ops.h"
#include "weft/graph/ops/support/op.h"
#include "weft/passes/engine/rewrite/driver.h"
#include "weft/passes/engine/rewrite/predicates.h"

namespace {

namespace pattern = weft::pattern;

absl::Status Eval(weft::EvalContext& c) {
  return weft::ops::EvalUnaryFloat(c, [](double x) { return x + x; });
}

const weft::OpDef twice("twice",
                        weft::OpSpec("twice(Tensor self) -> Tensor", "self + self, of floats.")
                            .Traits(weft::kPointwise)
                            .Infer(weft::ops::InferUnaryFloat)
                            .Eval(Eval));

constexpr weft::Rule kRules[] = {
    {"add-to-self",
     "x + x = twice(x)",
     weft::NumericContract::kBitExact,
     pattern::Op(weft::ops::add, pattern::x.If(pattern::kFloat), pattern::x),
     {},
     pattern::Op(twice, pattern::x)},
};

class FindTwicePass : public weft::Pass {
 public:
  absl::string_view name() const override { return "find_twice"; }
  absl::string_view doc() const override { return "x + x becomes twice(x)."; }
  absl::Status Run(weft::Module& module, weft::PassContext& context) override {
    const absl::Span<const weft::Rule> themes[] = {kRules};
    return weft::ApplyRules(module, context, themes);
  }
};

std::unique_ptr<weft::Pass> CreateFindTwicePass() { return std::make_unique<FindTwicePass>(); }

constexpr char kTextRules[] = R"rules(
rule twice-of-neg bit-exact "twice(-x) = -twice(x)" {
  x: float
  twice(neg(x)) => neg(twice(x))
}
)rules";

absl::Status Add(weft::Extensions& to) {
  WEFT_RETURN_IF_ERROR(to.AddOp(&twice));
  WEFT_RETURN_IF_ERROR(to.AddOp(&squash, weft::OnnxName{"com.acme", "Squash"}));
  WEFT_RETURN_IF_ERROR(to.AddPass(CreateFindTwicePass));
  return to.AddRules(kTextRules, "twice.cc");
}

}  // namespace

WEFT_PLUGIN("twice", Add)
