// One PipelineRun executes a pipeline on a module. A pass in a fixpoint is skipped if nothing has
// changed since its last run, because a pass that runs twice in a row changes nothing the second
// time (pass.h); so the last round of a fixpoint is almost free. A fixpoint that returns to an
// earlier graph ends there: passes are deterministic, so it would cycle forever.
//
// Graphs record which passes have nothing to do on them (Graph::MarkClean), so a pipeline that runs
// again on its own result does nothing.
#include "passes/engine/pass_manager.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/origin.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "passes/engine/logs.h"
#include "passes/engine/pass_manager/fixpoint_watch.h"
#include "passes/engine/pass_manager/memory.h"
#include "profiler/record.h"

namespace weft {
namespace {

LogArtifact pass_graphs_log("pass_graphs", "the module after each pass that changed it");

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The state by which an edited module differs from an unchanged one: epochs of graphs, by index in
// AllGraphs().
struct ModuleState {
  std::vector<uint64_t> epochs;
  int64_t nodes = 0;
};

ModuleState Measure(const Module& module) {
  ModuleState state;
  for (const Graph* graph : module.AllGraphs()) {
    state.epochs.push_back(graph->epoch());
    state.nodes += graph->num_nodes();
  }
  return state;
}

using OpCounts = absl::flat_hash_map<const OpDef*, int64_t>;

OpCounts CountOps(const Module& module) {
  OpCounts counts;
  for (const Graph* graph : module.AllGraphs()) {
    const OpDef* op = nullptr;
    int64_t* count = nullptr;
    for (const Node* node : graph->nodes()) {
      if (&node->op() != op) {
        op = &node->op();
        count = &counts[op];
      }
      ++*count;
    }
  }
  return counts;
}

std::vector<PassReport::OpCount> Difference(const OpCounts& before, const OpCounts& after) {
  std::map<absl::string_view, std::pair<int64_t, int64_t>> by_name;
  for (const auto& [op, n] : before) by_name[op->name()].first = n;
  for (const auto& [op, n] : after) by_name[op->name()].second = n;
  std::vector<PassReport::OpCount> changed;
  for (const auto& [name, counts] : by_name) {
    if (counts.first == counts.second) continue;
    changed.push_back({std::string(name), counts.first, counts.second});
  }
  return changed;
}

class PipelineRun {
 public:
  PipelineRun(const PassManagerOptions& options, Module& module, PassContext& context,
              PipelineReport* report)
      : options_(options), module_(module), context_(context), report_(report) {
    state_ = Measure(module_);
  }

  // Recursion is as deep as the pipeline's nesting.
  absl::Status RunSteps(const std::vector<Pipeline::Step>& steps, const std::string& prefix) {
    const int64_t version = version_;
    for (const Pipeline::Step& step : steps) {
      absl::Status status;
      if (step.pass != nullptr) {
        status = RunPass(*step.pass, absl::StrCat(prefix, step.pass->name()));
      } else if (step.condition) {
        status = RunIf(step, prefix, version_ != version);
      } else {
        status = RunFixpoint(step, prefix);
      }
      WEFT_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunGroup(std::string name, const std::vector<Pipeline::Step>& steps,
                        const std::string& prefix) {
    const size_t group = BeginGroup(std::move(name));
    absl::Status status = RunSteps(steps, prefix);
    EndGroup(group);
    return status;
  }
  size_t BeginGroup(std::string name) {
    const int now = static_cast<int>(report_->passes.size());
    report_->groups.push_back({std::move(name), depth_++, now, now});
    return report_->groups.size() - 1;
  }
  void EndGroup(size_t group) {
    report_->groups[group].end_pass = static_cast<int>(report_->passes.size());
    --depth_;
  }

  absl::Status RunIf(const Pipeline::Step& step, const std::string& prefix, bool changed) {
    const std::string name = absl::StrCat("if(", step.condition->ToString(), ")");
    absl::StatusOr<bool> holds = Holds(*step.condition, changed);
    if (!holds.ok()) return Annotate(holds.status(), absl::StrCat(prefix, name));
    if (*holds) return RunGroup(name, step.steps, absl::StrCat(prefix, "if."));
    EndGroup(BeginGroup(name));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Holds(const Pipeline::Condition& condition, bool changed) const {
    using Kind = Pipeline::Condition::Kind;
    bool holds = changed;
    if (condition.kind == Kind::kNodesBelow) holds = state_.nodes < condition.nodes;
    if (condition.kind == Kind::kHasOp) {
      const OpDef* op = module_.registry().Find(condition.op);
      if (op == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("no op is called \"", condition.op, "\""));
      }
      holds = HasOp(*op);
    }
    return holds != condition.negated;
  }
  bool HasOp(const OpDef& op) const {
    for (const Graph* graph : module_.AllGraphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->Is(op)) return true;
      }
    }
    return false;
  }

