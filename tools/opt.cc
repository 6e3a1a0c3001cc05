// opt: reads a model, runs a pipeline over it, prints and writes the result.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/inspect/blame.h"
#include "api/inspect/code_facts.h"
#include "api/inspect/describe.h"
#include "api/inspect/dump.h"
#include "api/inspect/graph_view.h"
#include "api/inspect/lists.h"
#include "api/inspect/remark_numbers.h"
#include "api/model_io.h"
#include "api/plugin.h"
#include "api/target_file.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/plugins.h"
#include "tools/common/progress.h"
#include "tools/common/target_verify.h"
#include "tools/opt_bisect.h"
#include "tools/opt_inputs.h"
#include "tools/opt_options.h"
#include "tools/opt_parts.h"
#include "tools/opt_remarks.h"

namespace weft::tools {
namespace {

struct EmitKind {
  std::string name;
  EmitFormat format;
};

// Parses --emit: the kinds of graphs, and whether statistics are requested.
absl::StatusOr<std::vector<EmitKind>> ParseEmit(const std::string& text, bool* stats) {
  std::vector<EmitKind> kinds;
  for (absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (name == "stats") {
      *stats = true;
    } else if (auto format = ParseEmitFormat(name)) {
      kinds.push_back({std::string(name), *format});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--emit: unknown kind \"", name, "\"; known are stats, text, dot, svg, ",
                       "html, model-explorer, onnx, plan, cc, target, guards"));
    }
  }
  return kinds;
}

std::string OutputPath(const OptOptions& o, const EmitKind& kind, bool several) {
  if (!several || o.output.empty()) return o.output;
  const size_t slash = o.output.rfind('/');
  const size_t dot = o.output.rfind('.');
  const bool has_suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return absl::StrCat(o.output.substr(0, has_suffix ? dot : std::string::npos), ".",
                      kind.format == EmitFormat::kText            ? "weft"
                      : kind.format == EmitFormat::kModelExplorer ? "model-explorer.json"
                                                                  : kind.name);
}

bool IsPicture(const EmitKind& kind) {
  return kind.format == EmitFormat::kHtml || kind.format == EmitFormat::kModelExplorer;
}

bool IsOnnx(const EmitKind& kind) { return kind.format == EmitFormat::kOnnx; }

// The elements that --emit=text leaves out: a terminal gets small constants alone, a file or a pipe
// text that reads back.
std::optional<int64_t> ElideText(const OptOptions& o) {
  if (o.elide >= 0) return o.elide;
  const bool terminal = (o.output.empty() || o.output == "-") && isatty(STDOUT_FILENO) == 1;
  return terminal ? std::optional<int64_t>(kElideAbove) : std::nullopt;
}

// `pictures`: the recorded passes, for kinds that show them.
absl::StatusOr<std::string> MakeGraph(const OptOptions& o, const Module& module, EmitFormat format,
                                      const Target& target, const GraphRecorder* pictures) {
  if (format == EmitFormat::kHtml) return pictures->Html();
  if (format == EmitFormat::kModelExplorer) return pictures->ModelExplorer();
  if (format == EmitFormat::kText) return PrintElided(module, ElideText(o));
  if (format == EmitFormat::kCc) return KernelSourceOf(o, module, target);
  SaveOptions save;
  save.opset = static_cast<int>(o.opset);
  // Without a named target, the plan is made for the default target of plans.
  WEFT_ASSIGN_OR_RETURN(std::string text,
                        Emit(module, format, target.name.empty() ? nullptr : &target, save));
  if (format != EmitFormat::kPlan || o.target.empty()) return text;
  const auto backend = BuiltinBackends().Find(o.target);
  if (!backend.ok()) return text;  // Of a plugin.
  WEFT_RETURN_IF_ERROR(CheckOptions(**backend, o.backend));
  WEFT_ASSIGN_OR_RETURN(const std::string facts, DescribeCode(module, **backend, o.backend));
  return text + facts;
}

absl::Status WriteGraphs(const OptOptions& o, const Module& module, const Target& target,
                         const std::vector<EmitKind>& kinds, const GraphRecorder* pictures) {
  const bool binary = absl::EndsWith(o.output, ".weftb");
  for (const EmitKind& kind : kinds) {
    WEFT_ASSIGN_OR_RETURN(auto bytes, MakeGraph(o, module, kind.format, target, pictures));
    WEFT_RETURN_IF_ERROR(WriteOutput(OutputPath(o, kind, binary || kinds.size() > 1), bytes));
  }
  return binary ? SaveModel(module, ResolvePath(o.output)) : absl::OkStatus();
}

