#include "lowering/example_sizes.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

int64_t ExampleOf(const SymbolInfo& info) {
  if (info.hint) return *info.hint;
  const int64_t least = std::max<int64_t>(info.range.min, 2);
  const int64_t multiple = (least + info.divisor - 1) / info.divisor * info.divisor;
  return std::min(multiple, info.range.max);
}

}  // namespace

ExampleSizes::ExampleSizes(const Plan& plan) {
  std::vector<std::string> texts;
  for (const SymbolInfo& info : FactsOf(plan).symbols()) {
    if (info.unbacked) continue;
    const int64_t value = ExampleOf(info);
    values_.emplace(info.symbol, value);
    texts.push_back(absl::StrCat(Printable(info.symbol.ToString()), "=", value));
  }
  if (!texts.empty()) text_ = absl::StrCat(" for ", absl::StrJoin(texts, ", "));
}

std::optional<int64_t> ExampleSizes::ValueOf(SymInt s) const {
  return Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
    const auto it = values_.find(symbol);
    return it == values_.end() ? std::nullopt : std::optional<int64_t>(it->second);
  });
}

}  // namespace weft
