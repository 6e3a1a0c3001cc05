#include "api/inspect/graph_view.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/inspect/plan_view.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "profiler/read/read.h"
#include "serialize/html/html.h"
#include "serialize/html/model_explorer.h"
#include "serialize/html/module_view.h"
#include "serialize/html/trace_reader.h"

namespace weft {
namespace {

// The reason with the figures and the suggestion; other parts have separate fields.
std::string RemarkText(const Remark& remark) {
  std::string text = remark.op.empty() ? "" : absl::StrCat(remark.op, ": ");
  text += remark.reason;
  for (const auto& [name, value] : remark.args) absl::StrAppend(&text, ", ", name, "=", value);
  if (!remark.suggestion.empty()) absl::StrAppend(&text, "; ", remark.suggestion);
  return text;
}

}  // namespace

struct GraphRecorder::State {
  explicit State(std::string title) : builder(std::move(title)) {}

  absl::Status AfterPass(const PassReport& report, const Module& module,
                         const std::vector<Remark>& all) {
    if (report.changed) {
      const auto traced = pass_us.find(report.path);
      const double us = measures_passes           ? report.seconds * 1e6
                        : traced != pass_us.end() ? traced->second
                                                  : 0;
      WEFT_RETURN_IF_ERROR(builder.AddSnapshot(module, report.path, report.text, us));
    }
    for (; remarks < all.size(); ++remarks) AddRemark(report.path, all[remarks]);
    return absl::OkStatus();
  }

  void AddRemark(const std::string& path, const Remark& remark) {
    ModuleViewBuilder::RemarkText text;
    const std::string reason = RemarkText(remark);
    text.path = path;
    text.kind = RemarkKindName(remark.kind);
    text.rule = remark.rule;
    text.text = reason;
    text.function = remark.function;
    if (remark.node >= 0) text.nodes.push_back(remark.node);
    text.nodes.insert(text.nodes.end(), remark.related.begin(), remark.related.end());
    text.sources = remark.provenance;
    builder.AddRemark(text);
  }

  void AddSources(const Module& module) {
    absl::flat_hash_set<ProvenanceId> seen;
    for (const Graph* graph : module.AllGraphs()) {
      for (const Node* node : graph->nodes()) {
        if (!seen.insert(node->provenance()).second) continue;
        for (std::string& name : module.provenance().Names(node->provenance())) {
          sources.insert(std::move(name));
        }
      }
    }
  }

  ModuleViewBuilder builder;
  absl::flat_hash_set<std::string> sources;  // Names of the source nodes before the passes.
  size_t remarks = 0;                        // Number of remarks copied so far.
  bool measures_passes = false;
  absl::flat_hash_map<std::string, double> pass_us;  // Of the trace.
};

GraphRecorder::GraphRecorder(std::string title) : state_(std::make_unique<State>(title)) {}

GraphRecorder::~GraphRecorder() = default;

absl::Status GraphRecorder::Start(const Module& module) {
  state_->AddSources(module);
  return state_->builder.AddSnapshot(module, "import", "");
}

void GraphRecorder::Record(CompileOptions* options, PassTimes times) {
  state_->measures_passes = times == PassTimes::kMeasured;
  options->context.remarks = true;
  options->observe_pass = [this](const PassReport& report, const Module& module,
                                 const std::vector<Remark>& remarks) {
    return state_->AfterPass(report, module, remarks);
  };
}

absl::Status GraphRecorder::AddTrace(const std::string& path, const FileProgress& progress) {
  TraceReader reader;
  profiler::ReadOptions options;
  options.progress = progress;
  WEFT_RETURN_IF_ERROR(profiler::ReadTrace(path, reader, options));
  const TraceView& trace = reader.view();
  state_->builder.AddTrace(trace);
  state_->pass_us = trace.pass_us;
  const auto is_known = [&](const std::string& name) { return state_->sources.contains(name); };
  const bool met = absl::c_any_of(trace.kernels, [&](const KernelTime& kernel) {
    return absl::c_any_of(kernel.sources, is_known);
  });
  if (met) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": none of its ", trace.kernels.size(),
                   " kernels names a source node of the model; is it a trace of another one?"));
}

absl::Status GraphRecorder::AddPlan(const Module& module, const Target& target) {
  WEFT_ASSIGN_OR_RETURN(const PlanView plan, ViewPlan(module, target));
  state_->builder.AddPlan(plan);
  return absl::OkStatus();
}

void GraphRecorder::AddError(const std::string& names, double sqnr_db) {
  if (std::isnan(sqnr_db)) return;
  state_->builder.AddError(names, std::pow(10, -sqnr_db / 10), absl::StrSplit(names, ','));
}

std::string GraphRecorder::Html() const { return ToHtml(state_->builder.view()); }

std::string GraphRecorder::ModelExplorer() const { return ToModelExplorer(state_->builder.view()); }

}  // namespace weft
