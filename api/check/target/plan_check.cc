#include "api/check/target/plan_check.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "api/check/target/region_runs.h"
#include "api/check/target/snapshot.h"
#include "api/check/target/step_records.h"
#include "api/check/target/step_text.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Operands of a concatenation are written directly into its result by their own steps.
bool IsConcat(const Node& node) { return node.Is(ops::cat) || node.Is(ops::stack); }

// True for a node for which lowering makes no step.
bool IsDead(const Node& node) {
  return node.op().is_pure() && !node.op().has(kDataDependent) && !node.has_uses();
}

// The target's result, as it is now. For a constant this is the module's tensor, not a copy, if the
// target has the same bits elsewhere.
HostTensor Kept(const Value& result, const HostTensor& seen) {
  const HostTensor* literal = LiteralOf(&result);
  const bool own = literal != nullptr && literal->raw() != seen.raw();
  return own && seen.BitEqual(*literal) ? *literal : Snapshot(seen);
}

// JudgeNode, or Judge() by the runs of nested graphs if there were any. If the reference runs out
// of memory here or for an operand, later nodes are judged on the target's values.
absl::StatusOr<NodeJudgement> JudgeOrGiveUp(const Node& node, absl::Span<const HostTensor> operands,
                                            const SymbolEnv& env, absl::Span<const HostTensor> got,
                                            const RegionRuns& runs, const JudgeOptions& options,
                                            int64_t* given_up) {
  bool known = runs.complete();
  for (int i = 0; i < node.num_operands(); ++i) {
    known = known && (!node.has_operand(i) || operands[i].valid());
  }
  if (known) {
    auto judged = runs.empty() ? JudgeNode(node, operands, env, got, options)
                               : runs.Judge(node, operands, env, got);
    if (!absl::IsResourceExhausted(judged.status())) return judged;
  }
  ++*given_up;
  NodeJudgement none;
  none.want.assign(got.begin(), got.end());
  return none;
}

}  // namespace

// Properties of a plan that all its runs share.
struct PlanCheck::PlanIndex {
  const Graph* graph = nullptr;
  std::vector<const Node*> nodes;        // By step; null for copies to outputs.
  std::vector<const View*> places;       // By value id; null: none.
  std::vector<int> steps;                // By node id: number of its steps.
  std::vector<int> operands;             // By node id: number of operands that it waits for.
  std::vector<int> uses;                 // By value id: uses by nodes that are not dead.
  std::vector<std::vector<int>> writes;  // By node id: buffers written by its steps.
};

struct PlanCheck::Frame {
  const Plan* plan = nullptr;
  const PlanIndex* index = nullptr;
  const SymbolEnv* env = nullptr;
  std::vector<int> steps_left;
  std::vector<int> operands_left;
  std::vector<int> uses_left;
  // By value id: the target's values; which of them are complete, and which are judged.
  std::vector<HostTensor> values;
  std::vector<bool> complete;
  std::vector<const Node*> done;      // Nodes that are ready to be judged.
  int running = -1;                   // The running step.
  int last = -1;                      // The step that ran last.
  std::vector<double> operand_error;  // By node id: the largest of its routines.
  std::vector<std::string> routines;  // By step.
  // By node id, for nodes with several steps.
  absl::flat_hash_map<uint32_t, StepRecords> records;
  // By node id, for nodes with nested plans.
  absl::flat_hash_map<uint32_t, RegionRuns> runs;
};

PlanCheck::PlanCheck(const Graph& main) : main_(main) {}
PlanCheck::~PlanCheck() = default;

