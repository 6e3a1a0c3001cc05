// Bare symbols are bound first, by inputs that are read before others; then sizes
// that are linear in one symbol without a value are solved for it, for as long as
// there are such; what is left is compared.
#include "api/dynamic/size_binder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

std::string ShapeText(const HostTensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), "[", absl::StrJoin(tensor.dims(), ", "), "]");
}

std::string RangeText(const SymbolInfo& info) {
  const auto [min, max] = info.range;
  return absl::StrCat(min == SymRange::kMin ? "" : absl::StrCat(min, " <= "),
                      info.symbol.ToString(),
                      max == SymRange::kMax ? "" : absl::StrCat(" <= ", max));
}

// `size` = slope * symbol + rest, where neither mentions the symbol.
struct Linear {
  SymInt slope;
  SymInt rest;
};
std::optional<Linear> LinearIn(SymInt size, SymInt symbol) {
  const SymInt rest = Substitute(size, [&](SymInt s) -> std::optional<SymInt> {
    if (s != symbol) return std::nullopt;
    return SymInt(0);
  });
  if (!rest.is_valid()) return std::nullopt;
  const SymInt slope = FloorDiv(size - rest, symbol);
  if (!slope.is_valid() || ContainsSymbol(slope, symbol)) return std::nullopt;
  if (slope * symbol + rest != size) return std::nullopt;
  return Linear{slope, rest};
}

}  // namespace

// --- Preparation ---------------------------------------------------------------------

SizeBinder::SizeBinder(const Graph& main) : main_(main) {
  std::vector<Pending> sizes = Sizes();
  BindBare(&sizes);
  while (SolveOne(&sizes)) {
  }
  CheckRest(sizes);
  for (int i = 0; i < main.num_inputs(); ++i) needed_.push_back(IsRead(i));
  for (const Source& source : sources_) needed_[source.input] = true;
  CompileConditions();
}

bool SizeBinder::IsRead(int input) const {
  return main_.input(input)->has_uses() || main_.input_info(input).value >= 0;
}

std::vector<SizeBinder::Pending> SizeBinder::Sizes() const {
  std::vector<Pending> sizes;
  for (const bool read : {true, false}) {
    for (int i = 0; i < main_.num_inputs(); ++i) {
      if (IsRead(i) != read) continue;
      const Type type = main_.input(i)->type();
      if (type.is_symint()) sizes.push_back({i, -1, type.symint()});
      if (!type.is_tensor()) continue;
      for (int d = 0; d < type.rank(); ++d) sizes.push_back({i, d, type.dim(d)});
    }
  }
  return sizes;
}

// Takes those out that it deals with, as the next function does.
void SizeBinder::BindBare(std::vector<Pending>* sizes) {
  std::vector<Pending> left;
  for (const Pending& size : *sizes) {
    if (size.size.is_symbol() && NumberOf(size.size) < 0) {
      AddStep(Step::Kind::kBind, size, size.size, {});
    } else {
      left.push_back(size);
    }
  }
  *sizes = std::move(left);
}

bool SizeBinder::SolveOne(std::vector<Pending>* sizes) {
  for (auto it = sizes->begin(); it != sizes->end(); ++it) {
    SymInt unknown;
    int count = 0;
    ForEachSymbol(it->size, [&](SymInt s) {
      if (NumberOf(s) >= 0) return;
      unknown = s;
      ++count;
    });
    if (count != 1) continue;
    const auto linear = LinearIn(it->size, unknown);
    if (!linear) continue;
    AddStep(Step::Kind::kSolve, *it, unknown, {linear->slope, linear->rest});
    sizes->erase(it);
    return true;
  }
  return false;
}

void SizeBinder::CheckRest(const std::vector<Pending>& sizes) {
  for (const Pending& size : sizes) {
    if (Knows(size.size)) AddStep(Step::Kind::kCheck, size, SymInt(), {size.size});
  }
}

