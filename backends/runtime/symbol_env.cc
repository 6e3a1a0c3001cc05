#include "backends/runtime/symbol_env.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime/compiled_sym.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/size_program.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/sym/sym_sources.h"

namespace weft {
void SymbolEnv::Define(absl::Span<const SymInt> symbols, absl::Span<const int64_t> values) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (values[i] != SizeProgram::kNoValue) values_[symbols[i]] = values[i];
  }
}

std::optional<int64_t> SymbolEnv::Find(SymInt symbol) const {
  auto it = values_.find(symbol);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

std::optional<int64_t> SymbolEnv::Eval(SymInt s) const {
  if (s.is_constant()) return s.value();
  const auto find = [this](SymInt symbol) { return Find(symbol); };
  std::optional<int64_t> value;
  return EvaluateStraight(s, find, &value) ? value : Evaluate(s, find);
}

std::optional<SymInt> SymbolEnv::Replacement(SymInt symbol) const {
  const auto value = Find(symbol);
  if (!value) return std::nullopt;
  return SymInt(*value);
}

absl::Status SymbolEnv::Bind(SymInt symbol, int64_t value) {
  values_[symbol] = value;
  WEFT_RETURN_IF_ERROR(CheckFacts(symbol, value));
  return CheckConditions(symbol);
}

std::optional<SymbolSources> SymbolEnv::Sources() const {
  if (sources_ == nullptr) return std::nullopt;
  return sources_();
}

// Checks the range and the divisor.
absl::Status SymbolEnv::CheckFacts(SymInt symbol, int64_t value) const {
  const SymbolInfo* info = facts_->Find(symbol);
  if (info == nullptr) return absl::OkStatus();
  const SymRange range = info->range;
  const bool inside = value >= range.min && value <= range.max;
  if (inside && value % info->divisor == 0) return absl::OkStatus();
  std::string text = absl::StrCat(symbol.ToString(), " = ", value);
  if (!inside) {
    absl::StrAppend(&text, " is outside of ", range.min, " <= ", symbol.ToString(),
                    range.max == SymRange::kMax ? "" : absl::StrCat(" <= ", range.max));
  } else {
    absl::StrAppend(&text, " is not a multiple of ", info->divisor);
  }
  const std::optional<SymbolSources> sources = Sources();
  if (sources && sources->Has(symbol)) {
    absl::StrAppend(&text, "; ", symbol.ToString(), " is ", sources->Describe(symbol));
  }
  for (int i : facts_->ConditionsAbout(symbol)) {
    const SymCondition& c = facts_->conditions()[i];
    if (!c.is_range || c.origin.empty() || Eval(c.condition) == 1) continue;
    absl::StrAppend(&text, "; it comes from ", c.origin);
    break;
  }
  const auto edits = NearestAllowed(*facts_, values_);
  if (edits && !edits->empty()) absl::StrAppend(&text, "; nearest allowed: ", ToString(*edits));
  return absl::InvalidArgumentError(text);
}

absl::Status SymbolEnv::CheckConditions(SymInt symbol) const {
  for (int i : facts_->ConditionsAbout(symbol)) {
    const SymCondition& c = facts_->conditions()[i];
    if (c.is_range) continue;  // CheckFacts checks ranges.
    WEFT_RETURN_IF_ERROR(Check(c.condition, c.origin));
  }
  return absl::OkStatus();
}

absl::Status SymbolEnv::CheckConditions() const {
  for (const SymCondition& c : facts_->conditions()) {
    WEFT_RETURN_IF_ERROR(Check(c.condition, c.origin));
  }
  return absl::OkStatus();
}

bool SymbolEnv::IsBound(SymInt s) const {
  bool bound = true;
  ForEachSymbol(s, [&](SymInt symbol) { bound = bound && values_.contains(symbol); });
  return bound;
}

// A condition that is undefined, because it divides by zero or passes 64 bits, does not hold.
absl::Status SymbolEnv::Check(SymInt condition, absl::string_view origin) const {
  const std::optional<int64_t> holds = Eval(condition);
  if (holds == 1 || (!holds && !IsBound(condition))) return absl::OkStatus();
  const std::optional<SymbolSources> sources = Sources();
  return absl::InvalidArgumentError(
      DescribeViolation(*facts_, condition, origin, values_, sources ? &*sources : nullptr));
}

std::string SymbolEnv::Describe(SymInt s) const {
  const std::optional<SymbolSources> sources = Sources();
  std::vector<std::string> texts;
  ForEachSymbol(s, [&](SymInt symbol) {
    const auto value = Find(symbol);
    if (!value) return;
    const bool known = sources && sources->Has(symbol);
    texts.push_back(absl::StrCat(symbol.ToString(), " = ", *value,
                                 known ? absl::StrCat(" (", sources->Describe(symbol), ")") : ""));
  });
  return absl::StrJoin(texts, ", ");
}

absl::Status SymbolEnv::Unify(SymInt s, int64_t value) {
  if (const auto known = Eval(s)) {
    if (*known == value) return absl::OkStatus();
    return absl::InvalidArgumentError(
        s.is_constant() ? absl::StrCat("expected ", *known, ", got ", value)
                        : absl::StrCat("expected ", s.ToString(), " = ", *known, ", got ", value));
  }
  if (s.is_symbol()) return Bind(s, value);
  // Solves c * x + k = value for the one unbound symbol x.
  const SymInt rest = Substitute(s, [this](SymInt symbol) { return Replacement(symbol); });
  SymInt unbound;
  int count = 0;
  ForEachSymbol(rest, [&](SymInt symbol) {
    unbound = symbol;
    ++count;
  });
  const SymInt at_zero = Substitute(rest, [](SymInt) { return std::optional<SymInt>(SymInt(0)); });
  const SymInt slope = FloorDiv(rest - at_zero, unbound);
  if (count != 1 || !slope.is_constant() || !at_zero.is_constant() ||
      slope * unbound + at_zero != rest) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot tell the symbols of ", rest.ToString(), " from ", value));
  }
  const SymInt solution = FloorDiv(SymInt(value) - at_zero, slope);
  if (!solution.is_constant() || solution * slope + at_zero != SymInt(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no ", unbound.ToString(), " makes ", rest.ToString(), " equal ", value));
  }
  return Bind(unbound, solution.value());
}

absl::Status SymbolEnv::Unify(Type type, const RunInput& tensor) {
  if (type.is_symint()) {
    if (tensor.host() == nullptr) return absl::InternalError("a size is not on the host");
    return Unify(type.symint(), tensor.host()->IntAt(0));
  }
  return UnifyTensor(type, tensor.dtype(), tensor.dims());
}

absl::Status SymbolEnv::Unify(Type type, absl::Span<const int64_t> dims) {
  if (!type.is_tensor()) return absl::InternalError("a size has no dims");
  return UnifyTensor(type, type.dtype(), dims);
}

absl::Status SymbolEnv::UnifyTensor(Type type, DType dtype, absl::Span<const int64_t> dims) {
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", type.ToString(), ", got ",
                                                   DTypeName(dtype), "[", absl::StrJoin(dims, ", "),
                                                   "]", why));
  };
  if (dtype != type.dtype() || static_cast<int>(dims.size()) != type.rank()) return mismatch("");
  for (const bool symbols : {true, false}) {
    for (int i = 0; i < type.rank(); ++i) {
      if (type.dim(i).is_symbol() != symbols) continue;
      absl::Status status = Unify(type.dim(i), dims[i]);
      if (!status.ok()) {
        return mismatch(absl::StrCat(": dim ", i, ": ", status.message()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weft