// Sources of ops, passes and rules that are not built in.
struct Sources {
  std::vector<std::string> plugins;
  std::string rules;  // Empty: no file.
};

Sources SourcesOf(const OptOptions& o) {
  Sources sources;
  for (const std::string& file : o.load) sources.plugins.push_back(ResolvePath(file));
  sources.rules = ResolvePath(o.rules);
  return sources;
}

absl::Status LoadRules(const Sources& sources, Extensions& extensions) {
  if (sources.rules.empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(extensions.AddRuleFile(sources.rules));
  WarnOfAssumedRules("opt", extensions);
  return absl::OkStatus();
}

absl::Status Load(const Sources& sources, Extensions& extensions) {
  WEFT_RETURN_IF_ERROR(LoadPlugins(sources.plugins, extensions));
  return LoadRules(sources, extensions);
}

bool VerifiesTarget(const OptOptions& o) { return o.verify == "target"; }

// Verifies the compiled module on its target; returns the exit status.
absl::StatusOr<int> VerifyTarget(const OptOptions& o, const Module& module,
                                 const BackendRegistry& backends, std::ostream& info) {
  TargetVerifyFlags flags;
  flags.verify = "target";
  flags.case_file = o.case_file;
  CompileOptions nothing;
  nothing.passes = "none";
  TargetCheckOptions options;
  options.target = o.target.empty() ? "cpu" : o.target;
  options.backends = &backends;
  options.backend = o.backend;
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, backends.Find(options.target));
  WEFT_RETURN_IF_ERROR(CheckOptions(*backend, o.backend));
  options.seed = static_cast<uint64_t>(o.seed);
  WEFT_ASSIGN_OR_RETURN(auto verifier, TargetVerifier::Create(flags, module, nothing, options));
  SeedOptions first;
  first.seed = options.seed;
  return verifier->Finish(first, info);
}

// Reads --target and --target-file.
absl::Status ReadTarget(const OptOptions& o, const BackendRegistry& backends,
                        CompileOptions* compile) {
  // A plan is made for some target.
  const std::string target =
      o.cliffs && o.target_file.empty() && o.target.empty() ? "cpu" : o.target;
  if (!target.empty()) {
    WEFT_ASSIGN_OR_RETURN(const Backend* backend, backends.Find(target));
    SetTarget(*backend, compile);
  }
  if (!o.target_file.empty()) {
    WEFT_ASSIGN_OR_RETURN(compile->context.target, LoadTargetFile(ResolvePath(o.target_file)));
  }
  // A part that is cut out stays as it is unless passes are asked for.
  if (compile->passes.empty()) compile->passes = o.extract.empty() ? "default" : "none";
  return absl::OkStatus();
}

// If the command line names no rules, a replay file may.
absl::StatusOr<CompileOptions> MakeCompileOptions(const OptOptions& o,
                                                  const BackendRegistry& backends,
                                                  Sources* sources) {
  CompileOptions compile;
  compile.passes = o.passes;
  WEFT_RETURN_IF_ERROR(ReadTarget(o, backends, &compile));
  const auto verify = ParseVerifyLevel(VerifiesTarget(o) ? "structure" : o.verify);
  if (!verify) {
    return absl::InvalidArgumentError(
        absl::StrCat("--verify takes none, structure, semantics, "
                     "semantics=rewrite or target, not \"",
                     o.verify, "\""));
  }
  compile.verify = *verify;
  WEFT_RETURN_IF_ERROR(ReadAdmitted(o.admit, &compile));
  compile.seed = static_cast<uint64_t>(o.seed);
  compile.case_file = ResolvePath(o.case_file);
  compile.context.remarks = !o.remarks.empty();
  compile.context.near_misses = o.near_misses;
  if (o.near_misses.empty() && absl::StrContains(o.remarks, "near-miss")) {
    compile.context.near_misses = ".*";
  }
  compile.context.rewrite_limit = o.rewrite_limit;
  compile.context.budget = o.budget;
  compile.context.strict = o.strict;
  if (!o.replay.empty()) {
    WEFT_ASSIGN_OR_RETURN(auto replay, LoadReplay(ResolvePath(o.replay)));
    absl::Status status = ApplyReplay(replay, &compile);
    status.Update(CheckPluginsAllowed(replay.plugins, sources->plugins));
    if (sources->rules.empty()) sources->rules = replay.rules;
    if (!status.ok()) return Annotate(status, o.replay);
  } else {
    compile.replay.any_size = !o.replay_folder.empty();
    compile.replay.folder = ResolvePath(o.replay_folder.empty() ? "." : o.replay_folder);
    compile.replay.crashes = true;
    compile.replay.plugins = sources->plugins;
    compile.replay.rules = sources->rules;
    if (compile.replay.any_size) {
      WEFT_RETURN_IF_ERROR(MakeFolder(compile.replay.folder));
    }
  }
  return compile;
}

