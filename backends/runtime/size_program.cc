// Sizes of inputs that are read are used before those of other inputs. In each group, sizes that
// are bare symbols bind them first; then sizes that are linear in their only unknown symbol are
// solved for it, as long as there are any; all other sizes are compared.
#include "backends/runtime/size_program.h"

#include <functional>
#include <optional>
#include <queue>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_nearest.h"
#include "graph/sym/sym_ops.h"
#include "graph/sym/sym_sources.h"
#include "graph/tensor/type.h"

namespace weft {
namespace {

std::string ShapeText(const RunInput& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), "[", absl::StrJoin(tensor.dims(), ", "), "]");
}

std::string RangeText(const SymbolInfo& info) {
  const auto [min, max] = info.range;
  return absl::StrCat(min == SymRange::kMin ? "" : absl::StrCat(min, " <= "),
                      info.symbol.ToString(),
                      max == SymRange::kMax ? "" : absl::StrCat(" <= ", max));
}

std::string DivisorText(const SymbolInfo& info) {
  return absl::StrCat(info.symbol.ToString(), " % ", info.divisor, " == 0");
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

bool HaveValues(absl::Span<const int> numbers, absl::Span<const int64_t> values) {
  for (int number : numbers) {
    if (values[number] == SizeProgram::kNoValue) return false;
  }
  return true;
}

bool IsSameTensor(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  return (a.raw() == b.raw() && a.strides() == b.strides()) || a.Contiguous().BitEqual(b);
}

}  // namespace

// --- Preparation ---------------------------------------------------------------------

// Makes the steps that give values to symbols, and collects the other sizes.
class SizeProgram::Solver {
 public:
  explicit Solver(SizeProgram* program) : program_(*program) {}

  struct Rest {
    Size size;
    int unknown = 0;  // Its symbols that have no value so far.
    bool solved = false;
  };
  const std::vector<Rest>& rest() const { return rest_; }

  // Adds sizes after those that are already solved.
  void Add(absl::Span<const Size> sizes) {
    std::vector<Size> others;
    for (const Size& size : sizes) {
      if (size.size.is_symbol() && program_.NumberOf(size.size) < 0) {
        GiveValue(Step::Kind::kBind, size, size.size, {});
      } else {
        others.push_back(size);
      }
    }
    for (const Size& size : others) AddRest(size);
    while (!ready_.empty()) {
      const size_t place = ready_.top();
      ready_.pop();
      SolveOne(place);
    }
  }

 private:
  void AddRest(const Size& size) {
    const size_t place = rest_.size();
    Rest& rest = rest_.emplace_back();
    rest.size = size;
    ForEachSymbol(size.size, [&](SymInt symbol) {
      if (program_.NumberOf(symbol) >= 0) return;
      ++rest.unknown;
      mentions_[symbol].push_back(place);
    });
    if (rest.unknown == 1) ready_.push(place);
  }

  void SolveOne(size_t place) {
    Rest& rest = rest_[place];
    if (rest.unknown != 1) return;
    SymInt unknown;
    ForEachSymbol(rest.size.size, [&](SymInt symbol) {
      if (program_.NumberOf(symbol) < 0) unknown = symbol;
    });
    const auto linear = LinearIn(rest.size.size, unknown);
    if (!linear) return;
    rest.solved = true;
    GiveValue(Step::Kind::kSolve, rest.size, unknown, {linear->slope, linear->rest});
  }

  void GiveValue(Step::Kind kind, const Size& size, SymInt symbol,
                 const std::vector<SymInt>& code) {
    program_.AddStep(kind, size, symbol, code);
    const auto it = mentions_.find(symbol);
    if (it == mentions_.end()) return;
    for (size_t place : it->second) {
      if (--rest_[place].unknown == 1) ready_.push(place);
    }
  }

  SizeProgram& program_;
  std::vector<Rest> rest_;
  absl::flat_hash_map<SymInt, std::vector<size_t>> mentions_;  // Indices of unsolved sizes.
  // Indices of sizes with one unknown symbol, the first one on top.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready_;
};

