#include "graph/ir/guards.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {

// --- Sources --------------------------------------------------------------------

SymbolSources SourcesOf(const Graph& graph) {
  SymbolSources sources;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const Type type = graph.input(i)->type();
    const std::string& name = graph.input_info(i).name;
    if (type.is_symint()) sources.AddInput(name, -1, type.symint());
    for (int d = 0; type.is_tensor() && d < type.rank(); ++d) {
      sources.AddInput(name, d, type.dim(d));
    }
  }
  const SymbolTable& facts = graph.module().symbols();
  for (const SymbolInfo& info : facts.symbols()) {
    const Value* definition = info.unbacked ? graph.SymbolDefinition(info.symbol) : nullptr;
    if (definition == nullptr || definition->node() == nullptr) continue;
    sources.AddOrigin(info.symbol, OriginOf(*definition->node()));
  }
  return sources;
}

std::string OriginOf(const Node& node) {
  return OriginText(node.op().name(),
                    node.graph()->module().provenance().Names(node.provenance(), 1));
}

// --- Minimal sets of guards -------------------------------------------------

namespace {

constexpr size_t kMaxNeighbours = 16;

int CostOf(SymInt s) {
  int cost = 0;
  std::vector<SymInt> stack = {s};
  while (!stack.empty()) {
    const SymInt top = stack.back();
    stack.pop_back();
    ++cost;
    stack.insert(stack.end(), top.args().begin(), top.args().end());
  }
  return cost;
}

class Minimizer {
 public:
  explicit Minimizer(const SymbolTable& facts) : facts_(facts) {}

  GuardSet Run() {
    for (const SymbolInfo& info : facts_.symbols()) AddFactsOf(info);
    num_facts_ = guards_.size();
    AddConditions();
    DropForwards();
    DropBackwards();
    return Collect();
  }

 private:
  void Add(SymInt condition, std::string origin) {
    SizeGuard guard;
    guard.condition = condition;
    guard.origin = std::move(origin);
    guard.cost = CostOf(condition);
    ForEachSymbol(condition, [&](SymInt s) { guard.on_data |= facts_.IsUnbacked(s); });
    guards_.push_back(std::move(guard));
  }
  void AddFact(SymInt condition) {
    std::string origin = "declared";
    ForEachSymbol(condition, [&](SymInt symbol) {
      for (int i : facts_.ConditionsAbout(symbol)) {
        const SymCondition& c = facts_.conditions()[i];
        if (c.is_range && c.condition == condition && !c.origin.empty()) origin = c.origin;
      }
    });
    Add(condition, std::move(origin));
  }
  void AddFactsOf(const SymbolInfo& info) {
    const int64_t least = info.unbacked ? SymRange::kMin : 0;
    if (info.range.min > least) AddFact(GreaterEqual(info.symbol, info.range.min));
    if (info.range.max != SymRange::kMax) AddFact(LessEqual(info.symbol, info.range.max));
    if (info.divisor != 1) AddFact(Equal(Mod(info.symbol, info.divisor), 0));
  }

  // Cheapest first. A range that other conditions narrowed further is implied at once.
  void AddConditions();
  void DropForwards();
  void DropBackwards();
  // A symbol table, with or without the ranges of the condition's symbols.
  SymbolTable TableFor(SymInt condition, bool ranges) const;
  // The needed conditions that share a symbol with this one, itself excluded.
  std::vector<size_t> Neighbours(size_t guard) const;
  std::vector<size_t> CoverOf(size_t guard) const;
  GuardSet Collect();

