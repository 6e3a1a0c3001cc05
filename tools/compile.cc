// compile: compiles a model ahead of time and writes it with its plan into a .weftb file, with
// machine code into a shared object, or as C++ source.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/pipeline_flags.h"

namespace weft::tools {
namespace {

struct Options {
  std::string target = "cpu";
  PipelineFlags pipeline;
  std::string output;
  std::string emit;
  std::string compiler = "c++";
  std::string strip;
  bool pack = false;
  bool kernels = false;
  std::string kernel_list;
  bool check = false;
  bool describe = false;
  int64_t seed = 0;
  std::string log;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("compile", "MODEL -o FILE.weftb|FILE.so|FOLDER [flags]",
                "Compiles the function main of a model (.onnx, .pt2, .weft or .weftb) for a\n"
                "target and writes it, with its plan and its constants, into one file. A\n"
                "program without a compiler runs the plan (docs/deploy.md); opt, run, diff and\n"
                "bench read the graph of a .weftb file. A .so has the kernels as machine code\n"
                "for the CPU, too; --emit=cc writes them as C++ beside the file, with an\n"
                "interface of C for the model.\n\n"
                "  compile model.onnx -o model.weftb\n"
                "  compile --target=cpu:avx2,cpu:avx512 --pack model.onnx -o model.weftb\n"
                "  compile --check --strip=names,graph model.pt2 -o model.so\n"
                "  compile --emit=cc model.onnx -o net\n"
                "  compile --describe model.weftb");
  flags.String("target", &o->target, "TARGET,...",
               "Executor of the plan: cpu or cuda, or cpu with instruction sets. A file has\n"
               "a plan for each of them, and programs run the best that they can: cpu (the\n"
               "set of this machine), cpu:avx2, cpu:avx512. Default: cpu");
  AddPipelineFlags(flags, &o->pipeline);
  flags.String("o", &o->output, "FILE", "The compiled model, as a .weftb or .so file, or a folder");
  flags.String("emit", &o->emit, "weftb|so|cc",
               "Kind of output. cc: -o net writes net/net.cc, net/net.h and net/net.weftb.\n"
               "Default: by the name of the file");
  flags.String("compiler", &o->compiler, "PROGRAM", "Compiler of machine code. Default: c++");
  flags.String("strip", &o->strip, "PART,...",
               "Leave out parts: names, those of source nodes in traces and messages;\n"
               "graph, so that the file holds the plan alone; kernels, by themselves:\n"
               "copies a .weftb file without its machine code");
  flags.Bool("pack", &o->pack,
             "Also write the weights as the routines of the CPU read them: programs start\n"
             "sooner and share them, and the file is larger");
  flags.Bool("kernels", &o->kernels,
             "Also write the kernels into a .weftb file as machine code, for each target:\n"
             "programs that allow it run them in place of the interpreter. A .so always\n"
             "has them");
  flags.String("list-kernels", &o->kernel_list, "FILE",
               "Also write a list of the kernels and routines that the plans need, for a\n"
               "runtime that has no others");
  flags.Bool("check", &o->check,
             "Compare what was written with the model on the reference, for several sizes\n"
             "and seeded inputs: the file says what was compared; exit status 1, and no such\n"
             "note, if they differ");
  flags.Bool("describe", &o->describe,
             "Print what compiled files say of themselves: origin, plans, state, checks");
  flags.Int("seed", &o->seed, "N", "Seed of these inputs. Default: 0");
  AddLogFlag(flags, &o->log);
  return flags;
}

absl::Status ReadStrip(const std::string& strip, CompiledFileOptions* file) {
  for (const absl::string_view part : absl::StrSplit(strip, ',', absl::SkipEmpty())) {
    if (part == "names") {
      file->names = false;
    } else if (part == "graph") {
      file->graph = false;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--strip takes names and graph, or kernels alone, not \"", part, "\""));
    }
  }
  return absl::OkStatus();
}