SizeProgram::SizeProgram(absl::Span<const PlanInput> inputs, const SymbolTable& facts,
                         ConstantFn constant, Options options)
    : inputs_(inputs.begin(), inputs.end()),
      facts_(&facts),
      num_known_(options.known.size()),
      complete_(options.complete),
      symbols_(std::move(options.known)),
      sources_(symbols_.size()) {
  for (size_t i = 0; i < symbols_.size(); ++i) numbers_.emplace(symbols_[i], static_cast<int>(i));
  Solver solver(this);
  solver.Add(Sizes(/*read=*/true));
  solver.Add(Sizes(/*read=*/false));
  for (const PlanInput& input : inputs_) needed_.push_back(input.read);
  for (size_t i = num_known_; i < sources_.size() && complete_; ++i) {
    needed_[sources_[i].input] = true;
  }
  for (const Solver::Rest& rest : solver.rest()) {
    if (rest.solved || !needed_[rest.size.input]) continue;
    if (rest.unknown > 0) {
      AddStep(Step::Kind::kRefuse, rest.size, SymInt(), {});
    } else {
      AddStep(Step::Kind::kCheck, rest.size, SymInt(), {rest.size.size});
    }
  }
  CompileConditions();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].value < 0) continue;
    const HostTensor* value = constant(inputs_[i].value);
    fixed_.emplace_back(static_cast<int>(i), value == nullptr ? HostTensor() : *value);
  }
}

std::vector<SizeProgram::Size> SizeProgram::Sizes(bool read) const {
  std::vector<Size> sizes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].read != read) continue;
    const int input = static_cast<int>(i);
    const Type type = inputs_[i].type;
    if (type.is_symint()) sizes.push_back({input, -1, type.symint()});
    if (!type.is_tensor()) continue;
    for (int d = 0; d < type.rank(); ++d) sizes.push_back({input, d, type.dim(d)});
  }
  return sizes;
}

void SizeProgram::AddStep(Step::Kind kind, const Size& size, SymInt symbol,
                          absl::Span<const SymInt> code) {
  Step step{kind, size, -1, {}, {}};
  for (SymInt s : code) {
    if (kind == Step::Kind::kCheck && s.is_constant()) continue;
    step.code.push_back(Compile(s));
    for (int number : NumbersIn(s)) step.reads.push_back(number);
  }
  if (symbol.is_symbol()) {
    step.number = static_cast<int>(symbols_.size());
    numbers_.emplace(symbol, step.number);
    symbols_.push_back(symbol);
    sources_.push_back({size.input, size.dim, kind == Step::Kind::kBind});
  }
  steps_.push_back(std::move(step));
}

// Conditions about known symbols alone are checked by the outer plan.
void SizeProgram::CompileConditions() {
  const auto conditions = facts_->conditions();
  for (size_t i = 0; i < conditions.size(); ++i) {
    const SymInt condition = conditions[i].condition;
    if (!Knows(condition)) continue;
    std::vector<int> reads = NumbersIn(condition);
    bool own = num_known_ == 0;
    for (int number : reads) own |= number >= static_cast<int>(num_known_);
    if (own) conditions_.push_back({static_cast<int>(i), std::move(reads), Compile(condition)});
  }
}

CompiledSym SizeProgram::Compile(SymInt s) const {
  return CompiledSym(s, [this](SymInt symbol) { return NumberOf(symbol); });
}

std::vector<int> SizeProgram::NumbersIn(SymInt s) const {
  std::vector<int> numbers;
  ForEachSymbol(s, [&](SymInt symbol) { numbers.push_back(NumberOf(symbol)); });
  return numbers;
}

int SizeProgram::NumberOf(SymInt symbol) const {
  const auto it = numbers_.find(symbol);
  return it == numbers_.end() ? -1 : it->second;
}

bool SizeProgram::Knows(SymInt s) const {
  bool known = true;
  ForEachSymbol(s, [&](SymInt symbol) { known &= NumberOf(symbol) >= 0; });
  return known;
}

// --- Messages ------------------------------------------------------------------------

std::string SizeProgram::InputText(int input) const {
  const std::string& name = inputs_[input].name;
  return absl::StrCat("input ", input, name.empty() ? "" : absl::StrCat(" (", name, ")"));
}

std::string SizeProgram::SizeText(const Size& size) const {
  if (size.dim < 0) return absl::StrCat(InputText(size.input), ": the value");
  return absl::StrCat(InputText(size.input), ": dim ", size.dim);
}

std::string SizeProgram::SourceText(int number) const {
  const Source& source = sources_[number];
  const std::string& name = inputs_[source.input].name;
  const std::string input = name.empty() ? InputText(source.input) : Quote(name);
  return source.dim < 0 ? input : absl::StrCat("dim ", source.dim, " of ", input);
}

// `s0 is 60 (dim 0 of "x"), s1 is 10 (by dim 1 of "x")`, for the symbols of `s`.
std::string SizeProgram::ValuesText(SymInt s, absl::Span<const int64_t> values) const {
  std::vector<std::string> texts;
  for (int number : NumbersIn(s)) {
    if (values[number] == kNoValue) continue;
    std::string text = absl::StrCat(symbols_[number].ToString(), " is ", values[number]);
    if (sources_[number].input >= 0) {
      absl::StrAppend(&text, sources_[number].bare ? " (" : " (by ", SourceText(number), ")");
    }
    texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, ", ");
}

