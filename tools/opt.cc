// opt: reads a model, runs a pipeline over it, prints and writes the result.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "api/blame.h"
#include "api/compiler.h"
#include "api/describe.h"
#include "api/dump.h"
#include "api/extensions.h"
#include "api/graph_view.h"
#include "api/model_io.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/plugins.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

struct Options {
  std::string passes = "default";
  std::string emit = "stats";
  std::string output;
  std::string verify = "structure";
  std::string admit = "value-safe";
  std::string case_file = "case.weft";
  std::string stats = "text";
  std::string stats_output;
  std::string trace;
  DumpOptions dump;
  std::vector<std::string> inputs;
  int64_t seed = 0;
  int64_t rewrite_limit = -1;
  int64_t budget = -1;
  bool strict = false;
  std::string replay;
  std::string replay_folder;
  std::string remarks;
  std::string remarks_format = "text";
  std::string remarks_output;
  std::string near_misses;
  std::vector<std::string> blame;
  bool print_pipeline = false;
  bool list_passes = false;
  bool list_ops = false;
  std::string coverage;
  bool list_rules = false;
  std::string rules;
  std::vector<std::string> load;
  std::string log;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("opt", "[flags] MODEL",
                "Reads a model (.onnx, .pt2 or .weft), runs a pipeline of passes over it, and\n"
                "prints or writes the result.\n\n"
                "  opt --passes=default --emit=stats,text -o out.weft model.onnx\n"
                "  opt --passes='fixpoint(canonicalize,cse,dce)' --emit=text model.weft\n"
                "  opt --verify=semantics model.onnx");
  flags.Section("Pipeline");
  flags.String("passes", &o->passes, "PIPELINE",
               "Passes, named pipelines, fixpoint{max=N}(...) and\n"
               "if(CONDITION,...) with commas between them; a condition is\n"
               "has_op(NAME), nodes<N, changed, or one of them after '!'.\n"
               "--list-passes shows all. Default: default");
  flags.String("verify", &o->verify, "none|structure|semantics[=rewrite]",
               "After each pass that changed something: nothing, the\n"
               "verifier, or also runs of what it changed, before and after,\n"
               "on seeded inputs. With =rewrite after each single rewrite:\n"
               "every pass runs once more for each rewrite that it does.\n"
               "Default: structure");
  flags.String("admit", &o->admit, "CONTRACT",
               "The most that a rewrite may do to numbers: bit-exact, value-safe\n"
               "(signs of zeros), reassociating (rounding) or approximate.\n"
               "Default: value-safe");
  flags.String("case", &o->case_file, "FILE",
               "Where --verify=semantics leaves a small graph that shows the\n"
               "fault it found. Default: case.weft");
  flags.Int("seed", &o->seed, "N", "Seed of --verify=semantics. Default: 0");
  flags.Int("rewrite-limit", &o->rewrite_limit, "N",
            "Stop after this many rewrites, all passes together");
  flags.Int("budget", &o->budget, "N",
            "Work that one run of a pass may do, in units: a rewrite or a\n"
            "visit of a node is one. A pass whose budget is spent stops\n"
            "where it is, with a remark");
  flags.Bool("strict", &o->strict, "A fixpoint that does not settle is an error");
  flags.Repeated("input", &o->inputs, "NAME=FILE",
                 "Value of an input that shapes depend on (.npy or .pb); the\n"
                 "program is then made for that value");
  flags.Section("Output");
  flags.String("emit", &o->emit, "KIND,...",
               "stats, text, dot, svg, html, model-explorer, onnx, plan,\n"
               "guards. html is one file that shows the graph after each pass;\n"
               "svg needs Graphviz. Default: stats");
  flags.String("trace", &o->trace, "FILE",
               "With --emit=html: time and bytes of the kernels of this trace\n"
               "(.json or .pftrace, also .gz), on the nodes that they stand for");
  flags.String("o", &o->output, "FILE",
               "Where the graph goes; default: standard output. Statistics\n"
               "go to standard error when the graph takes standard output.\n"
               "With several graph kinds, FILE's suffix is replaced by each");
  flags.String("stats", &o->stats, "text|json",
               "Form of the statistics: a tree of groups and passes, or one\n"
               "JSON object. Default: text");
  flags.String("stats-output", &o->stats_output, "FILE",
               "Statistics go there, also of a run that fails");
  flags.Repeated("print-after", &o->dump.after, "REGEX|changed|all",
                 "Print the module to standard error after the passes with such\n"
                 "a name or path (fixpoint.2.cse)");
  flags.Repeated("print-before", &o->dump.before, "REGEX|all", "The same, before them");
  flags.String("print-to", &o->dump.folder, "DIR",
               "A file for each printed module instead, as\n"
               "0003.fixpoint.2.cse.after.weft");
  flags.OptionalString("remarks", &o->remarks, "REGEX", ".*",
                       "Print what passes did, missed and found out: of those\n"
                       "remarks whose kind, pass and rule match somewhere, as\n"
                       "missed:fold_constants or passed:canonicalize.mul-one");
  flags.String("remarks-format", &o->remarks_format, "text|json",
               "json: one object a line. Default: text");
  flags.String("remarks-output", &o->remarks_output, "FILE",
               "Also of a run that fails. Default: where the statistics go");
  flags.Repeated("blame", &o->blame, "%N|NAME|all",
                 "Print the source nodes, passes, rules and rewrites that a\n"
                 "value of the result comes from; NAME is a source node");
  flags.String("rules", &o->rules, "FILE",
               "Rewrite rules for canonicalize (docs/rule-files.md). Each is\n"
               "tested on random instances first; one that is wrong is refused");
  AddLoadFlag(flags, &o->load, ". --help after it shows its passes");
  AddLogFlag(flags, &o->log);
  flags.String("near-misses", &o->near_misses, "REGEX",
               "Print why rules of these names did not fire: the places where\n"
               "most of the pattern matched, and the condition that failed");
  flags.Section("Replay");
  flags.String("replay", &o->replay, "FILE",
               "Run the pass of a replay file again, with its options. A pass\n"
               "that fails or crashes leaves one in the current folder when\n"
               "the module is small (2,000 nodes, 1 MB of constants)");
  flags.String("replay-dir", &o->replay_folder, "DIR",
               "Replay files go there, for modules of any size. The text is\n"
               "made again after each pass that changed something, which takes\n"
               "about as long as --emit=text");
  flags.Section("Information");
  flags.Bool("list-passes", &o->list_passes, "List passes with their options, and named pipelines");
  flags.Bool("list-rules", &o->list_rules,
             "List rewrite rules: identity, contract, status, pattern");
  flags.Bool("print-pipeline", &o->print_pipeline, "Print the pipeline, named ones written out");
  flags.Bool("list-ops", &o->list_ops, "List ops with their schemas");
  flags.String("coverage", &o->coverage, "core-aten|aten",
               "With --list-ops: PyTorch's operators instead, and what the\n"
               "importer of .pt2 files makes of each");
  return flags;
}

