#include "backends/runtime/compiled_sym.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/sym/sym_expr.h"

namespace weft {
namespace {

using Kind = SymInt::Kind;
using Wide = __int128;

bool Fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

std::optional<int64_t> Narrow(Wide v) {
  if (!Fits(v)) return std::nullopt;
  return static_cast<int64_t>(v);
}

// Rounds to minus infinity.
Wide FloorQuotient(Wide a, Wide b) {
  const Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<int64_t> Sum(int64_t first, absl::Span<const int64_t> args) {
  Wide sum = first;
  for (int64_t arg : args) sum += arg;
  return Narrow(sum);
}

// A factor of 0 makes the result 0 even if others overflow, as in Evaluate().
std::optional<int64_t> Multiply(int64_t first, absl::Span<const int64_t> args) {
  if (std::count(args.begin(), args.end(), 0) > 0) return 0;
  Wide product = first;
  for (int64_t arg : args) {
    product *= arg;
    if (!Fits(product)) return std::nullopt;
  }
  return Narrow(product);
}

std::optional<int64_t> Divide(Kind kind, int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  const Wide q = FloorQuotient(a, b);
  return Narrow(kind == Kind::kFloorDiv ? q : a - b * q);
}

std::optional<int64_t> Broadcast(absl::Span<const int64_t> args) {
  int64_t size = args[0];
  for (int64_t arg : args) {
    if (size != arg && size != 1 && arg != 1) return std::nullopt;
    if (size == 1) size = arg;
  }
  return size;
}

std::optional<int64_t> Apply(Kind kind, int64_t number, absl::Span<const int64_t> args) {
  switch (kind) {
    case Kind::kConst:
      return number;
    case Kind::kSum:
      return Sum(number, args);
    case Kind::kProduct:
      return Multiply(number, args);
    case Kind::kFloorDiv:
    case Kind::kMod:
      return Divide(kind, args[0], args[1]);
    case Kind::kMin:
      return *std::min_element(args.begin(), args.end());
    case Kind::kMax:
      return *std::max_element(args.begin(), args.end());
    case Kind::kBroadcast:
      return Broadcast(args);
    case Kind::kNonNegative:
      return args[0] >= 0;
    case Kind::kZero:
      return args[0] == 0;
    default:
      return std::nullopt;
  }
}

// True if Apply() implements the kind, or it is a symbol's.
bool IsStraight(Kind kind) {
  switch (kind) {
    case Kind::kConst:
    case Kind::kSymbol:
    case Kind::kSum:
    case Kind::kProduct:
    case Kind::kFloorDiv:
    case Kind::kMod:
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kBroadcast:
    case Kind::kNonNegative:
    case Kind::kZero:
      return true;
    default:
      return false;
  }
}

bool IsStraight(SymInt s) {
  std::vector<SymInt> stack = {s};
  while (!stack.empty()) {
    const SymInt top = stack.back();
    stack.pop_back();
    if (!IsStraight(top.kind())) return false;
    stack.insert(stack.end(), top.args().begin(), top.args().end());
  }
  return true;
}

// The number that Apply() takes.
int64_t NumberOf(SymInt s) {
  if (s.is_constant()) return s.value();
  return s.kind() == Kind::kSum || s.kind() == Kind::kProduct ? s.coefficient() : 0;
}

}  // namespace

CompiledSym::CompiledSym(SymInt s, absl::FunctionRef<int(SymInt)> number_of) : whole_(s) {
  if (IsStraight(s)) {
    Add(s, number_of);
    return;
  }
  ForEachSymbol(s, [&](SymInt symbol) { numbers_.emplace_back(symbol, number_of(symbol)); });
}

// Adds arguments before the expressions that use them.
void CompiledSym::Add(SymInt s, absl::FunctionRef<int(SymInt)> number_of) {
  // Expressions in progress, each with the number of its finished arguments.
  std::vector<std::pair<SymInt, size_t>> begun = {{s, 0}};
  while (!begun.empty()) {
    const SymInt top = begun.back().first;
    const size_t next = begun.back().second++;
    if (next < top.args().size()) {
      begun.emplace_back(top.args()[next], 0);
      continue;
    }
    begun.pop_back();
    const int64_t number = top.is_symbol() ? number_of(top) : NumberOf(top);
    steps_.push_back({top.kind(), static_cast<int>(top.args().size()), number});
  }
}

std::optional<int64_t> CompiledSym::Run(absl::Span<const int64_t> values) const {
  return steps_.empty() ? Interpret(values) : RunSteps(values);
}

std::optional<int64_t> CompiledSym::Interpret(absl::Span<const int64_t> values) const {
  return Evaluate(whole_, [&](SymInt symbol) -> std::optional<int64_t> {
    for (const auto& [known, number] : numbers_) {
      if (known == symbol) return values[number];
    }
    return std::nullopt;
  });
}

std::optional<int64_t> CompiledSym::RunSteps(absl::Span<const int64_t> values) const {
  absl::InlinedVector<int64_t, 16> stack;
  for (const Step& step : steps_) {
    if (step.kind == Kind::kSymbol) {
      stack.push_back(values[step.number]);
      continue;
    }
    const size_t rest = stack.size() - step.num_args;
    const auto result = Apply(step.kind, step.number, absl::MakeConstSpan(stack).subspan(rest));
    if (!result) return std::nullopt;
    stack.resize(rest);
    stack.push_back(*result);
  }
  return stack.back();
}

bool EvaluateStraight(SymInt s, absl::FunctionRef<std::optional<int64_t>(SymInt)> find,
                      std::optional<int64_t>* result) {
  constexpr int kMostVisits = 256;
  absl::InlinedVector<std::pair<SymInt, size_t>, 16> begun = {{s, 0}};
  absl::InlinedVector<int64_t, 16> values;
  for (int visits = 0; !begun.empty(); ++visits) {
    const SymInt top = begun.back().first;
    if (!IsStraight(top.kind()) || visits == kMostVisits) return false;
    const size_t next = begun.back().second++;
    if (next < top.args().size()) {
      begun.emplace_back(top.args()[next], 0);
      continue;
    }
    begun.pop_back();
    const size_t rest = values.size() - top.args().size();
    const auto value = top.is_symbol() ? find(top)
                                       : Apply(top.kind(), NumberOf(top),
                                               absl::MakeConstSpan(values).subspan(rest));
    if (!value) {
      *result = std::nullopt;
      return !top.is_symbol();
    }
    values.resize(rest);
    values.push_back(*value);
  }
  *result = values.back();
  return true;
}

}  // namespace weft
