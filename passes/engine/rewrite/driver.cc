// State is kept in flat arrays by node id: whether a node is on the worklist, and the position of
// the sweep when it was visited or made. Positions order nodes: nodes made before a root have the
// root's position, so a node with a smaller position is before it.
#include "passes/engine/rewrite/driver.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_fold.h"
#include "passes/engine/rewrite/matcher.h"
#include "passes/engine/rewrite/near_misses.h"
#include "passes/engine/rewrite/replacement.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/engine/rewrite/rule_index.h"

namespace weft {
namespace {

class GraphDriver : public RewriteListener {
 public:
  GraphDriver(Graph& graph, PassContext& context, RuleIndex* index, std::vector<int64_t>* fired,
              Match* match, NearMisses* near_misses)
      : graph_(graph),
        context_(context),
        index_(*index),
        fired_(*fired),
        match_(*match),
        near_misses_(near_misses),
        rewriter_(&graph, this),
        first_new_id_(graph.node_id_limit()) {}

  // False: the cap was hit.
  absl::StatusOr<bool> Run(int64_t max_rewrites);
  // Visits only the neighbourhood of `touched`.
  absl::StatusOr<bool> RunOn(absl::Span<Node* const> touched, int64_t max_rewrites);
  // True unless a limit of the context stopped the run.
  bool finished() const { return !stopped_; }
  // Nodes that rules were tried on.
  int64_t visits() const { return visits_; }
  // The rules and folds among the last rewrites.
  std::string Recent() const;

  void Created(Node* node) override;
  void Erasing(Node* node) override;
  bool IsBefore(const Node& node, const Node& root) override;

 private:
  struct State {
    uint32_t queued = kUnvisited;  // kVisited, or the place in queue_ + 2.
    uint32_t position = 0;
  };
  static constexpr uint32_t kUnvisited = 0;
  static constexpr uint32_t kVisited = 1;
  static constexpr int kRecent = 64;

  // Nodes that a sparse run has not met count as visited.
  State& StateOf(const Node& node) {
    if (!sparse_) return states_[node.id()];
    return sparse_states_.try_emplace(node.id(), State{kVisited, 0}).first->second;
  }
  absl::StatusOr<bool> EmptyQueue(int64_t max_rewrites);
  absl::Status Visit(Node* node);
  absl::StatusOr<bool> TryFold(Node* node, RuleIndex::Entry& entry);
  absl::Status Apply(Node* node, int rule);
  absl::Status Finish(Node* node, Value* value, absl::string_view name);
  void Record(int rule, const Node& node);
  void FinishRemark(const Value& value);
  void Push(Node* node);
  void PushUsers(const Value* value, int depth);

