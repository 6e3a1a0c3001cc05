// Tries values in the order of their distance, around the present one and around those that solve a
// broken condition in one symbol. Each evaluation of a condition is charged to a budget, so the
// search ends.
#include "graph/sym/sym_nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

using internal::Term;
using internal::Wide;

constexpr int kMaxEvaluations = 20000;
constexpr size_t kMaxConditions = 64;
constexpr size_t kMaxSymbols = 8;  // Symbols that may change.
constexpr int kSteps = 256;        // Steps to either side of the present value.
constexpr int kStepsOfFirst = 32;  // Steps of the first symbol when two change.
constexpr int kStepsOfSecond = 8;

int64_t Distance(int64_t a, int64_t b) {
  const Wide d = static_cast<Wide>(a) - b;
  return internal::FitsInt64(d < 0 ? -d : d) ? static_cast<int64_t>(d < 0 ? -d : d)
                                             : SymRange::kMax;
}

class NearestSearch {
 public:
  NearestSearch(const SymbolTable& facts, const SymbolValues& values)
      : facts_(facts), values_(values) {}

  std::optional<std::vector<SymbolEdit>> Run() {
    CollectBroken();
    if (broken_.empty()) return std::vector<SymbolEdit>();
    CollectConditions();
    std::optional<std::vector<SymbolEdit>> best;
    int64_t best_distance = SymRange::kMax;
    for (SymInt symbol : broken_) {
      if (const auto to = NearestOf(symbol, kSteps, best_distance)) {
        best_distance = Distance(values_.at(symbol), *to);
        best = {{symbol, values_.at(symbol), *to}};
      }
    }
    return best ? best : Pair();
  }

 private:
  std::optional<int64_t> ValueOf(SymInt symbol) const {
    auto it = values_.find(symbol);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  }
  // Nullopt if a symbol has no value.
  std::optional<int64_t> Eval(SymInt s) {
    --budget_;
    return Evaluate(s, [this](SymInt symbol) { return ValueOf(symbol); });
  }
  bool IsKnown(SymInt s) const {
    bool known = true;
    ForEachSymbol(s, [&](SymInt symbol) { known &= values_.contains(symbol); });
    return known;
  }
  SymbolInfo InfoOf(SymInt symbol) const {
    const SymbolInfo* info = facts_.Find(symbol);
    return info != nullptr ? *info : SymbolInfo{};
  }
  bool Fits(SymInt symbol, int64_t value) const {
    const SymbolInfo info = InfoOf(symbol);
    return value >= info.range.min && value <= info.range.max && value % info.divisor == 0;
  }

  void AddBroken(SymInt symbol) {
    if (InfoOf(symbol).unbacked || broken_.size() >= kMaxSymbols) return;
    if (std::find(broken_.begin(), broken_.end(), symbol) == broken_.end()) {
      broken_.push_back(symbol);
    }
  }
  void CollectBroken();
  void CollectConditions();
  bool Holds(SymInt symbol);
  std::vector<int64_t> Candidates(SymInt symbol, int steps);
  void AddSolutions(SymInt symbol, std::vector<int64_t>* around);
  std::optional<int64_t> NearestOf(SymInt symbol, int steps, int64_t limit);
  std::optional<std::vector<SymbolEdit>> Pair();

  const SymbolTable& facts_;
  SymbolValues values_;
  int budget_ = kMaxEvaluations;
  std::vector<SymInt> broken_;      // Symbols of broken facts, in the order of declaration.
  std::vector<SymInt> conditions_;  // Conditions about these symbols, where all values are known.
};

void NearestSearch::CollectBroken() {
  for (const SymbolInfo& info : facts_.symbols()) {
    const auto value = ValueOf(info.symbol);
    if (value && !Fits(info.symbol, *value)) AddBroken(info.symbol);
  }
  for (const SymCondition& c : facts_.conditions()) {
    if (budget_ <= 0) return;
    if (c.is_range || !IsKnown(c.condition) || Eval(c.condition) == 1) continue;
    ForEachSymbol(c.condition, [this](SymInt symbol) { AddBroken(symbol); });
  }
}

void NearestSearch::CollectConditions() {
  absl::flat_hash_set<int> seen;
  for (SymInt symbol : broken_) {
    for (int i : facts_.ConditionsAbout(symbol)) {
      const SymCondition& c = facts_.conditions()[i];
      if (c.is_range || !IsKnown(c.condition) || conditions_.size() >= kMaxConditions) continue;
      if (seen.insert(i).second) conditions_.push_back(c.condition);
    }
  }
}