// The title of a picture: the file's name with its folder, as many models are called model.onnx.
std::string TitleOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return path;
  return path.substr(path.rfind('/', slash - 1) + 1);
}

// Starts a recorder of the passes if an emitted kind shows them. With statistics, pictures have the
// times of the passes.
absl::StatusOr<std::unique_ptr<GraphRecorder>> StartRecorder(const OptOptions& o,
                                                             const std::string& title,
                                                             const std::vector<EmitKind>& kinds,
                                                             const Module& module, bool stats,
                                                             CompileOptions* compile) {
  if (std::none_of(kinds.begin(), kinds.end(), IsPicture)) {
    if (o.trace.empty()) return nullptr;
    return absl::InvalidArgumentError("--trace goes with --emit=html");
  }
  auto recorder = std::make_unique<GraphRecorder>(title);
  WEFT_RETURN_IF_ERROR(recorder->Start(module));
  if (!o.trace.empty()) {
    ProgressLine progress(o.trace);
    WEFT_RETURN_IF_ERROR(recorder->AddTrace(ResolvePath(o.trace), progress.Callback()));
  }
  using PassTimes = GraphRecorder::PassTimes;
  recorder->Record(compile, stats ? PassTimes::kMeasured : PassTimes::kOfTrace);
  return recorder;
}

// Adds the plan to the picture if there is a target, or a trace of one. A picture without a plan is
// still of use.
void AddPlan(const OptOptions& o, const Module& module, const Target& target,
             GraphRecorder* recorder) {
  if (recorder == nullptr || (target.name.empty() && o.trace.empty())) return;
  const absl::Status status = recorder->AddPlan(
      module, target.name.empty() ? (*BuiltinBackends().Find("cpu"))->target() : target);
  if (!status.ok()) {
    PrintMessage("opt", absl::StrCat("the picture has no plan: ", status.message()));
  }
}

absl::Status RunPasses(const OptOptions& o, CompileOptions compile, Module& module,
                       CompileResult* result) {
  DumpOptions dump = o.dump;
  dump.folder = ResolvePath(dump.folder);
  if (o.elide >= 0) {
    dump.elide = o.elide;
  } else if (dump.folder.empty()) {
    dump.elide = kElideAbove;
  }
  WEFT_ASSIGN_OR_RETURN(auto dumper, ModuleDumper::Create(dump, *compile.registry));
  compile.before_pass = [&](const PassReport& report, const Module& before) {
    return dumper.Before(report, before);
  };
  compile.after_pass = [&](const PassReport& report, const Module& after) {
    return dumper.After(report, after);
  };
  return Compile(module, compile, result);
}

absl::Status WriteStatistics(const OptOptions& o, const std::string& head,
                             const PipelineReport& report, std::ostream& info) {
  const std::string text =
      o.stats == "json" ? report.ToJson() : absl::StrCat(head, report.ToString());
  if (!o.stats_output.empty()) return WriteOutput(o.stats_output, text);
  info << text;
  return absl::OkStatus();
}

absl::Status WriteBlame(const OptOptions& o, const Module& module, std::ostream& info) {
  for (const std::string& what : o.blame) {
    auto text = Blame(module, what);
    if (!text.ok()) return Annotate(text.status(), "--blame");
    info << *text;
  }
  return absl::OkStatus();
}