  Graph& graph_;
  PassContext& context_;
  RuleIndex& index_;
  std::vector<int64_t>& fired_;
  Match& match_;
  NearMisses* near_misses_;  // Null unless requested.
  Rewriter rewriter_;
  uint32_t first_new_id_;
  std::vector<State> states_;
  bool sparse_ = false;
  absl::flat_hash_map<uint32_t, State> sparse_states_;
  std::vector<Node*> queue_;  // Null for erased nodes.
  size_t head_ = 0;
  uint32_t position_ = 0;       // Position of the sweep.
  uint32_t root_position_ = 0;  // Position of the present root.
  int64_t num_rewrites_ = 0;
  int64_t visits_ = 0;
  bool stopped_ = false;  // The context's limit is reached.
  Node::ArgStorage storage_;
  std::vector<int> recent_;  // The last rules; -1 for a fold.
  Remark remark_;            // Remark of the present rewrite, if remarks are collected.
};

absl::StatusOr<bool> GraphDriver::Run(int64_t max_rewrites) {
  states_.resize(graph_.node_id_limit());
  Node* next = nullptr;
  for (Node* node = graph_.first_node(); node != graph_.return_node(); node = next) {
    next = node->next();
    StateOf(*node) = {kVisited, ++position_};
    WEFT_RETURN_IF_ERROR(Visit(node));
    absl::StatusOr<bool> emptied = EmptyQueue(max_rewrites);
    if (!emptied.ok() || !*emptied) return emptied;
    if (stopped_) break;
  }
  return true;
}

absl::StatusOr<bool> GraphDriver::RunOn(absl::Span<Node* const> touched, int64_t max_rewrites) {
  sparse_ = true;
  for (Node* node : touched) {
    Push(node);
    for (int i = 0; i < node->num_results(); ++i) {
      PushUsers(node->result(i), index_.depth());
    }
  }
  return EmptyQueue(max_rewrites);
}

absl::StatusOr<bool> GraphDriver::EmptyQueue(int64_t max_rewrites) {
  while (head_ < queue_.size() && !stopped_) {
    if (num_rewrites_ > max_rewrites) return false;
    Node* queued = queue_[head_++];
    if (queued == nullptr) continue;
    StateOf(*queued).queued = kVisited;
    WEFT_RETURN_IF_ERROR(Visit(queued));
  }
  queue_.clear();
  head_ = 0;
  return true;
}

absl::Status GraphDriver::Visit(Node* node) {
  RuleIndex::Entry& entry = index_.ForOp(node->op());
  if (entry.empty() || stopped_ || !node->has_uses()) return absl::OkStatus();
  if (!context_.Spend()) {
    stopped_ = true;
    return absl::OkStatus();
  }
  ++visits_;
  root_position_ = StateOf(*node).position;
  if (entry.fold != nullptr && node->num_results() == 1) {
    absl::StatusOr<bool> folded = TryFold(node, entry);
    if (!folded.ok() || *folded) return folded.status();
  }
  if (near_misses_ != nullptr) near_misses_->Look(index_, entry, *node);
  for (const auto& [rule, flips] : index_.Candidates(entry, *node)) {
    if (MatchRule(index_.rule(rule), flips, *node, match_)) {
      return Apply(node, rule);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> GraphDriver::TryFold(Node* node, RuleIndex::Entry& entry) {
  Folded folded = entry.fold(node->Args(&storage_));
  if (!folded) return false;
  if (!context_.StartRewrite({NumericContract::kBitExact, "fold", node->op().name()})) {
    stopped_ = true;
    return true;
  }
  ++entry.folds;
  Record(-1, *node);
  rewriter_.Begin(node, "fold", context_.num_rewrites());
  Value* value = folded.value ? folded.value : rewriter_.Constant(*folded.literal);
  WEFT_RETURN_IF_ERROR(Finish(node, value, "fold"));
  return true;
}

absl::Status GraphDriver::Apply(Node* node, int rule_index) {
  const Rule& rule = index_.rule(rule_index);
  if (!context_.StartRewrite({rule.contract, rule.name})) {
    stopped_ = true;
    return absl::OkStatus();
  }
  ++fired_[rule_index];
  Record(rule_index, *node);
  rewriter_.Begin(node, rule.name, context_.num_rewrites());
  return Finish(node, BuildReplacement(match_, rewriter_), rule.name);
}

absl::Status GraphDriver::Finish(Node* node, Value* value, absl::string_view name) {
  absl::Status status = rewriter_.status();
  if (status.ok() && value == nullptr) {
    status = absl::InternalError("nothing was built");
  }
  if (status.ok()) {
    PushUsers(node->result(), index_.depth());
    status = rewriter_.ReplaceRoot({&value, 1});
  }
  if (status.ok()) {
    if (context_.wants_remarks()) FinishRemark(*value);
    return status;
  }
  rewriter_.Abandon();
  return absl::InternalError(absl::StrCat("rule ", name, " on %", node->id(), " = ",
                                          node->op().name(), ": ", status.message()));
}

void GraphDriver::Record(int rule, const Node& node) {
  const int slot = static_cast<int>(num_rewrites_++ % kRecent);
  if (slot >= static_cast<int>(recent_.size())) recent_.resize(slot + 1);
  recent_[slot] = rule;
  if (!context_.wants_remarks()) return;
  remark_ = RemarkOn(node, RemarkKind::kPassed, rule < 0 ? "folded" : index_.rule(rule).identity);
  remark_.rule = rule < 0 ? absl::StrCat("fold.", node.op().name()) : index_.rule(rule).name;
  remark_.contract = std::string(
      NumericContractName(rule < 0 ? NumericContract::kBitExact : index_.rule(rule).contract));
  remark_.args = {{"rewrite", absl::StrCat(context_.num_rewrites())}};
}

// Sets the related nodes: those that the rewrite made, or the node of the replacing value.
void GraphDriver::FinishRemark(const Value& value) {
  for (const Node* made : rewriter_.created()) {
    if (made != nullptr) remark_.related.push_back(made->id());
  }
  if (remark_.related.empty() && value.node() != nullptr) {
    remark_.related.push_back(value.node()->id());
  }
  context_.AddRemark(std::move(remark_));
}

std::string GraphDriver::Recent() const {
  std::vector<int> rules = recent_;
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  std::vector<std::string> names;
  for (int rule : rules) {
    names.push_back(rule < 0 ? "fold" : index_.rule(rule).name);
  }
  return absl::StrJoin(names, ", ");
}

// Nodes ahead of the sweep are met anyway.
void GraphDriver::Push(Node* node) {
  State& state = StateOf(*node);
  if (state.queued != kVisited) return;
  queue_.push_back(node);
  state.queued = static_cast<uint32_t>(queue_.size() + 1);
}

void GraphDriver::PushUsers(const Value* value, int depth) {
  for (Use* use = value->first_use(); use != nullptr; use = use->next()) {
    Node* user = use->user();
    if (StateOf(*user).queued == kUnvisited) continue;
    Push(user);
    if (depth <= 1) continue;
    for (int i = 0; i < user->num_results(); ++i) {
      PushUsers(user->result(i), depth - 1);
    }
  }
}

void GraphDriver::Created(Node* node) {
  if (!sparse_) states_.resize(node->id() + 1);
  StateOf(*node) = {kVisited, root_position_};
  Push(node);
}

void GraphDriver::Erasing(Node* node) {
  State& state = StateOf(*node);
  if (state.queued > kVisited) queue_[state.queued - 2] = nullptr;
  state.queued = kUnvisited;  // Not to be queued again.
  const int n = node->num_operands();
  for (int i = 0; i < n; ++i) {
    Value* v = node->operand(i);
    if (v == nullptr) continue;
    // Some rules require a value with one use, which it may have now.
    const Use* use = v->first_use();
    if (use == nullptr || use->next() == nullptr || use->next()->next() != nullptr) {
      continue;
    }
    if (v->node() != nullptr) Push(v->node());
    PushUsers(v, index_.depth());
  }
}

bool GraphDriver::IsBefore(const Node& node, const Node& root) {
  if (sparse_) return false;  // Positions are not known.
  const uint32_t a = StateOf(node).position;
  const uint32_t b = StateOf(root).position;
  // A node with the position of a swept node was made before it.
  return a < b || (a == b && root.id() < first_new_id_);
}

// State of one call of ApplyRules.
class RulesRun {
 public:
  RulesRun(Module& module, PassContext& context, absl::Span<const absl::Span<const Rule>> themes,
           const RewriteOptions& options)
      : module_(module),
        context_(context),
        options_(options),
        index_(themes, context, options.fold),
        fired_(index_.num_rules()),
        reader_(absl::StrCat("rules.", absl::Hex(index_.fingerprint()))) {
    if (!context.options().near_misses.empty()) {
      near_misses_.emplace(context.options().near_misses);
    }
  }

  absl::Status Run() {
    std::vector<Graph*> graphs;
    for (const auto& function : module_.functions()) {
      graphs.push_back(function.get());
    }
    for (size_t i = 0; i < graphs.size(); ++i) {
      WEFT_RETURN_IF_ERROR(RunOnGraph(*graphs[i]));
      AppendNested(*graphs[i], &graphs);
    }
    Count();
    if (near_misses_) near_misses_->Report(index_, context_);
    return absl::OkStatus();
  }

 private:
  static void AppendNested(const Graph& graph, std::vector<Graph*>* graphs) {
    if (graph.num_region_nodes() == 0) return;
    for (Node* node : graph.nodes()) {
      for (int i = 0; i < node->num_regions(); ++i) {
        graphs->push_back(node->region(i));
      }
    }
  }

  absl::Status RunOnGraph(Graph& graph) {
    std::optional<std::vector<Node*>> touched;
    // Near misses are of the whole graph.
    if (!near_misses_) touched = graph.TouchedSince(reader_);
    if (touched && touched->empty()) return absl::OkStatus();
    GraphDriver driver(graph, context_, &index_, &fired_, &match_,
                       near_misses_ ? &*near_misses_ : nullptr);
    const int64_t cap = graph.num_nodes() * options_.rewrites_per_node + options_.extra_rewrites;
    absl::StatusOr<bool> done = touched ? driver.RunOn(*touched, cap) : driver.Run(cap);
    visits_ += driver.visits();
    WEFT_RETURN_IF_ERROR(done.status());
    if (*done && driver.finished()) graph.MarkClean(reader_);
    if (*done) return absl::OkStatus();
    return context_.ReportDivergence(
        absl::StrCat("no end after ", cap, " rewrites in @", graph.name(),
                     "; rules that still fire: ", driver.Recent()),
        "a rule among these must go or go downhill");
  }

  void Count() {
    if (visits_ > 0) context_.Count("visits", visits_);
    for (int i = 0; i < index_.num_rules(); ++i) {
      if (fired_[i] == 0) continue;
      context_.Count(absl::StrCat("rule.", index_.rule(i).name), fired_[i]);
      context_.Count("rewrites", fired_[i]);
    }
    for (const auto& entry : index_.entries()) {
      if (entry->folds == 0) continue;
      context_.Count(absl::StrCat("fold.", entry->op->name()), entry->folds);
      context_.Count("rewrites", entry->folds);
    }
  }

  Module& module_;
  PassContext& context_;
  const RewriteOptions& options_;
  RuleIndex index_;
  std::vector<int64_t> fired_;
  Match match_;
  std::optional<NearMisses> near_misses_;
  std::string reader_;  // Names the rules in the graphs' marks.
  int64_t visits_ = 0;
};

}  // namespace

absl::Status ApplyRules(Module& module, PassContext& context,
                        absl::Span<const absl::Span<const Rule>> themes,
                        const RewriteOptions& options) {
  return RulesRun(module, context, themes, options).Run();
}

}  // namespace weft