const PlanCheck::PlanIndex& PlanCheck::IndexOf(const Plan& plan, const Graph& graph) {
  std::unique_ptr<PlanIndex>& slot = indices_[&plan];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<PlanIndex>();
  PlanIndex& index = *slot;
  index.graph = &graph;
  index.steps.resize(graph.node_id_limit());
  index.operands.resize(graph.node_id_limit());
  index.writes.resize(graph.node_id_limit());
  index.places.resize(graph.value_id_limit());
  index.uses.resize(graph.value_id_limit());
  absl::flat_hash_set<int> with_values;
  for (const PlacedValue& placed : plan.values) {
    index.places[placed.value] = &placed.view;
    with_values.insert(placed.view.buffer);
  }
  std::vector<const Node*> by_id(graph.node_id_limit());
  for (const Node* node : graph.nodes()) {
    by_id[node->id()] = node;
    if (IsDead(*node)) continue;
    for (int i = 0; i < node->num_operands(); ++i) {
      if (!node->has_operand(i)) continue;
      ++index.operands[node->id()];
      ++index.uses[node->operand(i)->id()];
    }
    // A node also waits for the definitions of its data-dependent sizes.
    index.operands[node->id()] += node->num_symbol_operands();
    for (int i = 0; i < node->num_symbol_operands(); ++i) {
      ++index.uses[node->symbol_operand(i)->id()];
    }
  }
  for (const Value* output : graph.outputs()) ++index.uses[output->id()];
  for (const Step& step : plan.steps) {
    // An output that is a copy of a value has a buffer without a value of its own.
    const bool output = step.kind == StepKind::kCopy && step.results[0].present() &&
                        plan.buffers[step.results[0].buffer].kind == BufferKind::kOutput &&
                        !with_values.contains(step.results[0].buffer);
    index.nodes.push_back(output ? nullptr : by_id[step.node]);
    if (index.nodes.back() == nullptr) continue;
    ++index.steps[step.node];
    for (const View& result : step.results) {
      if (result.present()) index.writes[step.node].push_back(result.buffer);
    }
  }
  return index;
}

absl::Status PlanCheck::BeginRun(const Plan& plan, absl::Span<const HostTensor> inputs,
                                 const SymbolEnv& env) {
  const Graph* graph = &main_;
  if (!frames_.empty()) {
    const Step& step = frame().plan->steps[frame().running];
    const Node* node = frame().index->nodes[frame().running];
    for (size_t r = 0; r < step.regions.size(); ++r) {
      if (step.regions[r].get() != &plan) continue;
      graph = node->region(static_cast<int>(r));
      frame().runs[node->id()].Begin(static_cast<int>(r), inputs);
    }
  }
  auto made = std::make_unique<Frame>();
  made->plan = &plan;
  made->index = &IndexOf(plan, *graph);
  made->env = &env;
  made->routines.resize(plan.steps.size());
  made->operand_error.resize(graph->node_id_limit());
  made->steps_left = made->index->steps;
  made->operands_left = made->index->operands;
  made->uses_left = made->index->uses;
  made->values.resize(graph->value_id_limit());
  made->complete.resize(graph->value_id_limit());
  Frame& frame = *made;
  frames_.push_back(std::move(made));
  for (const Node* node : graph->nodes()) {
    const bool ready = frame.steps_left[node->id()] == 0 && frame.operands_left[node->id()] == 0;
    if (ready && !IsDead(*node)) frame.done.push_back(node);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    frame.values[graph->input(static_cast<int>(i))->id()] = inputs[i];
    Complete(frame, graph->input(static_cast<int>(i)));
  }
  return absl::OkStatus();
}

absl::Status PlanCheck::BeforeStep(const ObservedStep& step) {
  frame().env = &step.env;
  frame().running = step.index;
  const Node* node = frame().index->nodes[step.index];
  if (node != nullptr) {
    double& error = frame().operand_error[node->id()];
    error = std::max(error, step.operand_error);
  }
  frame().routines[step.index] = step.routine;
  WEFT_RETURN_IF_ERROR(Drain(&step));
  WEFT_RETURN_IF_ERROR(CheckOperands(step));
  if (node != nullptr && frame().index->steps[node->id()] > 1) {
    frame().records[node->id()].BeforeStep(step);
  }
  return absl::OkStatus();
}

