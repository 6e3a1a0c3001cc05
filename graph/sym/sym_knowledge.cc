// Conditions, taken apart: equalities that give a symbol replace it, ranges of
// single symbols narrow, other inequalities are axioms.
#include <algorithm>
#include <utility>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"
#include "graph/sym/sym_prove.h"

namespace weft::internal {

using Kind = SymInt::Kind;

namespace {

// Limits, in nodes of the expression written out as a tree: a symbol is not replaced by a larger
// value, and a larger condition is not learnt again with a symbol replaced. Without them, products
// of sums would grow with each replacement.
constexpr int kMaxValue = 64;
constexpr int kMaxCondition = 256;
// Limit of the conditions that are derived from a learnt one; further ones are dropped. Facts that
// contradict each other have consequences without end.
constexpr size_t kMaxConsequences = 1000;

// Subtracts the nodes of `s` from `budget`; false if the budget runs out.
bool Fits(SymInt s, int* budget) {
  if (--*budget < 0) return false;
  for (SymInt arg : s.args()) {
    if (!Fits(arg, budget)) return false;
  }
  return true;
}

bool HasAtMost(int nodes, SymInt s) { return s.is_valid() && Fits(s, &nodes); }

// A symbol with coefficient 1 or -1 that occurs nowhere else in `s`: an unbacked one if possible,
// else the one declared last, so that early symbols stay. Nullopt if no symbol qualifies.
std::optional<Term> SolvableTerm(SymInt s, const SymbolTable& table) {
  std::optional<Term> best;
  std::pair<bool, int64_t> best_rank;
  for (const Term& term : Terms(s)) {
    if (!term.monomial.is_symbol()) continue;
    if (term.coefficient != 1 && term.coefficient != -1) continue;
    const SymInt rest = s - term.monomial * SymInt(static_cast<int64_t>(term.coefficient));
    if (!rest.is_valid() || ContainsSymbol(rest, term.monomial)) continue;
    const std::pair<bool, int64_t> rank = {table.IsUnbacked(term.monomial),
                                           table.IndexOf(term.monomial)};
    if (best && rank <= best_rank) continue;
    best = term;
    best_rank = rank;
  }
  return best;
}

}  // namespace

void SymKnowledge::Learn(SymInt condition, const SymbolTable& table) {
  queue_.push_back(condition);
  for (size_t i = 0; i < queue_.size() && i < kMaxConsequences; ++i) LearnOne(queue_[i], table);
  queue_.clear();
}

void SymKnowledge::LearnOne(SymInt condition, const SymbolTable& table) {
  // A symbol may have been replaced since the condition was queued.
  condition = Replace(condition);
  if (!condition.is_valid() || condition.is_constant()) return;
  if (!known_.insert(condition).second) return;
  learnt_.push_back(condition);
  if (condition.kind() == Kind::kProduct && condition.coefficient() == 1) {
    queue_.insert(queue_.end(), condition.args().begin(), condition.args().end());
  } else if (condition.kind() == Kind::kNonNegative) {
    LearnNonNegative(condition.args()[0]);
  } else if (condition.kind() == Kind::kZero) {
    LearnZero(condition.args()[0], table);
  }
}

// `s` is normal: the coefficient of a lone symbol is 1 or -1.
void SymKnowledge::LearnNonNegative(SymInt s) {
  auto [variable, constant] = SplitConstant(s);
  const bool up = variable.is_symbol();
  const bool down = (-variable).is_symbol();
  if (!up && !down) return AddAxiom(s);
  if (up && constant == SymRange::kMin) return;
  SymRange& range = ranges_[up ? variable : -variable];
  range = Intersect(range,
                    up ? SymRange{-constant, SymRange::kMax} : SymRange{SymRange::kMin, constant});
}

void SymKnowledge::LearnZero(SymInt s, const SymbolTable& table) {
  const std::optional<Term> term = HasAtMost(kMaxValue, s) ? SolvableTerm(s, table) : std::nullopt;
  if (!term) {
    AddAxiom(s);
    return AddAxiom(-s);
  }
  const SymInt rest = s - term->monomial * SymInt(static_cast<int64_t>(term->coefficient));
  AddReplacement(term->monomial, term->coefficient == 1 ? -rest : rest, table);
}

void SymKnowledge::AddReplacement(SymInt symbol, SymInt value, const SymbolTable& table) {
  if (!value.is_valid()) return;
  const SymRange range =
      Intersect(table.Find(symbol) != nullptr ? table.Find(symbol)->range : SymRange{},
                ranges_.contains(symbol) ? ranges_[symbol] : SymRange{});
  const auto with_value = [&](SymInt s) {
    return Substitute(s, [&](SymInt x) -> std::optional<SymInt> {
      if (x == symbol) return value;
      return std::nullopt;
    });
  };
  for (auto& [replaced, old] : replacements_) {
    const SymInt now = with_value(old);
    // A value that would grow too large stays as it is; it is still equal under the facts.
    if (HasAtMost(kMaxCondition, now)) old = now;
  }
  replacements_.emplace(symbol, value);

  // Facts about the symbol become facts about its value.
  for (SymInt condition : learnt_) {
    if (!ContainsSymbol(condition, symbol)) continue;
    const SymInt now = with_value(condition);
    if (HasAtMost(kMaxCondition, now)) queue_.push_back(now);
  }
  if (range.min != SymRange::kMin) queue_.push_back(GreaterEqual(value, range.min));
  if (range.max != SymRange::kMax) queue_.push_back(LessEqual(value, range.max));
  if (const SymbolInfo* info = table.Find(symbol)) {
    queue_.push_back(Equal(Mod(value, info->divisor), 0));
  }
}

void SymKnowledge::AddAxiom(SymInt s) {
  if (!s.is_valid()) return;
  const int id = static_cast<int>(axioms_.size());
  axioms_.push_back(s);
  ForEachSymbol(s, [&](SymInt symbol) { axioms_of_[symbol].push_back(id); });
}

SymInt SymKnowledge::Replace(SymInt s) const {
  if (replacements_.empty()) return s;
  return Substitute(s, [&](SymInt symbol) -> std::optional<SymInt> {
    auto it = replacements_.find(symbol);
    if (it == replacements_.end()) return std::nullopt;
    return it->second;
  });
}

const SymRange* SymKnowledge::RangeOf(SymInt symbol) const {
  auto it = ranges_.find(symbol);
  return it == ranges_.end() ? nullptr : &it->second;
}

std::vector<SymInt> SymKnowledge::AxiomsAbout(SymInt s) const {
  if (axioms_.empty()) return {};
  std::vector<int> ids;
  ForEachSymbol(s, [&](SymInt symbol) {
    auto it = axioms_of_.find(symbol);
    if (it == axioms_of_.end()) return;
    const size_t n = std::min(it->second.size(), kMaxCandidates);
    ids.insert(ids.end(), it->second.begin(), it->second.begin() + n);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > kMaxCandidates) ids.resize(kMaxCandidates);
  std::vector<SymInt> axioms;
  for (int id : ids) axioms.push_back(axioms_[id]);
  return axioms;
}

std::optional<Proof> ProofMemo::Find(SymInt condition, uint64_t version) const {
  absl::MutexLock lock(&mu_);
  auto it = entries_.find(condition);
  if (it == entries_.end()) return std::nullopt;
  const Entry entry = it->second;
  if (entry.proof == Proof::kUnknown && entry.version != version) {
    return std::nullopt;
  }
  return entry.proof;
}

void ProofMemo::Insert(SymInt condition, uint64_t version, Proof proof) const {
  absl::MutexLock lock(&mu_);
  if (entries_.size() >= kMaxEntries) entries_.clear();
  entries_[condition] = {proof, version};
}

void ProofMemo::Clear() {
  absl::MutexLock lock(&mu_);
  entries_.clear();
}

}  // namespace weft::internal