// Checks flags that have a few possible values.
absl::Status CheckChoices(const OptOptions& o) {
  for (const auto& [flag, value] :
       {std::pair<const char*, const std::string&>("stats", o.stats), {"format", o.format}}) {
    if (value == "text" || value == "json") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes text or json, not \"", value, "\""));
  }
  if (o.remarks_format != "text" && o.remarks_format != "json" && o.remarks_format != "yaml") {
    return absl::InvalidArgumentError(
        absl::StrCat("--remarks-format takes text, json or yaml, not \"", o.remarks_format, "\""));
  }
  const std::pair<const char*, const std::string&> patterns[] = {{"remarks", o.remarks},
                                                                 {"near-misses", o.near_misses}};
  for (const auto& [flag, value] : patterns) {
    auto none = FilterRemarks({}, value);
    if (none.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", none.status().message()));
  }
  return absl::OkStatus();
}

absl::Status PrintPipeline(const OptOptions& o, const Extensions& extensions) {
  CompileOptions compile;
  compile.passes = o.passes;
  WEFT_RETURN_IF_ERROR(ReadTarget(o, extensions.backends(), &compile));
  WEFT_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Parse(compile.passes, extensions.passes()));
  std::cout << pipeline.ToString(extensions.passes()) << "\n";
  return absl::OkStatus();
}

// The additions of plugins, for --help; empty without plugins.
absl::StatusOr<std::string> PluginHelp(const OptOptions& o) {
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(Load(SourcesOf(o), extensions));
  const std::string help = DescribeAddedPasses(extensions.passes());
  return help.empty() ? help : absl::StrCat("\nPasses and pipelines of plugins:\n", help);
}

// What is written where --emit does not say: statistics, or the part that is cut out.
std::string EmitOf(const OptOptions& o) {
  if (o.emit.has_value()) return *o.emit;
  if (o.cliffs) return "";
  if (o.extract.empty()) return "stats";
  return absl::EndsWith(o.output, ".onnx") ? "onnx" : "text";
}

// Says so if --near-misses asks for rules that there are not.
void WarnOfUnknownRules(const OptOptions& o, const RuleSet* rules,
                        const std::vector<Remark>& remarks) {
  const auto is_near_miss = [](const Remark& r) { return r.kind == RemarkKind::kNearMiss; };
  if (o.near_misses.empty() || std::any_of(remarks.begin(), remarks.end(), is_near_miss)) return;
  const absl::Status found = ListRules(rules, {o.near_misses}).status();
  if (found.ok()) return;
  PrintMessage("opt", absl::StrCat("--near-misses=", o.near_misses, ": ", found.message()));
}

// Writes the reports of a run, even if it failed.
absl::Status WriteReports(const OptOptions& o, const RuleSet* rules, const std::string& head,
                          bool stats, CompileResult& result, std::ostream& info) {
  WarnOfUnknownRules(o, rules, result.remarks);
  if ((stats || !o.stats_output.empty()) && !result.report.passes.empty()) {
    WEFT_RETURN_IF_ERROR(WriteStatistics(o, head, result.report, info));
  }
  // Remarks may have been collected only for a picture.
  if (o.remarks.empty() && o.near_misses.empty()) DropUnasked(&result.remarks);
  return WriteRemarks(o, std::move(result.remarks), info);
}

// Reads, compiles and writes a model. The options have been checked.
absl::StatusOr<int> CompileModel(const OptOptions& o, CompileOptions compile,
                                 const std::string& path, const LoadOptions& load,
                                 const std::vector<EmitKind>& kinds, bool stats,
                                 const BackendRegistry& backends) {
  const absl::Time begin = absl::Now();
  WEFT_ASSIGN_OR_RETURN(auto module, LoadShown(path, load));
  WEFT_RETURN_IF_ERROR(CheckInputs(load, *module));
  const std::string head = absl::StrFormat("%s: loaded in %.1f ms\n", path,
                                           absl::ToDoubleMilliseconds(absl::Now() - begin));
  std::ostream& info =
      !kinds.empty() && (o.output.empty() || o.output == "-") ? std::cerr : std::cout;
  WEFT_RETURN_IF_ERROR(ReadWeights(o, *module, info));
  WEFT_RETURN_IF_ERROR(ExtractPart(o, &module, info));
  if (!o.bisect.empty()) return BisectPasses(o, *module, compile);
  WEFT_ASSIGN_OR_RETURN(auto recorder,
                        StartRecorder(o, TitleOf(path), kinds, *module, stats, &compile));
  CompileResult result;
  const absl::Status run = RunPasses(o, compile, *module, &result);
  if (run.ok() && compile.verify >= VerifyLevel::kSemantics) {
    info << result.semantics.ToString() << "\n";
  }
  // The numbers that the result's text has.
  NumberByText(*module, &result.remarks);
  const absl::Status status = WriteReports(o, compile.context.rules, head, stats, result, info);
  if (absl::IsFailedPrecondition(run)) {
    // The semantic check found a difference, which is a result and not an error.
    PrintMessage("opt", run.message());
    return kExitBad;
  }
  WEFT_RETURN_IF_ERROR(run);
  WEFT_RETURN_IF_ERROR(status);
  WEFT_RETURN_IF_ERROR(WriteBlame(o, *module, info));
  WEFT_RETURN_IF_ERROR(WriteCliffs(o, *module, compile.context.target, info));
  AddPlan(o, *module, compile.context.target, recorder.get());
  WEFT_RETURN_IF_ERROR(WriteGraphs(o, *module, compile.context.target, kinds, recorder.get()));
  if (VerifiesTarget(o)) return VerifyTarget(o, *module, backends, info);
  return kExitOk;
}