void SizeBinder::AddStep(Step::Kind kind, const Pending& size, SymInt symbol,
                         std::vector<SymInt> code) {
  Step step{kind, size.input, size.dim, size.size, -1, {}};
  for (SymInt s : code) {
    step.code.emplace_back(s, [this](SymInt other) { return NumberOf(other); });
  }
  if (kind != Step::Kind::kCheck) {
    step.number = static_cast<int>(symbols_.size());
    numbers_[symbol] = step.number;
    symbols_.push_back(symbol);
    sources_.push_back({size.input, size.dim, kind == Step::Kind::kBind});
  }
  steps_.push_back(std::move(step));
}

void SizeBinder::CompileConditions() {
  const auto conditions = main_.module().symbols().conditions();
  for (size_t i = 0; i < conditions.size(); ++i) {
    if (!Knows(conditions[i].condition)) continue;
    conditions_.emplace_back(
        static_cast<int>(i),
        CompiledSym(conditions[i].condition, [this](SymInt symbol) { return NumberOf(symbol); }));
  }
}

int SizeBinder::NumberOf(SymInt symbol) const {
  const auto it = numbers_.find(symbol);
  return it == numbers_.end() ? -1 : it->second;
}

bool SizeBinder::Knows(SymInt s) const {
  bool known = true;
  ForEachSymbol(s, [&](SymInt symbol) { known &= NumberOf(symbol) >= 0; });
  return known;
}

// --- Words ---------------------------------------------------------------------------

std::string SizeBinder::InputText(int input) const {
  return absl::StrCat("input ", input, " (", main_.input_info(input).name, ")");
}

std::string SizeBinder::StepText(const Step& step) const {
  if (step.dim < 0) return absl::StrCat(InputText(step.input), ": the value");
  return absl::StrCat(InputText(step.input), ": dim ", step.dim);
}

std::string SizeBinder::SourceText(int number) const {
  const Source& source = sources_[number];
  const std::string& name = main_.input_info(source.input).name;
  if (source.dim < 0) return Quote(name);
  return absl::StrCat("dim ", source.dim, " of ", Quote(name));
}

std::string SizeBinder::ValuesText(SymInt s, absl::Span<const int64_t> values) const {
  std::vector<std::string> texts;
  ForEachSymbol(s, [&](SymInt symbol) {
    const int number = NumberOf(symbol);
    if (number < 0) return;
    texts.push_back(absl::StrCat(symbol.ToString(), " is ", values[number],
                                 sources_[number].bare ? " (" : " (by ", SourceText(number), ")"));
  });
  return absl::StrJoin(texts, ", ");
}

std::vector<Constraint> SizeBinder::constraints() const {
  const SymbolTable& facts = main_.module().symbols();
  std::vector<Constraint> all;
  for (SymInt symbol : symbols_) {
    const SymbolInfo* info = facts.Find(symbol);
    if (info == nullptr) continue;
    if (!(info->range == SymbolInfo().range)) all.push_back({RangeText(*info), ""});
    if (info->divisor == 1) continue;
    all.push_back({absl::StrCat(symbol.ToString(), " % ", info->divisor, " == 0"), ""});
  }
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::kCheck || step.size.is_constant()) continue;
    all.push_back({absl::StrCat("dim ", step.dim, " of ", Quote(main_.input_info(step.input).name),
                                " == ", step.size.ToString()),
                   ""});
  }
  for (const auto& [place, code] : conditions_) {
    const SymCondition& c = facts.conditions()[place];
    if (!c.is_range) all.push_back({c.condition.ToString(), c.origin});
  }
  return all;
}

// --- Calls ---------------------------------------------------------------------------

absl::Status SizeBinder::Bind(absl::Span<const HostTensor> inputs,
                              std::vector<int64_t>* values) const {
  if (static_cast<int>(inputs.size()) != main_.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", main_.num_inputs(), " inputs, got ", inputs.size()));
  }
  for (int i = 0; i < main_.num_inputs(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckInput(i, inputs[i]));
  }
  values->assign(symbols_.size(), 0);
  for (const Step& step : steps_) {
    if (!needed_[step.input]) continue;
    WEFT_RETURN_IF_ERROR(RunStep(step, inputs[step.input], values));
  }
  return CheckFacts(*values);
}

