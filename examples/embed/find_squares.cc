// A user-defined pass: one rule, applied until it matches nowhere.
#include "square.h"
#include "weft/graph/ops/ops.h"
#include "weft/passes/engine/rewrite/driver.h"
#include "weft/passes/engine/rewrite/predicates.h"

namespace embed {
namespace {

namespace pattern = weft::pattern;

constexpr weft::Rule kRules[] = {
    {"mul-by-self",
     "x * x = square(x)",
     weft::NumericContract::kBitExact,
     pattern::Op(weft::ops::mul, pattern::x.If(pattern::kFloat), pattern::x),
     {},
     pattern::Op(square, pattern::x)},
};

class FindSquaresPass : public weft::Pass {
 public:
  absl::string_view name() const override { return "find_squares"; }
  absl::string_view doc() const override { return "x * x becomes square(x)."; }
  absl::Status Run(weft::Module& module, weft::PassContext& context) override {
    const absl::Span<const weft::Rule> themes[] = {kRules};
    return weft::ApplyRules(module, context, themes);
  }
};

}  // namespace

std::unique_ptr<weft::Pass> CreateFindSquaresPass() { return std::make_unique<FindSquaresPass>(); }

}  // namespace embed