// "weftb", "so" or "cc": what --emit says, or the name of the output, which do not differ.
absl::StatusOr<std::string> KindOf(const Options& o, const std::vector<std::string>& positional) {
  std::string kind = "cc";
  for (const char* file : {"weftb", "so"}) {
    if (absl::EndsWith(o.output, absl::StrCat(".", file))) kind = file;
  }
  const bool known = o.emit == kind || (o.emit.empty() && kind != "cc");
  if (known && positional.size() == 1 && !o.output.empty()) return kind;
  return absl::InvalidArgumentError(
      "expected one model and -o FILE.weftb, -o FILE.so, or --emit=cc -o FOLDER; --help shows how");
}

// Writes the compiled model; returns the path of the file that has its plan.
absl::StatusOr<std::string> Write(const std::string& kind, Module& module, const Backend& backend,
                                  const std::string& path, const CompiledFileOptions& file) {
  if (kind == "cc") {
    WEFT_ASSIGN_OR_RETURN(const std::string stem, WriteCompiledSource(module, backend, path, file));
    return absl::StrCat(stem, ".weftb");
  }
  WEFT_RETURN_IF_ERROR(kind == "so" ? WriteCompiledLibrary(module, backend, path, file)
                                    : WriteCompiledFile(module, backend, path, file));
  return path;
}

// Says how large the file is, and what the runtime cannot run of it.
absl::Status Describe(const Options& o, const std::string& path, const std::string& target) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  std::cout << (o.emit == "cc" ? path : o.output) << ": " << (error ? 0 : bytes) << " bytes\n";
  WEFT_ASSIGN_OR_RETURN(const auto missing, OpsOutsideRuntime(path, target));
  if (!missing.empty()) {
    PrintMessage("compile",
                 absl::StrCat("warning: the runtime without a compiler lacks ops of this plan: ",
                              absl::StrJoin(missing, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool helped, StartLogs(o.log));
  if (helped) return kExitOk;
  if (o.describe) {
    for (const std::string& path : positional) {
      WEFT_ASSIGN_OR_RETURN(const std::string text, DescribeCompiledFile(ResolvePath(path)));
      std::cout << text;
    }
    return kExitOk;
  }
  WEFT_ASSIGN_OR_RETURN(const std::string kind, KindOf(o, positional));
  if (o.strip == "kernels" && kind == "weftb") {
    WEFT_RETURN_IF_ERROR(StripMachineCode(ResolvePath(positional[0]), ResolvePath(o.output)));
    return kExitOk;
  }
  CompiledFileOptions file;
  file.pack = o.pack;
  file.kernels = o.kernels;
  file.compiler = o.compiler;
  WEFT_RETURN_IF_ERROR(ReadStrip(o.strip, &file));
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(o.pipeline.LoadExtensions(extensions));
  WEFT_ASSIGN_OR_RETURN(FileTargets targets, ParseFileTargets(o.target));
  file.instruction_sets = std::move(targets.instruction_sets);
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, extensions.backends().Find(targets.backend));
  LoadOptions load;
  load.ops = &extensions.ops();
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadShown(positional[0], load));
  CompileOptions compile;
  WEFT_RETURN_IF_ERROR(o.pipeline.Apply(&extensions, &compile));
  SetTarget(*backend, &compile);
  file.pipeline = compile.passes;
  file.source_hash = HashSource(*module);
  std::unique_ptr<Module> source;
  CompiledCheck check;
  if (o.check) {
    source = module->Clone();
    file.source = source.get();
    file.check_seed = o.seed;
    file.check = &check;
  }
  WEFT_RETURN_IF_ERROR(Compile(*module, compile).status());
  WEFT_ASSIGN_OR_RETURN(const std::string path,
                        Write(kind, *module, *backend, ResolvePath(o.output), file));
  WEFT_RETURN_IF_ERROR(Describe(o, path, targets.backend));
  if (!o.kernel_list.empty()) {
    WEFT_ASSIGN_OR_RETURN(const std::string list, ListKernels(path));
    WEFT_RETURN_IF_ERROR(WriteFile(ResolvePath(o.kernel_list), list));
  }
  if (!o.check) return kExitOk;
  std::cout << check.ToString() << "\n";
  return check.difference.empty() ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