// The operands of a step must be unchanged since they were judged.
absl::Status PlanCheck::CheckOperands(const ObservedStep& step) {
  const Node* node = frame().index->nodes[step.index];
  if (node == nullptr) return absl::OkStatus();
  absl::flat_hash_set<int> read;
  for (const View& view : step.plan.steps[step.index].args) {
    if (view.present()) read.insert(view.buffer);
  }
  for (int i = 0; i < node->num_operands(); ++i) {
    const Value* value = node->operand(i);
    const View* place = value == nullptr ? nullptr : frame().index->places[value->id()];
    if (place == nullptr || !frame().complete[value->id()] || !read.contains(place->buffer)) {
      continue;
    }
    const HostTensor& then = frame().values[value->id()];
    auto now = step.read(*place);
    if (!now.ok() || !then.valid() || now->BitEqual(then)) continue;
    return Differs(&step, node,
                   absl::StrCat("operand ", i, " has changed since it was computed: ",
                                "another step wrote over it, or its place was given away"),
                   kInfinity);
  }
  return absl::OkStatus();
}

absl::Status PlanCheck::AfterStep(const ObservedStep& step) {
  Frame& f = frame();
  f.env = &step.env;
  f.running = -1;
  f.last = step.index;
  ++stats_.steps;
  const Node* node = f.index->nodes[step.index];
  const absl::Status memory = step.check_memory();
  if (!memory.ok()) return Differs(&step, node, std::string(memory.message()), kInfinity);
  if (node != nullptr && f.index->steps[node->id()] > 1) f.records[node->id()].AfterStep(step);
  if (node == nullptr || --f.steps_left[node->id()] > 0) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(TakeResults(*node, step, /*own=*/true));
  if (f.operands_left[node->id()] > 0) return absl::OkStatus();
  f.done.push_back(node);
  return Drain(&step);
}

absl::Status PlanCheck::TakeResults(const Node& node, const ObservedStep& step, bool own) {
  Frame& f = frame();
  const std::vector<int>& writes = f.index->writes[node.id()];
  for (int r = 0; r < node.num_results(); ++r) {
    const uint32_t id = node.result(r)->id();
    const View* place = f.index->places[id];
    if (place == nullptr || f.values[id].valid()) continue;
    const bool written = std::find(writes.begin(), writes.end(), place->buffer) != writes.end();
    if (own && (!written || IsConcat(node))) continue;
    auto seen = step.read(*place);
    if (!seen.ok()) {
      return Differs(&step, &node,
                     absl::StrCat("result ", r, " has no memory: ", seen.status().message()),
                     kInfinity);
    }
    f.values[id] = Kept(*node.result(r), *seen);
  }
  return absl::OkStatus();
}

void PlanCheck::Complete(Frame& f, const Value* value) {
  f.complete[value->id()] = true;
  for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
    const Node* user = use->user();
    if (user == f.index->graph->return_node() || IsDead(*user)) continue;
    if (--f.operands_left[user->id()] == 0 && f.steps_left[user->id()] == 0) {
      f.done.push_back(user);
    }
  }
}

absl::Status PlanCheck::Drain(const ObservedStep* step) {
  Frame& f = frame();
  while (!f.done.empty()) {
    const Node* node = f.done.back();
    f.done.pop_back();
    WEFT_RETURN_IF_ERROR(Finish(*node, step));
  }
  return absl::OkStatus();
}