  absl::Status RunFixpoint(const Pipeline::Step& step, const std::string& prefix) {
    const PassHooks& hooks = options_.hooks;
    if (hooks.before_fixpoint) {
      hooks.before_fixpoint(absl::StrCat(prefix, "fixpoint"), StepToString(step), module_);
    }
    const size_t group = BeginGroup("fixpoint");
    absl::Status status = RunRounds(step, prefix);
    EndGroup(group);
    if (status.ok() && hooks.after_fixpoint) hooks.after_fixpoint();
    return status;
  }

  absl::Status RunRound(const Pipeline::Step& step, const std::string& prefix, int round) {
    return RunGroup(absl::StrCat("round ", round), step.steps,
                    absl::StrCat(prefix, "fixpoint.", round, "."));
  }

  absl::Status RunRounds(const Pipeline::Step& step, const std::string& prefix) {
    FixpointWatch watch;
    size_t first_of_round = 0;
    for (int round = 1; round <= step.max_rounds; ++round) {
      const int64_t version = version_;
      first_of_round = report_->passes.size();
      absl::Status status = RunRound(step, prefix, round);
      if (!status.ok() || version_ == version) return status;
      const int period = watch.EndRound(round, module_);
      if (period != 0) return ReportCycle(step, prefix, round, period);
    }
    context_.BeginPass(absl::StrCat(prefix, "fixpoint"));
    return context_.ReportDivergence(
        absl::StrCat("no fixpoint after ", step.max_rounds,
                     " rounds; in the last one: ", Firing(first_of_round)),
        absl::StrCat("fixpoint{max=", 2 * step.max_rounds, "} gives it twice as many"));
  }

  // Runs the cycle once more, and records the changes of each pass.
  absl::Status ReportCycle(const Pipeline::Step& step, const std::string& prefix, int round,
                           int period) {
    CycleTrace trace;
    CycleTrace* const outer = trace_;
    trace_ = &trace;
    absl::Status status;
    for (int i = 1; i <= period && status.ok(); ++i) {
      status = RunRound(step, prefix, round + i);
    }
    trace_ = outer;
    WEFT_RETURN_IF_ERROR(status);
    context_.BeginPass(absl::StrCat(prefix, "fixpoint"));
    return context_.ReportDivergence(
        absl::StrCat("no fixpoint: the graph after round ", round, " is the one after round ",
                     round - period, ", a cycle of ", period, period == 1 ? " round" : " rounds",
                     "; in it: ", trace.Firing()),
        "more rounds do not help; a rule among these must go or go downhill", trace.lines());
  }

  // The passes that changed something since row `first`, with their counters.
  std::string Firing(size_t first) const {
    std::vector<std::string> passes;
    for (size_t i = first; i < report_->passes.size(); ++i) {
      const PassReport& pass = report_->passes[i];
      if (pass.changed) passes.push_back(FiringText(pass));
    }
    return absl::StrJoin(passes, ", ");
  }

  absl::Status RunPass(Pass& pass, std::string path) {
    PassReport& report = report_->passes.emplace_back();
    report.path = std::move(path);
    report.pass = std::string(pass.name());
    report.text = PassToString(pass);
    report.index = static_cast<int>(report_->passes.size()) - 1;
    report.depth = depth_;
    report.nodes_before = report.nodes_after = state_.nodes;
    auto last = last_run_.find(&pass);
    const std::string reader = ReaderOf(report.text);
    const bool settled = last != last_run_.end() && last->second == version_;
    if (settled || (!reader.empty() && IsClean(reader))) {
      report.skipped = true;
      report.peak_bytes = peak_;
      return absl::OkStatus();
    }
    if (!pass.HandlesWrites() && module_.HasWrites()) {
      report.skipped = true;
      report.peak_bytes = peak_;
      RemarkOnWrites(pass);
      return absl::OkStatus();
    }
    const profiler::Scope scope(profiler::Activity::kCompilerPass, report.path);
    absl::Status status = RunAndCheck(pass, report);
    if (!status.ok()) return Annotate(status, report.path);
    LogRun(report);
    last_run_[&pass] = version_;
    if (!reader.empty()) MarkClean(reader);
    return absl::OkStatus();
  }

  void LogRun(const PassReport& report) const {
    const LogSeverity severity = report.changed ? LogSeverity::kInfo : LogSeverity::kDebug;
    if (passes_log.IsLogged(severity)) {
      std::string text =
          absl::StrFormat("%s: %d -> %d nodes, %.3f ms", report.path, report.nodes_before,
                          report.nodes_after, report.seconds * 1e3);
      for (const auto& [name, count] : report.counters) {
        absl::StrAppend(&text, ", ", name, " ", count);
      }
      Log(passes_log, severity, text);
    }
    if (report.changed && pass_graphs_log.IsLogged()) {
      Log(pass_graphs_log, absl::StrCat("// after ", report.path, "\n", PrintModule(module_)));
    }
  }

  void RemarkOnWrites(const Pass& pass) {
    if (!context_.wants_remarks()) return;
    context_.BeginPass(pass.name(), std::nullopt, pass.log());
    Remark remark;
    remark.kind = RemarkKind::kMissed;
    remark.reason = "not run: the module has writes, which functionalize would remove";
    context_.AddRemark(std::move(remark));
  }

