#include "graph/sym/sym_sources.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {

void SymbolSources::AddInput(absl::string_view name, int dim, SymInt size) {
  std::string text = absl::StrCat("input %", NameToString(name));
  if (dim >= 0) absl::StrAppend(&text, " dim ", dim);
  ForEachSymbol(size, [&](SymInt symbol) {
    auto [it, inserted] = sources_.emplace(symbol, Source{text, size});
    const bool better = size == symbol && it->second.size != symbol;
    if (!inserted && better) it->second = {text, size};
  });
}

void SymbolSources::AddOrigin(SymInt symbol, std::string origin) {
  sources_.emplace(symbol, Source{std::move(origin), symbol});
}

std::string SymbolSources::Describe(SymInt symbol) const {
  const auto it = sources_.find(symbol);
  if (it == sources_.end()) return "unknown";
  const auto& [text, size] = it->second;
  return size == symbol ? text : absl::StrCat(text, ", which is ", size.ToString());
}

std::string OriginText(absl::string_view op, const std::vector<std::string>& names) {
  return absl::StrCat(op, names.empty() ? "" : absl::StrCat(", from ", Quote(names[0])));
}

std::string DescribeViolation(const SymbolTable& facts, SymInt condition, absl::string_view origin,
                              const SymbolValues& values, const SymbolSources* sources) {
  std::vector<std::string> given;
  ForEachSymbol(condition, [&](SymInt symbol) {
    auto it = values.find(symbol);
    if (it == values.end()) return;
    const bool has_source = sources != nullptr && sources->Has(symbol);
    given.push_back(
        absl::StrCat(symbol.ToString(), " = ", it->second,
                     has_source ? absl::StrCat(" (", sources->Describe(symbol), ")") : ""));
  });
  std::string text =
      absl::StrCat(condition.ToString(), " does not hold for ", absl::StrJoin(given, ", "));
  if (!origin.empty()) absl::StrAppend(&text, "; it comes from ", origin);
  const auto edits = NearestAllowed(facts, values);
  if (edits && !edits->empty()) {
    absl::StrAppend(&text, "; nearest allowed: ", ToString(*edits));
  }
  return text;
}

}  // namespace weft