struct EmitKind {
  std::string name;
  EmitFormat format;
};

// What --emit asks for: the graph kinds, and whether statistics are wanted.
absl::StatusOr<std::vector<EmitKind>> ParseEmit(const std::string& text, bool* stats) {
  std::vector<EmitKind> kinds;
  for (absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (name == "stats") {
      *stats = true;
    } else if (auto format = ParseEmitFormat(name)) {
      kinds.push_back({std::string(name), *format});
    } else {
      return absl::InvalidArgumentError(absl::StrCat("--emit: unknown kind \"", name,
                                                     "\"; known are stats, text, dot, svg, ",
                                                     "html, model-explorer, onnx, plan, guards"));
    }
  }
  return kinds;
}

std::string OutputPath(const Options& o, const EmitKind& kind, bool several) {
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

// `pictures`: what was recorded, for the kinds that show it.
absl::StatusOr<std::string> MakeGraph(const Module& module, EmitFormat format,
                                      const GraphRecorder* pictures) {
  if (format == EmitFormat::kHtml) return pictures->Html();
  if (format == EmitFormat::kModelExplorer) return pictures->ModelExplorer();
  return Emit(module, format);
}

absl::Status WriteGraphs(const Options& o, const Module& module, const std::vector<EmitKind>& kinds,
                         const GraphRecorder* pictures) {
  for (const EmitKind& kind : kinds) {
    auto bytes = MakeGraph(module, kind.format, pictures);
    if (!bytes.ok()) return bytes.status();
    absl::Status status = WriteOutput(OutputPath(o, kind, kinds.size() > 1), *bytes);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Where ops, passes and rules come from that are not built in.
struct Sources {
  std::vector<std::string> plugins;
  std::string rules;  // Empty: none.
};

Sources SourcesOf(const Options& o) {
  Sources sources;
  for (const std::string& file : o.load) sources.plugins.push_back(ResolvePath(file));
  sources.rules = ResolvePath(o.rules);
  return sources;
}

absl::Status Load(const Sources& sources, Extensions& extensions) {
  absl::Status status = LoadPlugins(sources.plugins, extensions);
  if (!status.ok()) return status;
  if (sources.rules.empty()) return absl::OkStatus();
  return extensions.AddRuleFile(sources.rules);
}

// A replay file may name plugins, and a file of rules when the command line does
// not.
absl::StatusOr<CompileOptions> MakeCompileOptions(const Options& o, Sources* sources) {
  CompileOptions compile;
  compile.passes = o.passes;
  const auto verify = ParseVerify(o.verify);
  if (!verify) {
    return absl::InvalidArgumentError(
        absl::StrCat("--verify takes none, structure, semantics or "
                     "semantics=rewrite, not \"",
                     o.verify, "\""));
  }
  compile.verify = *verify;
  const auto admitted = ParseContract(o.admit);
  if (!admitted) {
    return absl::InvalidArgumentError(
        absl::StrCat("--admit takes bit-exact, value-safe, reassociating or approximate, not \"",
                     o.admit, "\""));
  }
  compile.context.admitted = *admitted;
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
    auto replay = LoadReplay(ResolvePath(o.replay));
    if (!replay.ok()) return replay.status();
    absl::Status status = ApplyReplay(*replay, &compile);
    if (!status.ok()) return status;
    if (sources->rules.empty()) sources->rules = replay->rules;
    for (const std::string& file : replay->plugins) {
      const auto& known = sources->plugins;
      if (std::count(known.begin(), known.end(), file) == 0) sources->plugins.push_back(file);
    }
  } else {
    compile.replay.any_size = !o.replay_folder.empty();
    compile.replay.folder = ResolvePath(o.replay_folder.empty() ? "." : o.replay_folder);
    compile.replay.crashes = true;
    compile.replay.plugins = sources->plugins;
    compile.replay.rules = sources->rules;
    if (compile.replay.any_size) {
      absl::Status status = MakeFolder(compile.replay.folder);
      if (!status.ok()) return status;
    }
  }
  return compile;
}

// A recorder of what the passes do, when a kind shows it.
absl::StatusOr<std::unique_ptr<GraphRecorder>> StartRecorder(const Options& o,
                                                             const std::string& title,
                                                             const std::vector<EmitKind>& kinds,
                                                             const Module& module,
                                                             CompileOptions* compile) {
  if (std::none_of(kinds.begin(), kinds.end(), IsPicture)) {
    if (o.trace.empty()) return nullptr;
    return absl::InvalidArgumentError("--trace goes with --emit=html");
  }
  auto recorder = std::make_unique<GraphRecorder>(title);
  absl::Status status = recorder->Start(module);
  if (status.ok() && !o.trace.empty()) {
    ProgressLine progress(o.trace);
    status = recorder->AddTrace(ResolvePath(o.trace), progress.Callback());
  }
  if (!status.ok()) return status;
  recorder->Record(compile);
  return recorder;
}

absl::Status RunPasses(const Options& o, CompileOptions compile, Module& module,
                       CompileResult* result) {
  DumpOptions dump = o.dump;
  dump.folder = ResolvePath(dump.folder);
  auto dumper = ModuleDumper::Create(dump, *compile.registry);
  if (!dumper.ok()) return dumper.status();
  compile.before_pass = [&](const PassReport& report, const Module& before) {
    return dumper->Before(report, before);
  };
  compile.after_pass = [&](const PassReport& report, const Module& after) {
    return dumper->After(report, after);
  };
  return Compile(module, compile, result);
}

absl::Status WriteStatistics(const Options& o, const std::string& head,
                             const PipelineReport& report, std::ostream& info) {
  const std::string text =
      o.stats == "json" ? report.ToJson() : absl::StrCat(head, report.ToString());
  if (!o.stats_output.empty()) return WriteOutput(o.stats_output, text);
  info << text;
  return absl::OkStatus();
}

absl::Status WriteRemarks(const Options& o, std::vector<Remark> remarks, std::ostream& info) {
  // Near misses that were asked for by name are not asked for again.
  const bool both = !o.remarks.empty() && !o.near_misses.empty();
  auto wanted =
      FilterRemarks(std::move(remarks), both ? absl::StrCat(o.remarks, "|^near-miss:") : o.remarks);
  if (!wanted.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--remarks: ", wanted.status().message()));
  }
  std::string text;
  for (const Remark& remark : *wanted) {
    absl::StrAppend(&text, o.remarks_format == "json" ? remark.ToJson() : remark.ToString(), "\n");
  }
  if (!o.remarks_output.empty()) return WriteOutput(o.remarks_output, text);
  info << text;
  return absl::OkStatus();
}

absl::Status WriteBlame(const Options& o, const Module& module, std::ostream& info) {
  for (const std::string& what : o.blame) {
    auto text = Blame(module, what);
    if (!text.ok()) {
      return absl::Status(text.status().code(), absl::StrCat("--blame: ", text.status().message()));
    }
    info << *text;
  }
  return absl::OkStatus();
}

// Flags with a few possible values.
absl::Status CheckChoices(const Options& o) {
  for (const auto& [flag, value] : {std::pair<const char*, const std::string&>("stats", o.stats),
                                    {"remarks-format", o.remarks_format}}) {
    if (value == "text" || value == "json") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes text or json, not \"", value, "\""));
  }
  auto none = FilterRemarks({}, o.remarks);
  if (none.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--remarks: ", none.status().message()));
}

absl::Status PrintPipeline(const Options& o, const PassRegistry& passes) {
  auto pipeline = Pipeline::Parse(o.passes, passes);
  if (!pipeline.ok()) return pipeline.status();
  std::cout << pipeline->ToString(passes) << "\n";
  return absl::OkStatus();
}

absl::StatusOr<LoadOptions> ReadInputs(const Options& o) {
  LoadOptions load;
  for (const std::string& input : o.inputs) {
    auto named = ParseNamedFile("input", input);
    if (!named.ok()) return named.status();
    auto tensor = LoadTensor(ResolvePath(named->second));
    if (!tensor.ok()) return tensor.status();
    load.input_values[named->first] = *std::move(tensor);
  }
  return load;
}

// What plugins added, for --help; empty without plugins.
absl::StatusOr<std::string> PluginHelp(const Options& o) {
  Extensions extensions;
  absl::Status status = Load(SourcesOf(o), extensions);
  if (!status.ok()) return status;
  const std::string help = DescribeAddedPasses(extensions.passes());
  return help.empty() ? help : absl::StrCat("\nPasses and pipelines of plugins:\n", help);
}

// Leaves those remarks that are shown unasked.
void DropUnasked(std::vector<Remark>* remarks) {
  remarks->erase(std::remove_if(remarks->begin(), remarks->end(),
                                [](const Remark& remark) {
                                  return remark.kind != RemarkKind::kFailed &&
                                         remark.kind != RemarkKind::kBudget;
                                }),
                 remarks->end());
}

// What a run says, also one that fails.
absl::Status WriteReports(const Options& o, const std::string& head, bool stats,
                          CompileResult& result, std::ostream& info) {
  if ((stats || !o.stats_output.empty()) && !result.report.passes.empty()) {
    absl::Status status = WriteStatistics(o, head, result.report, info);
    if (!status.ok()) return status;
  }
  // A picture has them collected, without a wish to see them here.
  if (o.remarks.empty() && o.near_misses.empty()) DropUnasked(&result.remarks);
  return WriteRemarks(o, std::move(result.remarks), info);
}

// Reads, runs and writes. The options have been checked.
absl::StatusOr<int> CompileModel(const Options& o, CompileOptions compile, const std::string& path,
                                 const LoadOptions& load, const std::vector<EmitKind>& kinds,
                                 bool stats) {
  const absl::Time begin = absl::Now();
  auto module = LoadShown(path, load);
  if (!module.ok()) return module.status();
  const std::string head = absl::StrFormat("%s: loaded in %.1f ms\n", path,
                                           absl::ToDoubleMilliseconds(absl::Now() - begin));
  std::ostream& info =
      !kinds.empty() && (o.output.empty() || o.output == "-") ? std::cerr : std::cout;
  auto recorder = StartRecorder(o, path.substr(path.rfind('/') + 1), kinds, **module, &compile);
  if (!recorder.ok()) return recorder.status();
  CompileResult result;
  const absl::Status run = RunPasses(o, compile, **module, &result);
  if (run.ok() && compile.verify >= CompileOptions::Verify::kSemantics) {
    info << result.semantics.ToString() << "\n";
  }
  absl::Status status = WriteReports(o, head, stats, result, info);
  if (absl::IsFailedPrecondition(run)) {
    // The semantic check did its work, and the answer is bad.
    std::cerr << "opt: " << run.message() << "\n";
    return kExitBad;
  }
  if (!run.ok()) return run;
  if (!status.ok()) return status;
  status = WriteBlame(o, **module, info);
  if (!status.ok()) return status;
  status = WriteGraphs(o, **module, kinds, recorder->get());
  if (!status.ok()) return status;
  return kExitOk;
}

absl::StatusOr<int> RunOnModel(const Options& o, const std::string& path) {
  bool stats = false;
  auto kinds = ParseEmit(o.emit, &stats);
  if (!kinds.ok()) return kinds.status();
  absl::Status status = CheckChoices(o);
  if (!status.ok()) return status;
  auto load = ReadInputs(o);
  if (!load.ok()) return load.status();
  Sources sources = SourcesOf(o);
  auto compile = MakeCompileOptions(o, &sources);
  if (!compile.ok()) return compile.status();
  Extensions extensions;
  status = Load(sources, extensions);
  if (!status.ok()) return status;
  load->ops = &extensions.ops();
  compile->registry = &extensions.passes();
  compile->context.rules = extensions.rules();
  compile->count_ops = stats || !o.stats_output.empty();
  return CompileModel(o, *compile, path, *load, *kinds, stats);
}

// The flags that print something about Weft itself.
absl::Status PrintInformation(const Options& o) {
  Extensions extensions;
  absl::Status status = Load(SourcesOf(o), extensions);
  if (!status.ok()) return status;
  if (o.list_passes) {
    std::cout << extensions.passes().Help();
  } else if (o.list_rules) {
    std::cout << DescribeRules(extensions.rules());
  } else if (o.list_ops) {
    if (o.coverage.empty()) {
      std::cout << DescribeOps(extensions.ops());
    } else {
      auto coverage = DescribeCoverage(o.coverage);
      if (!coverage.ok()) return coverage.status();
      std::cout << *coverage;
    }
  } else {
    return PrintPipeline(o, extensions.passes());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  const auto helped = StartLogs(o.log);
  if (!helped.ok()) return helped.status();
  if (*helped) return kExitOk;
  if (o.list_passes || o.list_rules || o.list_ops || o.print_pipeline) {
    absl::Status status = PrintInformation(o);
    if (!status.ok()) return status;
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
  weft::tools::Options options;
  auto flags = weft::tools::MakeFlags(&options);
  return weft::tools::RunTool(
      flags, argc, argv,
      [&](const std::vector<std::string>& positional) {
        return weft::tools::Run(options, positional);
      },
      [&] { return weft::tools::PluginHelp(options); });
}