std::string SizeProgram::NearestText(absl::Span<const int64_t> values) const {
  SymbolValues known;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != kNoValue) known.emplace(symbols_[i], values[i]);
  }
  const auto edits = NearestAllowed(*facts_, known);
  if (!edits || edits->empty()) return "";
  return absl::StrCat("; nearest allowed: ", ToString(*edits));
}

std::vector<Constraint> SizeProgram::constraints() const {
  std::vector<Constraint> all;
  for (SymInt symbol : symbols().subspan(num_known_)) {
    const SymbolInfo* info = facts_->Find(symbol);
    if (info == nullptr) continue;
    if (!(info->range == SymbolInfo().range)) all.push_back({RangeText(*info), ""});
    if (info->divisor != 1) all.push_back({DivisorText(*info), ""});
  }
  for (const Step& step : steps_) {
    const auto& [input, dim, size] = step.size;
    if (step.kind != Step::Kind::kCheck || size.is_constant()) continue;
    all.push_back(
        {absl::StrCat("dim ", dim, " of ", Quote(inputs_[input].name), " == ", size.ToString()),
         ""});
  }
  for (const Condition& condition : conditions_) {
    const SymCondition& c = facts_->conditions()[condition.place];
    if (!c.is_range) all.push_back({c.condition.ToString(), c.origin});
  }
  return all;
}

// --- Calls ---------------------------------------------------------------------------

absl::Status SizeProgram::Bind(absl::Span<const HostTensor> inputs,
                               std::vector<int64_t>* values) const {
  return Bind(std::vector<RunInput>(inputs.begin(), inputs.end()), {}, values);
}

absl::Status SizeProgram::Bind(absl::Span<const RunInput> inputs, absl::Span<const int64_t> known,
                               std::vector<int64_t>* values) const {
  WEFT_RETURN_IF_ERROR(CheckPresent(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckType(static_cast<int>(i), inputs[i]));
  }
  values->assign(known.begin(), known.end());
  values->resize(symbols_.size(), kNoValue);
  for (const Step& step : steps_) {
    WEFT_RETURN_IF_ERROR(RunStep(step, inputs[step.size.input], values));
  }
  WEFT_RETURN_IF_ERROR(CheckValues(inputs));
  WEFT_RETURN_IF_ERROR(CheckConditions(*values));
  for (size_t i = num_known_; i < symbols_.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRange(static_cast<int>(i), *values));
  }
  return absl::OkStatus();
}

absl::Status SizeProgram::CheckPresent(absl::Span<const RunInput> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program takes ", inputs_.size(), " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid()) continue;
    return absl::InvalidArgumentError(absl::StrCat(InputText(static_cast<int>(i)), " is missing"));
  }
  return absl::OkStatus();
}

absl::Status SizeProgram::CheckValues(absl::Span<const RunInput> inputs) const {
  for (const auto& [input, value] : fixed_) {
    if (!value.valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan has no constant ", inputs_[input].value));
    }
    if (inputs[input].host() == nullptr) return NotOnHost(input, "has a required value");
    if (IsSameTensor(*inputs[input].host(), value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(InputText(input), " differs from the value that the program was made for"));
  }
  return absl::OkStatus();
}

bool SizeProgram::FitsType(int input, const RunInput& tensor) const {
  const Type type = inputs_[input].type;
  if (type.is_symint()) return IsInt(tensor.dtype()) && tensor.numel() == 1;
  return tensor.dtype() == type.dtype() && tensor.rank() == type.rank();
}

absl::Status SizeProgram::NotOnHost(int input, absl::string_view reason) const {
  return absl::InvalidArgumentError(
      absl::StrCat(InputText(input), " ", reason, " and has to be in the host's memory"));
}

absl::Status SizeProgram::CheckType(int input, const RunInput& tensor) const {
  if (inputs_[input].type.is_symint() && tensor.host() == nullptr) {
    return NotOnHost(input, "is a size");
  }
  if (!needed_[input] || FitsType(input, tensor)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(InputText(input), ": expected ",
                                                 inputs_[input].type.ToString(), ", got ",
                                                 ShapeText(tensor)));
}

absl::Status SizeProgram::RunStep(const Step& step, const RunInput& tensor,
                                  std::vector<int64_t>* values) const {
  const bool needed = needed_[step.size.input];
  if (!needed && !FitsType(step.size.input, tensor)) return absl::OkStatus();
  const int64_t size = step.size.dim < 0 ? tensor.host()->IntAt(0) : tensor.dim(step.size.dim);
  if (step.kind == Step::Kind::kBind) {
    (*values)[step.number] = size;
    return absl::OkStatus();
  }
  if (step.kind == Step::Kind::kRefuse || !HaveValues(step.reads, *values)) {
    if (!needed) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(SizeText(step.size), " is ", size,
                                                   ", which does not tell the symbols of ",
                                                   step.size.size.ToString()));
  }
  if (step.kind == Step::Kind::kCheck) return Check(step, size, *values);
  const absl::Status status = Solve(step, size, values);
  return needed ? status : absl::OkStatus();
}

