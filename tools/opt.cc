// opt: reads a model, runs a pipeline over it, prints and writes the result.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "api/compiler.h"
#include "api/describe.h"
#include "api/model_io.h"
#include "api/rule_file.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"

namespace weft::tools {
namespace {

struct Options {
  std::string passes = "default";
  std::string emit = "stats";
  std::string output;
  std::string verify = "structure";
  std::string case_file = "case.weft";
  std::vector<std::string> print_after;
  std::vector<std::string> inputs;
  int64_t seed = 0;
  bool remarks = false;
  std::string near_misses;
  bool list_passes = false;
  bool list_ops = false;
  bool list_rules = false;
  std::string rules;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("opt", "[flags] MODEL",
                "Reads a model (.onnx or .weft), runs a pipeline of passes over it, and\n"
                "prints or writes the result.\n\n"
                "  opt --passes=default --emit=stats,text -o out.weft model.onnx\n"
                "  opt --passes='fixpoint(canonicalize,cse,dce)' --emit=text model.weft\n"
                "  opt --verify=semantics model.onnx");
  flags.Section("Pipeline");
  flags.String("passes", &o->passes, "PIPELINE",
               "Passes, named pipelines and fixpoint(...), with commas\n"
               "between them; --list-passes shows all. Default: default");
  flags.String("verify", &o->verify, "none|structure|semantics[=rewrite]",
               "After each pass that changed something: nothing, the\n"
               "verifier, or also runs of what it changed, before and after,\n"
               "on seeded inputs. With =rewrite after each single rewrite:\n"
               "every pass runs once more for each rewrite that it does.\n"
               "Default: structure");
  flags.String("case", &o->case_file, "FILE",
               "Where --verify=semantics leaves a small graph that shows the\n"
               "fault it found. Default: case.weft");
  flags.Int("seed", &o->seed, "N", "Seed of --verify=semantics. Default: 0");
  flags.Repeated("input", &o->inputs, "NAME=FILE",
                 "Value of an input that shapes depend on (.npy or .pb); the\n"
                 "program is then made for that value");
  flags.Section("Output");
  flags.String("emit", &o->emit, "KIND,...", "stats, text, dot, svg, onnx. Default: stats");
  flags.String("o", &o->output, "FILE",
               "Where the graph goes; default: standard output. Statistics\n"
               "go to standard error when the graph takes standard output.\n"
               "With several graph kinds, FILE's suffix is replaced by each");
  flags.Repeated("print-after", &o->print_after, "PASS|changed|all",
                 "Print the module to standard error after these passes");
  flags.Bool("remarks", &o->remarks, "Print what passes did, missed and found out");
  flags.String("rules", &o->rules, "FILE",
               "Rewrite rules for canonicalize (docs/rule-files.md). Each is\n"
               "tested on random instances first; one that is wrong is refused");
  flags.String("near-misses", &o->near_misses, "REGEX",
               "Print why rules of these names did not fire: the places where\n"
               "most of the pattern matched, and the condition that failed");
  flags.Section("Information");
  flags.Bool("list-passes", &o->list_passes, "List passes with their options, and named pipelines");
  flags.Bool("list-rules", &o->list_rules,
             "List rewrite rules: identity, contract, status, pattern");
  flags.Bool("list-ops", &o->list_ops, "List ops with their schemas");
  return flags;
}

absl::Status CheckPrintAfter(const Options& o) {
  const std::vector<std::string> names = BuiltinPasses().PassNames();
  for (const std::string& name : o.print_after) {
    if (name == "all" || name == "changed" ||
        std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    const std::string closest = ClosestName(name, names);
    return absl::InvalidArgumentError(
        absl::StrCat("--print-after: unknown pass \"", name, "\"",
                     closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?")));
  }
  return absl::OkStatus();
}

bool PrintsAfter(const Options& o, const PassReport& report) {
  return std::any_of(o.print_after.begin(), o.print_after.end(), [&](const std::string& name) {
    return name == "all" || name == report.pass || (name == "changed" && report.changed);
  });
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
                                                     "\"; known are stats, text, dot, svg, onnx"));
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
                      kind.name == "text" ? "weft" : kind.name);
}

absl::Status WriteGraphs(const Options& o, const Module& module,
                         const std::vector<EmitKind>& kinds) {
  for (const EmitKind& kind : kinds) {
    auto bytes = Emit(module, kind.format);
    if (!bytes.ok()) return bytes.status();
    absl::Status status = WriteOutput(OutputPath(o, kind, kinds.size() > 1), *bytes);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<CompileResult> RunPasses(const Options& o, const RuleSet* rules, Module& module) {
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
  compile.seed = static_cast<uint64_t>(o.seed);
  compile.case_file = ResolvePath(o.case_file);
  compile.context.remarks = o.remarks;
  compile.context.near_misses = o.near_misses;
  compile.context.rules = rules;
  compile.after_pass = [&o](const PassReport& report, const Module& after) {
    if (PrintsAfter(o, report)) {
      auto text = Emit(after, EmitFormat::kText);
      if (!text.ok()) return text.status();
      std::cerr << "// ----- after " << report.path << " -----\n" << *text;
    }
    return absl::OkStatus();
  };
  return Compile(module, compile);
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

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (o.list_passes) {
    std::cout << BuiltinPasses().Help();
    return kExitOk;
  }
  std::unique_ptr<RuleSet> rules;
  if (!o.rules.empty()) {
    auto loaded = LoadRuleFile(ResolvePath(o.rules));
    if (!loaded.ok()) return loaded.status();
    rules = *std::move(loaded);
  }
  if (o.list_rules) {
    std::cout << DescribeRules(rules.get());
    return kExitOk;
  }
  if (o.list_ops) {
    std::cout << DescribeOps();
    return kExitOk;
  }
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one model file; --help shows how");
  }
  bool stats = false;
  auto kinds = ParseEmit(o.emit, &stats);
  if (!kinds.ok()) return kinds.status();
  absl::Status status = CheckPrintAfter(o);
  if (!status.ok()) return status;
  auto load = ReadInputs(o);
  if (!load.ok()) return load.status();

  const absl::Time begin = absl::Now();
  auto module = LoadModel(ResolvePath(positional[0]), *load);
  if (!module.ok()) return module.status();
  const absl::Duration load_time = absl::Now() - begin;
  auto result = RunPasses(o, rules.get(), **module);
  if (!result.ok()) {
    // The semantic check did its work, and the answer is bad.
    if (!absl::IsFailedPrecondition(result.status())) return result.status();
    std::cerr << "opt: " << result.status().message() << "\n";
    return kExitBad;
  }

  std::ostream& info =
      !kinds->empty() && (o.output.empty() || o.output == "-") ? std::cerr : std::cout;
  if (stats) {
    info << absl::StrFormat("%s: loaded in %.1f ms\n", positional[0],
                            absl::ToDoubleMilliseconds(load_time))
         << result->report.ToString();
  }
  if (absl::StartsWith(o.verify, "semantics")) {
    info << result->semantics.ToString() << "\n";
  }
  for (const Remark& remark : result->remarks) info << remark.ToString() << "\n";
  status = WriteGraphs(o, **module, *kinds);
  if (!status.ok()) return status;
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  weft::tools::Options options;
  auto flags = weft::tools::MakeFlags(&options);
  return weft::tools::RunTool(flags, argc, argv, [&](const std::vector<std::string>& positional) {
    return weft::tools::Run(options, positional);
  });
}