absl::Status PlanCheck::Finish(const Node& node, const ObservedStep* step) {
  Frame& f = frame();
  if (step != nullptr) WEFT_RETURN_IF_ERROR(TakeResults(node, *step, /*own=*/false));
  std::vector<HostTensor> operands(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.has_operand(i)) operands[i] = f.values[node.operand(i)->id()];
  }
  std::vector<HostTensor> got;
  for (int r = 0; r < node.num_results(); ++r) got.push_back(f.values[node.result(r)->id()]);
  JudgeOptions options;
  options.operand_error = f.operand_error[node.id()];
  auto judged =
      JudgeOrGiveUp(node, operands, *f.env, got, f.runs[node.id()], options, &stats_.unjudged);
  if (!judged.ok()) {
    return Differs(step, &node,
                   absl::StrCat("the reference refuses the operands: ", judged.status().message()),
                   kInfinity);
  }
  ++stats_.nodes;
  if (!judged->same) return Differs(step, &node, judged->difference, judged->excess);
  f.records.erase(node.id());
  f.runs.erase(node.id());
  for (int r = 0; r < node.num_results(); ++r) {
    const Value* result = node.result(r);
    stats_.values += got[r].valid();
    stats_.elements += got[r].valid() ? got[r].numel() : 0;
    if (!got[r].valid()) f.values[result->id()] = judged->want[r];
    Complete(f, result);
    if (f.uses_left[result->id()] == 0) f.values[result->id()] = HostTensor();
  }
  const int n = node.num_operands();
  for (int i = 0; i < n + node.num_symbol_operands(); ++i) {
    const Value* operand = i < n ? node.operand(i) : node.symbol_operand(i - n);
    if (operand == nullptr) continue;
    if (--f.uses_left[operand->id()] == 0) f.values[operand->id()] = HostTensor();
  }
  return absl::OkStatus();
}

absl::Status PlanCheck::EndRun(const Plan& plan, absl::Span<const HostTensor> outputs) {
  WEFT_RETURN_IF_ERROR(Drain(nullptr));
  Frame& f = frame();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value* value = f.index->graph->output(static_cast<int>(i));
    const HostTensor& want = f.values[value->id()];
    if (!f.complete[value->id()] || !want.valid() || !outputs[i].valid()) continue;
    if (outputs[i].BitEqual(want)) continue;
    return Differs(nullptr, value->node(),
                   absl::StrCat("output ", i, " of @", plan.name, " is not what its step computed"),
                   kInfinity);
  }
  frames_.pop_back();
  if (frames_.empty()) return absl::OkStatus();
  const Node* node = frame().index->nodes[frame().running];
  frame().runs[node->id()].End(outputs);
  return absl::OkStatus();
}

absl::Status PlanCheck::Differs(const ObservedStep* step, const Node* node, std::string what,
                                double excess) {
  if (difference_) return absl::AbortedError(difference_->difference);
  const Frame& f = frame();
  // For a view, which has no step, the last step that ran.
  const bool own = step != nullptr && f.index->nodes[step->index] == node;
  int index = own ? step->index : -1;
  const auto records = node == nullptr ? f.records.end() : f.records.find(node->id());
  if (records != f.records.end() && f.steps_left[node->id()] == 0) {
    const int wrong = records->second.FirstWrong();
    if (wrong >= 0) index = wrong;
  }
  Describe(index, node, std::move(what), excess);
  return absl::AbortedError(difference_->difference);
}

void PlanCheck::Describe(int step, const Node* node, std::string what, double excess) {
  const Frame& f = frame();
  const Frame& outer = *frames_.front();
  StepDifference d;
  d.node = frames_.size() == 1 ? node : outer.index->nodes[outer.running];
  d.difference = std::move(what);
  d.excess = excess;
  if (step >= 0) d.routine = f.routines[step];
  DescribeStep(*f.plan, step, f.env, node, &d);
  difference_ = std::move(d);
}

void PlanCheck::RunFailed(const absl::Status& status) {
  if (difference_ || frames_.empty() || frame().running < 0) return;
  const Frame& f = frame();
  const Node* node = f.index->nodes[f.running];
  // Facts about sizes that a data-dependent node defines belong to the graph, not to the node.
  if (node == nullptr || node->op().has(kDataDependent)) return;
  std::vector<HostTensor> operands(node->num_operands());
  for (int i = 0; i < node->num_operands(); ++i) {
    if (node->has_operand(i)) operands[i] = f.values[node->operand(i)->id()];
    if (node->has_operand(i) && !operands[i].valid()) return;
  }
  if (!reference::RunNode(*node, operands, *f.env).ok()) return;
  Describe(f.running, node,
           absl::StrCat("the target refuses what the reference takes: ", status.message()),
           kInfinity);
}

void PlanCheck::Reset() {
  frames_.clear();
  difference_.reset();
}

}  // namespace weft