  // The name of a pass in the graphs' marks. Empty if the context collects more than the resulting
  // graph, or limits the pass.
  std::string ReaderOf(const std::string& text) const {
    const PassContext::Options& options = context_.options();
    if (options.remarks || !options.near_misses.empty() || options.rules != nullptr ||
        options.rewrite_limit >= 0 || options.budget >= 0 || trace_ != nullptr) {
      return "";
    }
    // The text contains the contract that the pipeline admits.
    const absl::string_view admitted =
        options.admitted ? NumericContractName(*options.admitted) : "";
    return absl::StrCat("pass.", admitted, ".", text);
  }
  bool IsClean(const std::string& reader) const {
    for (const Graph* graph : module_.AllGraphs()) {
      if (!graph->IsClean(reader)) return false;
    }
    return true;
  }
  void MarkClean(const std::string& reader) {
    for (Graph* graph : module_.AllGraphs()) graph->MarkClean(reader);
  }

  absl::Status RunAndCheck(Pass& pass, PassReport& report) {
    const PassHooks& hooks = options_.hooks;
    if (options_.count_ops && !counted_) {
      counts_ = CountOps(module_);
      counted_ = true;
    }
    if (hooks.before_pass) {
      WEFT_RETURN_IF_ERROR(hooks.before_pass(report, module_));
    }
    std::unique_ptr<Module> before;
    if (hooks.keep_before || hooks.check_semantics || trace_ != nullptr) {
      before = module_.Clone();
    }
    WEFT_RETURN_IF_ERROR(RunTimed(pass, report));
    if (report.changed) {
      if (trace_ != nullptr) trace_->Add(report, *before, module_);
      WEFT_RETURN_IF_ERROR(Check(pass, before.get(), report));
    }
    if (!hooks.after_pass) return absl::OkStatus();
    return hooks.after_pass(report, before.get(), module_);
  }

  absl::Status RunTimed(Pass& pass, PassReport& report) {
    context_.BeginPass(pass.name(), pass.admit(), pass.log());
    module_.origins().BeginPass(pass.name());
    report.resident_before = ReadMemoryUse().resident;
    const Clock::time_point start = Clock::now();
    absl::Status status = pass.Run(module_, context_);
    report.seconds = SecondsSince(start);
    const MemoryUse memory = ReadMemoryUse();
    report.resident_after = memory.resident;
    report.peak_bytes = peak_ = memory.peak;
    module_.origins().EndPass();
    Record(report);
    if (!status.ok() || report.fired <= pass.max_contract()) return status;
    return absl::InternalError(absl::StrCat(
        "made a rewrite that is ", NumericContractName(report.fired), "; the pass declares up to ",
        NumericContractName(pass.max_contract()), " (Pass::max_contract)"));
  }

  // Records the results of the pass after its run.
  void Record(PassReport& report) {
    report.fired = context_.fired();
    report.work = context_.spent();
    report.counters.assign(context_.counters().begin(), context_.counters().end());
    ModuleState after = Measure(module_);
    report.nodes_after = after.nodes;
    report.changed = after.epochs != state_.epochs;
    state_ = std::move(after);
    if (!report.changed) return;
    ++version_;
    if (!options_.count_ops) return;
    OpCounts counts = CountOps(module_);
    report.op_counts = Difference(counts_, counts);
    counts_ = std::move(counts);
  }

  absl::Status Check(const Pass& pass, const Module* before, PassReport& report) {
    if (options_.verify) {
      const Clock::time_point start = Clock::now();
      absl::Status status = Verify(module_);
      report.verify_seconds = SecondsSince(start);
      WEFT_RETURN_IF_ERROR(status);
    }
    if (!options_.hooks.check_semantics || pass.ChangesInputs()) return absl::OkStatus();
    return options_.hooks.check_semantics(report, *before, module_);
  }

  const PassManagerOptions& options_;
  Module& module_;
  PassContext& context_;
  PipelineReport* report_;
  ModuleState state_;
  OpCounts counts_;
  bool counted_ = false;
  int depth_ = 0;                // Number of enclosing groups.
  int64_t peak_ = 0;             // Memory, so far.
  CycleTrace* trace_ = nullptr;  // For a fixpoint that cycles.
  int64_t version_ = 0;          // Number of passes that have changed the module.
  absl::flat_hash_map<const Pass*, int64_t> last_run_;  // Version after the last run.
};

}  // namespace

PassManager::PassManager(Pipeline pipeline, PassManagerOptions options)
    : pipeline_(std::move(pipeline)), options_(std::move(options)) {}

absl::Status PassManager::Run(Module& module, PassContext& context, PipelineReport* report) const {
  PipelineReport ignored;
  if (report == nullptr) report = &ignored;
  return PipelineRun(options_, module, context, report).RunSteps(pipeline_.steps(), "");
}

}  // namespace weft