absl::Status SizeProgram::Check(const Step& step, int64_t size,
                                absl::Span<const int64_t> values) const {
  const SymInt want = step.size.size;
  const std::optional<int64_t> value = want.is_constant() ? want.value() : step.code[0].Run(values);
  if (value == size) return absl::OkStatus();
  std::string text = absl::StrCat(SizeText(step.size), " is ", size, " and has to be ");
  if (want.is_constant()) {
    absl::StrAppend(&text, *value);
  } else {
    absl::StrAppend(&text, want.ToString(), value ? absl::StrCat(" = ", *value) : "", ", as ",
                    ValuesText(want, values));
  }
  return absl::InvalidArgumentError(text);
}

absl::Status SizeProgram::Solve(const Step& step, int64_t size,
                                std::vector<int64_t>* values) const {
  const auto slope = step.code[0].Run(*values);
  const auto rest = step.code[1].Run(*values);
  if (!complete_ && slope == 0 && rest == size) return absl::OkStatus();
  int64_t product = 0;
  const bool exact = slope && rest && *slope != 0 &&
                     !__builtin_sub_overflow(size, *rest, &product) &&
                     (*slope != -1 || product != SymRange::kMin) && product % *slope == 0;
  if (exact) {
    (*values)[step.number] = product / *slope;
    return absl::OkStatus();
  }
  std::string text =
      absl::StrCat(SizeText(step.size), " is ", size, ", and no ", symbols_[step.number].ToString(),
                   " makes ", step.size.size.ToString(), " equal that");
  const std::string given = ValuesText(step.size.size, *values);
  if (!given.empty()) absl::StrAppend(&text, ", as ", given);
  return absl::InvalidArgumentError(text);
}

// A condition that is undefined, because it divides by zero or passes 64 bits, does not hold.
absl::Status SizeProgram::CheckConditions(absl::Span<const int64_t> values) const {
  for (const Condition& condition : conditions_) {
    if (!HaveValues(condition.reads, values) || condition.code.Holds(values)) continue;
    SymbolSources sources;
    SymbolValues given;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == kNoValue) continue;
      given.emplace(symbols_[i], values[i]);
      const auto& [input, dim, bare] = sources_[i];
      if (input < 0) continue;
      const Type type = inputs_[input].type;
      const std::string& name = inputs_[input].name;
      sources.AddInput(name.empty() ? absl::StrCat(input) : name, dim,
                       bare      ? symbols_[i]
                       : dim < 0 ? type.symint()
                                 : type.dim(dim));
    }
    const SymCondition& c = facts_->conditions()[condition.place];
    return absl::InvalidArgumentError(
        DescribeViolation(*facts_, c.condition, c.origin, given, &sources));
  }
  return absl::OkStatus();
}

absl::Status SizeProgram::CheckRange(int number, absl::Span<const int64_t> values) const {
  const Source& source = sources_[number];
  const int64_t value = values[number];
  if (value == kNoValue || !needed_[source.input]) return absl::OkStatus();
  const SymbolInfo* known = facts_->Find(symbols_[number]);
  SymbolInfo info;
  if (known != nullptr) info = *known;
  info.symbol = symbols_[number];
  const bool inside = value >= info.range.min && value <= info.range.max;
  if (inside && value % info.divisor == 0) return absl::OkStatus();
  std::string text = SizeText({source.input, source.dim, info.symbol});
  absl::StrAppend(&text, source.bare
                             ? absl::StrCat(" is ", value)
                             : absl::StrCat(" makes ", info.symbol.ToString(), " = ", value));
  absl::StrAppend(
      &text,
      inside ? absl::StrCat(", which is no multiple of ", info.divisor, ": ", DivisorText(info))
             : absl::StrCat(", outside of ", RangeText(info)),
      NearestText(values));
  return absl::InvalidArgumentError(text);
}

}  // namespace weft
