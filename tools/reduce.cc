// reduce: makes a model smaller while it shows a given fault.
#include "api/check/reduce.h"

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "api/check/predicates.h"
#include "api/check/reduce_pipeline.h"
#include "api/extensions.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/progress.h"
#include "tools/common/target_flags.h"

namespace weft::tools {
namespace {

struct Options {
  std::string predicate = "wrong-numbers";
  std::string target;
  PipelineFlags pipeline;
  std::string log;
  std::string output = "reduced.weft";
  int64_t seed = 0;
  int64_t max_tests = 5000;
  int64_t timeout = 60;
  bool keep_passes = false;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("reduce", "[flags] MODEL",
                "Reads a model (.onnx, .pt2, .weft or .weftb) and makes it smaller while the\n"
                "predicate holds; the same for the pipeline.\n\n"
                "  reduce --predicate=wrong-numbers --passes=default model.onnx\n"
                "  reduce --predicate=message='no fixpoint' model.weft\n"
                "  reduce --predicate=command='./check.sh {}' model.weft");
  flags.Section("Predicate");
  flags.String("predicate", &o->predicate, "PREDICATE",
               "wrong-numbers: the passes change the model's results.\n"
               "crash: the passes kill the process, or take too long.\n"
               "verifier-error: the passes leave a graph that the verifier refuses.\n"
               "message=REGEX: an error or a remark of the passes matches.\n"
               "command=COMMAND: the shell command, with {} for a file with the\n"
               "graph, exits with status 0; --passes is not used.\n"
               "Default: wrong-numbers");
  AddTargetFlag(flags, &o->target, "What is compiled for. Default: none");
  AddPipelineFlags(flags, &o->pipeline);
  flags.Bool("keep-passes", &o->keep_passes, "Do not make the pipeline shorter");
  flags.Int("seed", &o->seed, "N", "Seed of wrong-numbers. Default: 0");
  flags.IntBetween("timeout", &o->timeout, 1, 1000000, "SECONDS",
                   "Time limit of one test of crash. Default: 60");
  AddLogFlag(flags, &o->log);
  flags.Section("Work and output");
  flags.Int("max-tests", &o->max_tests, "N", "Limit of tests of the predicate. Default: 5000");
  flags.String("o", &o->output, "FILE", "The reduced graph. Default: reduced.weft");
  return flags;
}

// The pipeline, and what its passes run with.
absl::StatusOr<PassRun> ReadPipeline(const Options& o, const Extensions& extensions) {
  CompileOptions compile;
  WEFT_RETURN_IF_ERROR(o.pipeline.Apply(&extensions, &compile));
  if (!o.target.empty()) {
    WEFT_ASSIGN_OR_RETURN(const Backend* const backend, extensions.backends().Find(o.target));
    SetTarget(*backend, &compile);
  }
  PassRun run;
  run.passes = compile.passes.empty() ? "default" : compile.passes;
  run.registry = compile.registry;
  run.context = compile.context;
  WEFT_RETURN_IF_ERROR(Pipeline::Parse(run.passes, *run.registry).status());
  return run;
}

absl::StatusOr<ModulePredicate> MakePredicate(const Options& o, const PassRun& run) {
  absl::string_view text = o.predicate;
  if (text == "wrong-numbers") return WrongNumbers(run, static_cast<uint64_t>(o.seed));
  if (text == "crash") return Crashes(run, o.timeout);
  if (text == "verifier-error") return BreaksInvariants(run);
  if (absl::ConsumePrefix(&text, "message=")) {
    auto says = Says(run, std::string(text));
    if (says.ok()) return says;
    return absl::InvalidArgumentError(
        absl::StrCat("--predicate=message: ", says.status().message()));
  }
  if (absl::ConsumePrefix(&text, "command=")) {
    return CommandSucceeds(std::string(text),
                           absl::StrCat(ResolvePath(o.output), ".candidate.weft"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--predicate takes wrong-numbers, crash, verifier-error, message=REGEX or "
                   "command=COMMAND, not \"",
                   o.predicate, "\""));
}

ReduceOptions MakeReduceOptions(const Options& o, ProgressLine* line) {
  ReduceOptions options;
  options.max_tests = o.max_tests;
  if (line->shown()) {
    options.progress = [line](const ReduceProgress& progress) {
      line->Show(absl::StrFormat("%d nodes after %d tests (%s)", progress.nodes, progress.tests,
                                 progress.step));
    };
  }
  return options;
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool helped, StartLogs(o.log));
  if (helped) return kExitOk;
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one model file; --help shows how");
  }
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(o.pipeline.LoadExtensions(extensions));
  WarnOfAssumedRules("reduce", extensions);
  WEFT_ASSIGN_OR_RETURN(PassRun run, ReadPipeline(o, extensions));
  WEFT_ASSIGN_OR_RETURN(auto holds, MakePredicate(o, run));
  LoadOptions load;
  load.ops = &extensions.ops();
  WEFT_ASSIGN_OR_RETURN(auto module, LoadShown(positional[0], load));
  ProgressLine progress;
  auto reduced = Reduce(*module, holds, MakeReduceOptions(o, &progress));
  progress.Clear();
  if (!reduced.ok()) {
    if (!absl::IsInvalidArgument(reduced.status())) return reduced.status();
    PrintMessage("reduce", reduced.status().message());
    return kExitBad;
  }
  std::string passes = run.passes;
  const bool command = absl::StartsWith(o.predicate, "command=");
  if (!o.keep_passes && !command) {
    const auto still_holds = [&](const std::string& text) {
      PassRun shorter = run;
      shorter.passes = text;
      auto still = MakePredicate(o, shorter);
      return still.ok() && (*still)(*reduced->module);
    };
    WEFT_ASSIGN_OR_RETURN(passes, ReducePipeline(run.passes, extensions.passes(), still_holds));
  }
  WEFT_ASSIGN_OR_RETURN(auto text, Emit(*reduced->module, EmitFormat::kText));
  WEFT_RETURN_IF_ERROR(WriteOutput(o.output, text));
  std::cout << absl::StrFormat("%d nodes before, %d after, %d tests%s\n", reduced->nodes_before,
                               reduced->nodes_after, reduced->tests,
                               reduced->exhausted ? " (--max-tests reached)" : "");
  if (!command) std::cout << "--passes='" << passes << "'\n";
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