  const SymbolTable& facts_;
  std::vector<SizeGuard> guards_;  // Facts of single symbols, then conditions.
  size_t num_facts_ = 0;
  std::vector<bool> needed_;
  absl::flat_hash_map<SymInt, std::vector<size_t>> about_;  // All guards.
};

void Minimizer::AddConditions() {
  absl::flat_hash_set<SymInt> known;
  for (const SizeGuard& guard : guards_) known.insert(guard.condition);
  for (const SymCondition& c : facts_.conditions()) {
    if (known.insert(c.condition).second) Add(c.condition, c.origin);
  }
  std::stable_sort(guards_.begin() + num_facts_, guards_.end(),
                   [](const SizeGuard& a, const SizeGuard& b) { return a.cost < b.cost; });
  needed_.assign(guards_.size(), true);
  for (size_t i = 0; i < guards_.size(); ++i) {
    ForEachSymbol(guards_[i].condition, [&](SymInt s) { about_[s].push_back(i); });
  }
}

void Minimizer::DropForwards() {
  SymbolTable known;
  for (const SymbolInfo& info : facts_.symbols()) known.Declare(info);
  for (size_t i = num_facts_; i < guards_.size(); ++i) {
    // A condition that contradicts the others stays: it fails when it is checked.
    needed_[i] = known.Assume(guards_[i].condition) != Proof::kYes;
  }
}

SymbolTable Minimizer::TableFor(SymInt condition, bool ranges) const {
  SymbolTable table;
  ForEachSymbol(condition, [&](SymInt symbol) {
    const SymbolInfo* known = facts_.Find(symbol);
    SymbolInfo info;
    info.unbacked = known != nullptr && known->unbacked;
    if (info.unbacked) info.range = {};
    if (ranges && known != nullptr) info = *known;
    info.symbol = symbol;
    table.Declare(info);
  });
  return table;
}

std::vector<size_t> Minimizer::Neighbours(size_t guard) const {
  std::vector<size_t> found;
  ForEachSymbol(guards_[guard].condition, [&](SymInt symbol) {
    size_t taken = 0;
    for (size_t i : about_.at(symbol)) {
      if (i < num_facts_ || i == guard || !needed_[i] || taken == kMaxNeighbours) continue;
      found.push_back(i);
      ++taken;
    }
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > kMaxNeighbours) found.resize(kMaxNeighbours);
  return found;
}

void Minimizer::DropBackwards() {
  for (size_t i = guards_.size(); i-- > num_facts_;) {
    if (!needed_[i]) continue;
    const SymInt condition = guards_[i].condition;
    SymInt all = condition;
    const std::vector<size_t> neighbours = Neighbours(i);
    if (neighbours.empty()) continue;
    SymbolTable table = TableFor(all, true);
    for (size_t n : neighbours) {
      const SymInt other = guards_[n].condition;
      const SymbolTable theirs = TableFor(other, true);
      for (const SymbolInfo& info : theirs.symbols()) table.Declare(info);
      table.Assume(other);
    }
    needed_[i] = table.Prove(condition) != Proof::kYes;
  }
}

// One guard that implies it alone, else the facts of its symbols, else all guards that share a
// symbol with it.
std::vector<size_t> Minimizer::CoverOf(size_t guard) const {
  const SymInt condition = guards_[guard].condition;
  std::vector<size_t> facts;
  ForEachSymbol(condition, [&](SymInt symbol) {
    for (size_t i : about_.at(symbol)) {
      if (i < num_facts_) facts.push_back(i);
    }
  });
  std::sort(facts.begin(), facts.end());
  facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
  std::vector<size_t> all = facts;
  for (size_t n : Neighbours(guard)) all.push_back(n);
  for (size_t i : all) {
    SymbolTable table = TableFor(condition, false);
    const SymbolTable theirs = TableFor(guards_[i].condition, false);
    for (const SymbolInfo& info : theirs.symbols()) table.Declare(info);
    table.Assume(guards_[i].condition);
    if (table.Prove(condition) == Proof::kYes) return {i};
  }
  if (TableFor(condition, true).Prove(condition) == Proof::kYes) return facts;
  return all;
}

GuardSet Minimizer::Collect() {
  std::vector<size_t> order(guards_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return guards_[a].cost < guards_[b].cost; });
  GuardSet set;
  std::vector<int> place(guards_.size(), -1);
  for (size_t i : order) {
    if (!needed_[i]) continue;
    place[i] = static_cast<int>(set.needed.size());
    set.needed.push_back(guards_[i]);
  }
  for (size_t i : order) {
    if (needed_[i]) continue;
    SizeGuard guard = guards_[i];
    for (size_t n : CoverOf(i)) guard.covered_by.push_back(place[n]);
    std::sort(guard.covered_by.begin(), guard.covered_by.end());
    set.implied.push_back(std::move(guard));
  }
  return set;
}

}  // namespace

GuardSet MinimizeGuards(const SymbolTable& facts) { return Minimizer(facts).Run(); }

std::string GuardSet::ToString(const SymbolSources& sources) const {
  std::string text;
  for (size_t i = 0; i < needed.size(); ++i) {
    const SizeGuard& guard = needed[i];
    std::vector<std::string> reads;
    ForEachSymbol(guard.condition, [&](SymInt symbol) {
      reads.push_back(absl::StrCat(symbol.ToString(), " is ", sources.Describe(symbol)));
    });
    absl::StrAppend(&text, "  ", i, guard.on_data ? " assert " : " guard ",
                    guard.condition.ToString(), "  (",
                    guard.origin.empty() ? "assumed" : guard.origin, ")\n      ",
                    absl::StrJoin(reads, "; "), "\n");
  }
  for (const SizeGuard& guard : implied) {
    absl::StrAppend(&text, "  implied ", guard.condition.ToString(), "  (",
                    guard.origin.empty() ? "assumed" : guard.origin, ") by ",
                    absl::StrJoin(guard.covered_by, ", "), "\n");
  }
  return text;
}

}  // namespace weft