absl::StatusOr<int> RunOnModel(const OptOptions& o, const std::string& path) {
  bool stats = false;
  WEFT_ASSIGN_OR_RETURN(auto kinds, ParseEmit(EmitOf(o), &stats));
  WEFT_RETURN_IF_ERROR(CheckChoices(o));
  if (o.opset >= 0 && std::none_of(kinds.begin(), kinds.end(), IsOnnx)) {
    return absl::InvalidArgumentError("--opset goes with --emit=onnx");
  }
  WEFT_ASSIGN_OR_RETURN(auto load, ReadInputs(o));
  Sources sources = SourcesOf(o);
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(LoadPlugins(sources.plugins, extensions));
  WEFT_ASSIGN_OR_RETURN(auto compile, MakeCompileOptions(o, extensions.backends(), &sources));
  WEFT_RETURN_IF_ERROR(LoadRules(sources, extensions));
  if (!o.replay.empty()) {
    const absl::Status status = Pipeline::Parse(compile.passes, extensions.passes()).status();
    if (!status.ok()) return Annotate(status, o.replay);
  }
  load.ops = &extensions.ops();
  compile.registry = &extensions.passes();
  compile.context.rules = extensions.rules();
  compile.count_ops = stats || !o.stats_output.empty();
  return CompileModel(o, compile, path, load, kinds, stats, extensions.backends());
}

// Handles the flags that print information about Weft itself.
absl::Status PrintInformation(const OptOptions& o) {
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(Load(SourcesOf(o), extensions));
  const bool json = o.format == "json";
  std::string list;
  if (!o.list_passes.empty()) {
    WEFT_ASSIGN_OR_RETURN(list, ListPasses(extensions.passes(), {o.list_passes, json}));
  } else if (!o.list_rules.empty()) {
    WEFT_ASSIGN_OR_RETURN(list, ListRules(extensions.rules(), {o.list_rules, json}));
  } else if (!o.coverage.empty()) {
    WEFT_ASSIGN_OR_RETURN(list, DescribeCoverage(o.coverage));
  } else if (!o.list_ops.empty()) {
    std::vector<Target> targets;
    for (const auto& backend : extensions.backends().all()) targets.push_back(backend->target());
    WEFT_ASSIGN_OR_RETURN(list, ListOps(extensions.ops(), targets, {o.list_ops, json}));
  } else {
    return PrintPipeline(o, extensions);
  }
  return WriteOutput(o.output, list);
}

absl::StatusOr<int> Run(const OptOptions& o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool helped, StartLogs(o.log));
  if (helped) return kExitOk;
  const bool lists = !o.list_passes.empty() || !o.list_rules.empty() || !o.list_ops.empty();
  if (lists || o.print_pipeline) {
    WEFT_RETURN_IF_ERROR(PrintInformation(o));
    return kExitOk;
  }
  if (positional.size() + (o.replay.empty() ? 0 : 1) != 1) {
    return absl::InvalidArgumentError("expected one model file; --help shows how");
  }
  return RunOnModel(o, o.replay.empty() ? positional[0] : o.replay);
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  weft::tools::OptOptions options;
  auto flags = weft::tools::MakeOptFlags(&options);
  return weft::tools::RunTool(
      flags, argc, argv,
      [&](const std::vector<std::string>& positional) {
        return weft::tools::Run(options, positional);
      },
      [&] { return weft::tools::PluginHelp(options); });
}