// True if every fact about the symbols that may change holds.
bool NearestSearch::Holds(SymInt changed) {
  if (!Fits(changed, values_.at(changed))) return false;
  for (SymInt symbol : broken_) {
    if (!Fits(symbol, values_.at(symbol))) return false;
  }
  for (SymInt condition : conditions_) {
    if (budget_ <= 0 || Eval(condition) != 1) return false;
  }
  return true;
}

// Adds the values that make a broken condition hold that is linear in the symbol.
void NearestSearch::AddSolutions(SymInt symbol, std::vector<int64_t>* around) {
  for (SymInt condition : conditions_) {
    if (budget_ <= 0 || !internal::IsComparison(condition) || Eval(condition) == 1) continue;
    const SymInt s = Substitute(condition.args()[0], [&](SymInt x) -> std::optional<SymInt> {
      if (x == symbol) return std::nullopt;
      return SymInt(values_.at(x));
    });
    const auto [variable, constant] = internal::SplitConstant(s);
    const std::vector<Term> terms = internal::Terms(variable);
    if (terms.size() != 1 || terms[0].monomial != symbol) continue;
    if (!internal::FitsInt64(terms[0].coefficient)) continue;
    // slope*x + constant = 0.
    const SymInt slope(static_cast<int64_t>(terms[0].coefficient));
    for (SymInt x : {FloorDiv(-SymInt(constant), slope), CeilDiv(-SymInt(constant), slope)}) {
      if (x.is_constant()) around->push_back(x.value());
    }
  }
}

// Values in the order of their distance; of two at one distance, the larger is first.
std::vector<int64_t> NearestSearch::Candidates(SymInt symbol, int steps) {
  const SymbolInfo info = InfoOf(symbol);
  const int64_t now = values_.at(symbol);
  std::vector<int64_t> around = {now};
  if (info.range.min != SymRange::kMin) around.push_back(info.range.min);
  if (info.range.max != SymRange::kMax) around.push_back(info.range.max);
  AddSolutions(symbol, &around);
  std::vector<int64_t> candidates;
  for (size_t i = 0; i < around.size(); ++i) {
    const Wide low =
        static_cast<Wide>(around[i]) - ((around[i] % info.divisor) + info.divisor) % info.divisor;
    const int64_t reach = i == 0 ? steps : 2;
    for (int64_t k = -reach; k <= reach; ++k) {
      const Wide value = low + static_cast<Wide>(k) * info.divisor;
      if (!internal::FitsInt64(value) || !Fits(symbol, static_cast<int64_t>(value))) continue;
      candidates.push_back(static_cast<int64_t>(value));
    }
  }
  std::sort(candidates.begin(), candidates.end(), [now](int64_t a, int64_t b) {
    const int64_t x = Distance(a, now), y = Distance(b, now);
    return x != y ? x < y : a > b;
  });
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

std::optional<int64_t> NearestSearch::NearestOf(SymInt symbol, int steps, int64_t limit) {
  const int64_t now = values_.at(symbol);
  std::optional<int64_t> found;
  for (int64_t candidate : Candidates(symbol, steps)) {
    if (budget_ <= 0 || Distance(candidate, now) >= limit) break;
    values_[symbol] = candidate;
    if (!Holds(symbol)) continue;
    found = candidate;
    break;
  }
  values_[symbol] = now;
  return found;
}

std::optional<std::vector<SymbolEdit>> NearestSearch::Pair() {
  std::optional<std::vector<SymbolEdit>> best;
  int64_t limit = SymRange::kMax;
  for (SymInt first : broken_) {
    const int64_t now = values_.at(first);
    for (int64_t candidate : Candidates(first, kStepsOfFirst)) {
      const int64_t distance = Distance(candidate, now);
      if (budget_ <= 0 || distance >= limit) break;
      values_[first] = candidate;
      for (SymInt second : broken_) {
        if (second == first) continue;
        const auto to = NearestOf(second, kStepsOfSecond, limit - distance);
        if (!to) continue;
        limit = distance + Distance(*to, values_.at(second));
        best = {{first, now, candidate}, {second, values_.at(second), *to}};
      }
    }
    values_[first] = now;
  }
  return best;
}

}  // namespace

std::optional<std::vector<SymbolEdit>> NearestAllowed(const SymbolTable& facts,
                                                      const SymbolValues& values) {
  return NearestSearch(facts, values).Run();
}

std::string ToString(const std::vector<SymbolEdit>& edits) {
  return absl::StrJoin(edits, ", ", [](std::string* out, const SymbolEdit& edit) {
    absl::StrAppend(out, edit.symbol.ToString(), " = ", edit.to);
  });
}

}  // namespace weft