absl::Status SizeBinder::CheckInput(int input, const HostTensor& tensor) const {
  if (!tensor.valid()) {
    return absl::InvalidArgumentError(absl::StrCat(InputText(input), " is missing"));
  }
  // One that nothing reads may be anything.
  if (!needed_[input]) return absl::OkStatus();
  const Type type = main_.input(input)->type();
  const bool fits = type.is_symint()
                        ? IsInt(tensor.dtype()) && tensor.numel() == 1
                        : tensor.dtype() == type.dtype() && tensor.rank() == type.rank();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(InputText(input), ": expected ", type.ToString(),
                                                   ", got ", ShapeText(tensor)));
  }
  const int value = main_.input_info(input).value;
  if (value < 0 || tensor.Contiguous().BitEqual(main_.module().constants().tensor(value))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(InputText(input), " differs from the value that the program was made for"));
}

absl::Status SizeBinder::RunStep(const Step& step, const HostTensor& tensor,
                                 std::vector<int64_t>* values) const {
  const int64_t size = step.dim < 0 ? tensor.IntAt(0) : tensor.dim(step.dim);
  if (step.kind == Step::Kind::kSolve) return Solve(step, size, values);
  if (step.kind == Step::Kind::kBind) {
    (*values)[step.number] = size;
    return absl::OkStatus();
  }
  const auto wanted = step.code[0].Run(*values);
  if (wanted == size) return absl::OkStatus();
  std::string text = absl::StrCat(StepText(step), " is ", size, " and has to be ");
  if (!step.size.is_constant()) {
    absl::StrAppend(&text, step.size.ToString(), wanted ? absl::StrCat(" = ", *wanted) : "",
                    ", as ", ValuesText(step.size, *values));
  } else {
    absl::StrAppend(&text, step.size.value());
  }
  return absl::InvalidArgumentError(text);
}

absl::Status SizeBinder::Solve(const Step& step, int64_t size, std::vector<int64_t>* values) const {
  const auto slope = step.code[0].Run(*values);
  const auto rest = step.code[1].Run(*values);
  int64_t product = 0;
  const bool exact = slope && rest && *slope != 0 &&
                     !__builtin_sub_overflow(size, *rest, &product) &&
                     (*slope != -1 || product != SymRange::kMin) && product % *slope == 0;
  if (exact) {
    (*values)[step.number] = product / *slope;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(StepText(step), " is ", size, ", and no ",
                                                 symbols_[step.number].ToString(), " makes ",
                                                 step.size.ToString(), " equal that"));
}

absl::Status SizeBinder::CheckFacts(absl::Span<const int64_t> values) const {
  const SymbolTable& facts = main_.module().symbols();
  for (const auto& [place, code] : conditions_) {
    if (code.Holds(values)) continue;
    const SymCondition& c = facts.conditions()[place];
    return absl::InvalidArgumentError(
        absl::StrCat(c.condition.ToString(), " does not hold: ", ValuesText(c.condition, values),
                     c.origin.empty() ? "" : "; it comes from ", c.origin));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRange(static_cast<int>(i), values[i]));
  }
  return absl::OkStatus();
}

absl::Status SizeBinder::CheckRange(int number, int64_t value) const {
  const SymbolInfo* known = main_.module().symbols().Find(symbols_[number]);
  SymbolInfo info;
  if (known != nullptr) info = *known;
  info.symbol = symbols_[number];
  const bool inside = value >= info.range.min && value <= info.range.max;
  if (inside && value % info.divisor == 0) return absl::OkStatus();
  const Source& source = sources_[number];
  std::string text = InputText(source.input);
  absl::StrAppend(&text, source.dim < 0 ? ": the value" : absl::StrCat(": dim ", source.dim));
  absl::StrAppend(&text, source.bare
                             ? absl::StrCat(" is ", value)
                             : absl::StrCat(" makes ", info.symbol.ToString(), " = ", value));
  absl::StrAppend(&text, inside ? absl::StrCat(", which is no multiple of ", info.divisor, ": ",
                                               info.symbol.ToString(), " % ", info.divisor, " == 0")
                                : absl::StrCat(", outside of ", RangeText(info)));
  return absl::InvalidArgumentError(text);
}

}  // namespace weft
