#include "tools/opt_options.h"

#include "absl/strings/str_cat.h"
#include "api/model_io.h"
#include "tools/common/logs.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/plugins.h"
#include "tools/common/target_flags.h"

namespace weft::tools {
namespace {

void AddPipelineFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Pipeline");
  flags.String("passes", &o->passes, "PIPELINE",
               "Passes, named pipelines, fixpoint{max=N}(...) and\n"
               "if(CONDITION,...) with commas between them; a condition is\n"
               "has_op(NAME), nodes<N, changed, or one of them after '!'.\n"
               "--list-passes shows all. Default: that of --target, else default");
  AddTargetFlag(flags, &o->target,
                "What is compiled for: passes and plans follow it. Default: where\n"
                "--passes is a target's own pipeline, that target; cpu for\n"
                "--emit=plan, --emit=cc, --emit=target and --verify=target");
  AddBackendFlags(flags, &o->backend);
  flags.String("target-file", &o->target_file, "FILE",
               "A target in the form of --emit=target, for example edited");
  flags.String("verify", &o->verify, "none|structure|semantics[=rewrite]|target",
               "After each pass that changed something: nothing, the\n"
               "verifier, or also runs of the changed regions, before and after,\n"
               "on seeded inputs. With =rewrite after each rewrite:\n"
               "every pass runs once more for each of its rewrites.\n"
               "target: the verifier after each pass, then the result on the\n"
               "target of --target with its options, compared step by step with the\n"
               "reference.\n"
               "Default: structure");
  AddAdmitFlag(flags, &o->admit);
  flags.String("case", &o->case_file, "FILE",
               "File for a small graph that shows the fault that --verify=semantics\n"
               "or =target found. Default: case.weft");
  flags.Int("seed", &o->seed, "N", "Seed of --verify=semantics and =target. Default: 0");
  flags.Int("rewrite-limit", &o->rewrite_limit, "N",
            "Stop after this many rewrites of all passes together");
  flags.Int("budget", &o->budget, "N",
            "Limit of the work of one run of a pass, in units: a rewrite or a\n"
            "visit of a node is one. A pass that has spent it stops,\n"
            "with a remark");
  flags.Bool("strict", &o->strict, "Make a fixpoint that does not settle an error");
  flags.Repeated("input", &o->inputs, "NAME=FILE",
                 "Value of an input that shapes depend on (.npy or .pb); the\n"
                 "program is then made for that value");
  flags.String("weights", &o->weights, "FILE.gguf",
               "Weights for the model's parameters, by name: floats become their\n"
               "values, blocks of Q4_0, Q8_0 and MXFP4 constants that are\n"
               "dequantized. A .pt2 program keeps its other parameters as inputs");
  flags.String("weight-names", &o->weight_names, "FILE",
               "With --weights: rows TENSOR = PARAMETER, where `*` on both sides stands\n"
               "for the same text");
}

void AddOutputFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Output");
  flags.Custom("emit", "KIND,...",
               "stats, text, dot, svg, html, model-explorer, onnx, plan, cc,\n"
               "target, guards. html is one file that shows the graph after each pass,\n"
               "with --target the plan, and with stats the times of the passes;\n"
               "svg needs Graphviz; cc is the C++ of the CPU's kernels. Default: stats",
               [o](const std::string& value) {
                 o->emit = value;
                 return absl::OkStatus();
               });
  flags.String("kernel", &o->kernel, "NAME",
               "With --emit=cc: only the kernel of that name, as --emit=plan has it, or\n"
               "the only one whose name begins so");
  flags.IntBetween(
      "opset", &o->opset, FirstOnnxOpset(), LastOnnxOpset(), "N",
      absl::StrCat("With --emit=onnx: the opset to write, ", FirstOnnxOpset(), " to ",
                   LastOnnxOpset(), ". Default: the lowest that\nhas a form for all ops"));
  flags.String("trace", &o->trace, "FILE",
               "With --emit=html: kernels, timeline and memory of this trace (.json or\n"
               ".pftrace, also .gz), shown on the graph and on the plan for --target\n"
               "(default: cpu)");
  flags.String("o", &o->output, "FILE",
               "File for the graph; default: standard output. Statistics\n"
               "go to standard error when the graph takes standard output.\n"
               "With several graph kinds, FILE's suffix is replaced by each.\n"
               "A FILE.weftb gets the module in the binary form");
  flags.String("stats", &o->stats, "text|json",
               "Form of the statistics: a tree of groups and passes, or one\n"
               "JSON object. Default: text");
  flags.String("stats-output", &o->stats_output, "FILE",
               "File for the statistics, also of a run that fails");
  flags.Repeated("print-after", &o->dump.after, "REGEX|changed|all",
                 "Print the module to standard error after passes with a matching\n"
                 "name or path (fixpoint.2.cse)");
  flags.Repeated("print-before", &o->dump.before, "REGEX|all", "The same before passes");
  flags.IntBetween("elide", &o->elide, 0, int64_t{1} << 40, "N",
                   "Print constants of more than N elements without them, in graphs of\n"
                   "--print-* and of --emit=text; such text is not read back. Default: 16\n"
                   "on a terminal and for --print-* on standard error, else all elements");
  flags.String("print-to", &o->dump.folder, "DIR",
               "Write each printed module to a file instead, such as\n"
               "0003.fixpoint.2.cse.after.weft");
}

void AddPartFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Parts and faults");
  flags.String("extract", &o->extract, "FROM:TO|NODES",
               "Cut out what computes the values TO from the values FROM, or the\n"
               "nodes of a list, before the passes; without --passes and --target\n"
               "none run. Values and nodes are source nodes' names, inputs, outputs,\n"
               "or %N as --emit=text numbers them, with commas between; a list of\n"
               "nodes may have FIRST..LAST and `*`. What crosses the cut becomes an\n"
               "input. Written as text, or as ONNX if -o ends in .onnx");
  flags.String("bisect", &o->bisect, "COMMAND",
               "Find the first pass, and its rewrite, after which the shell command\n"
               "fails (exit status not 0). It gets a file with the module as text,\n"
               "in the place of {} or as its last argument. Writes the module before\n"
               "and after to bisect.before.weft and bisect.after.weft; with\n"
               "-o NAME to NAME.before.weft and NAME.after.weft");
  flags.Bool("cliffs", &o->cliffs,
             "Predict the slow steps of the plan for --target (default: cpu): ops\n"
             "evaluated on the reference, copies, kernels far from the roofline,\n"
             "with the reasons, the most expensive first. --format=json: as JSON");
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...",
                 "Sizes of symbols for --cliffs; others have their hints");
  flags.Double("peak-gflops", &o->peak_gflops, "X",
               "Rates of the machine, for --cliffs: operations, in billions a second\n"
               "(bench measures them),");
  flags.Double("peak-gbytes", &o->peak_gbytes, "X", "and bytes, likewise. Default: 10");
}

void AddRemarkFlags(FlagSet& flags, OptOptions* o) {
  flags.OptionalString("remarks", &o->remarks, "REGEX", ".*",
                       "Print remarks on what passes did, missed and found: those\n"
                       "whose kind, pass and rule contain a match, such as\n"
                       "missed:fold_constants or passed:canonicalize.mul-one");
  flags.String("remarks-format", &o->remarks_format, "text|json|yaml",
               "json: one object a line; yaml: a document each, in the form of LLVM's\n"
               "optimization records, which opt-viewer reads. Default: text");
  flags.String("remarks-output", &o->remarks_output, "FILE",
               "File for remarks, also of a run that fails. Default: with the statistics");
  flags.Repeated("blame", &o->blame, "%N|NAME|all",
                 "Print the source nodes, passes, rules and rewrites that a\n"
                 "value of the result comes from. NAME is a source node");
  AddRulesFlag(flags, &o->rules);
  AddLoadFlag(flags, &o->load, ". --help after it shows its passes");
  AddLogFlag(flags, &o->log);
  flags.String("near-misses", &o->near_misses, "REGEX",
               "Print why rules with these names did not fire: the places where\n"
               "most of the pattern matched, and the condition that failed");
}

void AddReplayFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Replay");
  flags.String("replay", &o->replay, "FILE",
               "Run the pass of a replay file again, with its options. A pass\n"
               "that fails or crashes leaves one in the current folder when\n"
               "the module is small (2,000 nodes, 1 MB of constants)");
  flags.String("replay-dir", &o->replay_folder, "DIR",
               "Folder for replay files, for modules of any size. The text is\n"
               "made again after each pass that changed something, which takes\n"
               "about as long as --emit=text");
}

void AddInformationFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Information");
  flags.OptionalString("list-passes", &o->list_passes, "REGEX", ".*",
                       "List passes with their options, and named pipelines: all, or those\n"
                       "with such names");
  flags.OptionalString("list-rules", &o->list_rules, "REGEX", ".*",
                       "List rewrite rules: identity, contract, status, pattern");
  flags.Bool("print-pipeline", &o->print_pipeline, "Print the pipeline with named ones expanded");
  flags.OptionalString("list-ops", &o->list_ops, "REGEX", ".*", "List ops with their schemas");
  flags.String("coverage", &o->coverage, "core-aten|aten",
               "With --list-ops: list PyTorch's operators instead, and how the\n"
               "importer of .pt2 files handles each");
  flags.String("format", &o->format, "text|json",
               "Form of the lists and of --cliffs; json has traits, numeric contracts of\n"
               "decompositions, and the targets that run an op whole. Default: text");
}

}  // namespace

FlagSet MakeOptFlags(OptOptions* o) {
  FlagSet flags("opt", "[flags] MODEL",
                "Reads a model (.onnx, .pt2, .weft or .weftb), runs a pipeline of passes over it,\n"
                "and prints or writes the result.\n\n"
                "  opt --passes=default --emit=stats,text -o out.weft model.onnx\n"
                "  opt --passes='fixpoint(canonicalize,cse,dce)' --emit=text model.weft\n"
                "  opt -o out.weftb model.onnx\n"
                "  opt --verify=semantics model.onnx");
  AddPipelineFlags(flags, o);
  AddOutputFlags(flags, o);
  AddPartFlags(flags, o);
  AddRemarkFlags(flags, o);
  AddReplayFlags(flags, o);
  AddInformationFlags(flags, o);
  return flags;
}

}  // namespace weft::tools
