#include "backends/symbol_env.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

std::string Shape(const HostTensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), "[",
                      absl::StrJoin(tensor.dims(), ", "), "]");
}

}  // namespace

std::optional<int64_t> SymbolEnv::Find(SymInt symbol) const {
  auto it = values_.find(symbol);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

std::optional<int64_t> SymbolEnv::Eval(SymInt s) const {
  if (s.is_constant()) return s.value();
  return Evaluate(s, [this](SymInt symbol) { return Find(symbol); });
}

std::optional<SymInt> SymbolEnv::Replacement(SymInt symbol) const {
  const auto value = Find(symbol);
  if (!value) return std::nullopt;
  return SymInt(*value);
}

absl::Status SymbolEnv::Bind(SymInt symbol, int64_t value) {
  const SymbolInfo* info = facts_->Find(symbol);
  if (info != nullptr) {
    if (value < info->range.min || value > info->range.max) {
      return absl::InvalidArgumentError(
          absl::StrCat(symbol.ToString(), " = ", value, " is outside of ",
                       info->range.min, " <= ", symbol.ToString(),
                       info->range.max == SymRange::kMax
                           ? ""
                           : absl::StrCat(" <= ", info->range.max)));
    }
    if (value % info->divisor != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(symbol.ToString(), " = ", value,
                       " is not a multiple of ", info->divisor));
    }
  }
  values_[symbol] = value;
  return CheckConditions(symbol);
}

absl::Status SymbolEnv::CheckConditions(SymInt symbol) const {
  for (int i : facts_->ConditionsAbout(symbol)) {
    const SymCondition& c = facts_->conditions()[i];
    const std::optional<int64_t> holds = Eval(c.condition);
    if (!holds || *holds == 1) continue;
    std::vector<std::string> values;
    ForEachSymbol(c.condition, [&](SymInt s) {
      values.push_back(absl::StrCat(s.ToString(), " = ", *Find(s)));
    });
    return absl::InvalidArgumentError(absl::StrCat(
        c.condition.ToString(), " does not hold for ",
        absl::StrJoin(values, ", "), c.origin.empty() ? "" : "; it comes from ",
        c.origin));
  }
  return absl::OkStatus();
}

absl::Status SymbolEnv::Unify(SymInt s, int64_t value) {
  if (const auto known = Eval(s)) {
    if (*known == value) return absl::OkStatus();
    return absl::InvalidArgumentError(
        s.is_constant()
            ? absl::StrCat("expected ", *known, ", got ", value)
            : absl::StrCat("expected ", s.ToString(), " = ", *known, ", got ",
                           value));
  }
  if (s.is_symbol()) return Bind(s, value);
  // c * x + k = value, with one unbound symbol x.
  const SymInt rest =
      Substitute(s, [this](SymInt symbol) { return Replacement(symbol); });
  SymInt unbound;
  int count = 0;
  ForEachSymbol(rest, [&](SymInt symbol) {
    unbound = symbol;
    ++count;
  });
  const SymInt at_zero = Substitute(
      rest, [](SymInt) { return std::optional<SymInt>(SymInt(0)); });
  const SymInt slope = FloorDiv(rest - at_zero, unbound);
  if (count != 1 || !slope.is_constant() || !at_zero.is_constant() ||
      slope * unbound + at_zero != rest) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot tell the symbols of ", rest.ToString(), " from ",
                     value));
  }
  const SymInt solution = FloorDiv(SymInt(value) - at_zero, slope);
  if (!solution.is_constant() || solution * slope + at_zero != SymInt(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no ", unbound.ToString(), " makes ", rest.ToString(),
                     " equal ", value));
  }
  return Bind(unbound, solution.value());
}

absl::Status SymbolEnv::Unify(Type type, const HostTensor& tensor) {
  if (type.is_symint()) return Unify(type.symint(), tensor.IntAt(0));
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", type.ToString(), ", got ", Shape(tensor), why));
  };
  if (tensor.dtype() != type.dtype() || tensor.rank() != type.rank()) {
    return mismatch("");
  }
  for (const bool symbols : {true, false}) {
    for (int i = 0; i < type.rank(); ++i) {
      if (type.dim(i).is_symbol() != symbols) continue;
      absl::Status status = Unify(type.dim(i), tensor.dim(i));
      if (!status.ok()) {
        return mismatch(absl::StrCat(": dim ", i, ": ", status.message()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weft
