#include "tools/opt_options.h"

#include "tools/common/logs.h"
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
                "--emit=plan, --emit=target and --verify=target");
  flags.String("target-file", &o->target_file, "FILE",
               "A target in the form of --emit=target, as another device has it");
  flags.String("verify", &o->verify, "none|structure|semantics[=rewrite]|target",
               "After each pass that changed something: nothing, the\n"
               "verifier, or also runs of what it changed, before and after,\n"
               "on seeded inputs. With =rewrite after each single rewrite:\n"
               "every pass runs once more for each rewrite that it does.\n"
               "target: the verifier after each pass, then the result on the\n"
               "target of --target, step by step beside the reference.\n"
               "Default: structure");
  flags.String("admit", &o->admit, "CONTRACT",
               "The most that any rewrite may do to numbers: bit-exact, value-safe\n"
               "(signs of zeros), reassociating (rounding) or approximate.\n"
               "Default: what the pipeline says of each pass, as in\n"
               "decompose{admit=reassociating}, else value-safe");
  flags.String("case", &o->case_file, "FILE",
               "Where --verify=semantics and =target leave a small graph that shows the\n"
               "fault it found. Default: case.weft");
  flags.Int("seed", &o->seed, "N", "Seed of --verify=semantics and =target. Default: 0");
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
}

void AddOutputFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Output");
  flags.String("emit", &o->emit, "KIND,...",
               "stats, text, dot, svg, html, model-explorer, onnx, plan,\n"
               "target, guards. html is one file that shows the graph after each pass;\n"
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
}

void AddRemarkFlags(FlagSet& flags, OptOptions* o) {
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
}

void AddReplayFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Replay");
  flags.String("replay", &o->replay, "FILE",
               "Run the pass of a replay file again, with its options. A pass\n"
               "that fails or crashes leaves one in the current folder when\n"
               "the module is small (2,000 nodes, 1 MB of constants)");
  flags.String("replay-dir", &o->replay_folder, "DIR",
               "Replay files go there, for modules of any size. The text is\n"
               "made again after each pass that changed something, which takes\n"
               "about as long as --emit=text");
}

void AddInformationFlags(FlagSet& flags, OptOptions* o) {
  flags.Section("Information");
  flags.Bool("list-passes", &o->list_passes, "List passes with their options, and named pipelines");
  flags.Bool("list-rules", &o->list_rules,
             "List rewrite rules: identity, contract, status, pattern");
  flags.Bool("print-pipeline", &o->print_pipeline, "Print the pipeline, named ones written out");
  flags.Bool("list-ops", &o->list_ops, "List ops with their schemas");
  flags.String("coverage", &o->coverage, "core-aten|aten",
               "With --list-ops: PyTorch's operators instead, and what the\n"
               "importer of .pt2 files makes of each");
}

}  // namespace

FlagSet MakeOptFlags(OptOptions* o) {
  FlagSet flags("opt", "[flags] MODEL",
                "Reads a model (.onnx, .pt2 or .weft), runs a pipeline of passes over it, and\n"
                "prints or writes the result.\n\n"
                "  opt --passes=default --emit=stats,text -o out.weft model.onnx\n"
                "  opt --passes='fixpoint(canonicalize,cse,dce)' --emit=text model.weft\n"
                "  opt --verify=semantics model.onnx");
  AddPipelineFlags(flags, o);
  AddOutputFlags(flags, o);
  AddRemarkFlags(flags, o);
  AddReplayFlags(flags, o);
  AddInformationFlags(flags, o);
  return flags;
}

}  // namespace weft::tools
