// The tables are the rules; build_defs/BUILD.bazel states the same order for Bazel's targets.
#include "tests/layering/layers.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

std::vector<std::string> With(std::vector<std::string> names,
                              const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// A layer that may include whatever the headers of another one include.
struct Reexport {
  absl::string_view layer;
  absl::string_view headers_of;
};
constexpr Reexport kReexporting = {"tools", "api"};

// A pass does not include another pass. The pass of a file is the first word after `passes/`:
// passes/cse.cc, passes/cse.h and passes/cse/table.h are all of `cse`. What all passes may include
// lies in rooms of its own.
// The one place that composes passes.
constexpr absl::string_view kPassComposer = "pipelines";

// Projects that stand for programs out of this tree: of Weft they see what is installed.
constexpr absl::string_view kForeign[] = {"examples/c", "examples/device", "examples/embed",
                                          "examples/plugin", "examples/source"};

// Libraries that a layer of kAbseilOnly would name in angle brackets.
constexpr absl::string_view kLibraryPrefixes[] = {
    "benchmark/", "flatbuffers/", "gmock/", "google/", "gtest/",
    "minizip/",   "nlohmann/",    "omp.h",  "onnx/",   "zlib.h",
};

bool IsWithin(absl::string_view path, absl::string_view folder) {
  return absl::ConsumePrefix(&path, folder) && absl::StartsWith(path, "/");
}

bool Holds(const Layer& layer, absl::string_view path) {
  if (!absl::ConsumePrefix(&path, layer.name)) return false;
  return absl::StartsWith(path, "/") || path == ".h" || path == ".cc";
}

}  // namespace

const std::vector<Layer>& Layers() {
  static const auto& kBelowApi =
      *new std::vector<std::string>{"api/version", "base",          "backends/...", "lowering/...",
                                    "passes/...",  "serialize/...", "graph/...",    "profiler/..."};
  static const auto& kPlan = *new std::vector<std::string>{
      "base",
      "lowering/kernel",
      "lowering/kernel_schedule",
      "lowering/plan",
      "lowering/plan_constants",
      "lowering/plan_facts",
      "lowering/plan_ops",
      "lowering/failing_steps",
      "lowering/finish_kernel",
      "lowering/memory_plan",
      "lowering/place_intervals",
  };
  // Plans as text and their checks, and schedules, for programs without graphs and ops. Each may
  // include those before it.
  static const auto& kPlanText = *new std::vector<std::string>{
      "lowering/check_schedule",     "lowering/kernel_cost",      "lowering/kernel_body",
      "lowering/schedule_kernel",    "lowering/index_map",        "lowering/write_backs_check",
      "lowering/plan_text",          "lowering/plan_text_reader", "lowering/plan_text_facts",
      "lowering/plan_text_ops",      "lowering/plan_text_kernel", "lowering/plan_text_names",
      "lowering/plan_text_schedule", "lowering/plan_verifier",    "lowering/kernel_verifier",
      "lowering/plan_text_parse",    "lowering/plan_text_print",
  };
  // What the CPU runs plans with, below all that knows graphs and ops.
  static const auto& kCpuRuntime = *new std::vector<std::string>{
      "base",
      "backends/cpu/kernels",
      "backends/cpu/threads",
      "backends/runtime",
      "lowering/check_schedule",
      "lowering/kernel_body",
      "lowering/schedule_kernel",
      "graph/sym",
      "graph/target",
      "graph/tensor",
      "graph/ir/attr",
      "graph/ir/attrs",
      "graph/ir/op_schema",
      "graph/ops/nn/activations",
      "graph/ops/signal/chirp",
      "graph/ops/vision/resample",
      "profiler",
  };
  static const auto& kApiRooms = *new std::vector<std::string>{
      "api", "api/check", "api/check/target", "api/dynamic", "api/inspect", "api/quantize"};
  static auto& layers = *new std::vector<Layer>{
      // The C interfaces, for programs out of this tree.
      {"api/c", kAbseilOnly, {}},
      {"api/version", kAbseilOnly, {}},
      {"base", kAbseilOnly, {}},
      {"profiler", kAbseilOnly, {"base"}},
      // Files of traces and what is made of them, apart from recording.
      {"profiler/sinks", kAnyLibrary, {"base", "profiler"}},
      {"profiler/read", kAnyLibrary, {"base", "profiler"}},
      {"profiler/analysis", kAnyLibrary, {"base", "profiler", "profiler/sinks", "profiler/read"}},
      {"graph/sym", kAbseilOnly, {"base"}},
      {"graph/tensor", kAbseilOnly, {"base", "graph/sym"}},
      {"graph/ir/attr", kAbseilOnly, {"base", "graph/sym", "graph/tensor"}},
      // Attributes by name, and the schemas that name them, without ops.
      {"graph/ir/op_schema", kAbseilOnly, {"graph/ir/attr"}},
      {"graph/ir/attrs",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/attr", "graph/ir/op_schema"}},
      {"graph/ir", kAbseilOnly, {"base", "graph/sym", "graph/tensor", "graph/ir/..."}},
      // The parser of modules asks the verifier, which shows nodes.
      {"graph/text/parts", kAbseilOnly, {"base", "graph/sym", "graph/tensor", "graph/ir/..."}},
      {"graph/target",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/...", "graph/text/parts"}},
      {"graph/verify",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/...", "graph/text/parts"}},
      {"graph/text",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/...", "graph/text/parts", "graph/verify"}},
      // Activations of recurrent ops as data, without ops.
      {"graph/ops/nn/activations", kAbseilOnly, {}},
      // The elements that interpolate adds up, without ops.
      {"graph/ops/vision/resample", kAbseilOnly, {}},
      // Tables of Fourier transforms, without ops.
      {"graph/ops/signal/chirp", kAbseilOnly, {}},
      {"graph/ops",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/...", "graph/ops/nn/activations",
        "graph/ops/vision/resample", "graph/text/...", "graph/verify"}},
      // Costs of nodes: it reads the ops.
      {"graph/cost",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir/...", "graph/ops"}},
      {"serialize", kAnyLibrary, {"base", "graph/...", "profiler"}},
      {"serialize/onnx", kAnyLibrary, {"base", "serialize", "graph/...", "profiler"}},
      {"serialize/onnx/import",
       kAnyLibrary,
       {"base", "serialize", "serialize/onnx", "graph/...", "profiler"}},
      {"serialize/onnx/export",
       kAnyLibrary,
       {"base", "serialize", "serialize/onnx", "graph/...", "profiler"}},
      // The engine knows no pass; what several passes share lies beside it.
      {"passes/engine", kAnyLibrary, {"base", "graph/...", "profiler"}},
      {"passes/fuse", kAnyLibrary, {"base", "passes/engine", "graph/...", "profiler"}},
      {"passes/quantize", kAnyLibrary, {"base", "passes/engine", "graph/...", "profiler"}},
      {"passes/sizes", kAnyLibrary, {"base", "passes/engine", "graph/...", "profiler"}},
      {"passes",
       kAnyLibrary,
       {"base", "passes/engine", "passes/fuse", "passes/quantize", "passes/sizes", "graph/...",
        "profiler"}},
      // Plans as data, for what runs them: attributes of routines are all that they have of the IR.
      {"lowering/kernel_schedule", kAbseilOnly, {}},
      {"lowering/kernel",
       kAnyLibrary,
       {"base", "lowering/kernel_schedule", "graph/sym", "graph/tensor"}},
      {"lowering/plan", kAnyLibrary, {"base", "lowering/kernel", "graph/sym", "graph/tensor"}},
      {"lowering/plan_constants", kAnyLibrary, {"base", "graph/sym", "graph/tensor"}},
      {"lowering/plan_facts",
       kAnyLibrary,
       {"base", "lowering/plan", "lowering/plan_constants", "graph/sym", "graph/tensor"}},
      {"lowering/memory_plan",
       kAnyLibrary,
       {"base", "lowering/kernel", "lowering/plan", "graph/sym", "graph/tensor"}},
      {"lowering/place_intervals", kAnyLibrary, {"base", "lowering/memory_plan"}},
      {"lowering/plan_ops",
       kAnyLibrary,
       {"base", "lowering/kernel", "lowering/plan", "lowering/plan_facts", "graph/sym",
        "graph/tensor", "graph/ir/attr", "graph/ir/op_schema"}},
      {"lowering/failing_steps",
       kAnyLibrary,
       {"base", "lowering/kernel", "lowering/plan", "graph/sym", "graph/tensor"}},
      {"lowering/finish_kernel",
       kAnyLibrary,
       {"base", "lowering/kernel", "lowering/plan", "graph/sym", "graph/tensor"}},
      {"lowering", kAnyLibrary, With(With(kPlan, kPlanText), {"graph/...", "profiler"})},
      // Emitters share this room. It reads kernels, and neither graphs nor plans.
      {"lowering/emit",
       kAbseilOnly,
       {"lowering/kernel", "lowering/kernel_schedule", "graph/sym", "graph/tensor"}},
      // Files that hold plans; modules in them have a room of their own, so that a program without
      // graphs and ops can read the plans.
      {"serialize/flat", kAnyLibrary, With(With(kPlan, kPlanText), {"graph/tensor"})},
      {"serialize/flat/weftb_module", kAnyLibrary, {"base", "serialize/flat", "graph/..."}},
      // Runs plans; it knows neither graphs nor ops nor text.
      {"backends/runtime", kAnyLibrary,
       With(kPlan,
            {"graph/sym", "graph/tensor", "graph/ir/attr", "graph/ir/op_schema", "profiler"})},
      // `backends` itself holds what the backends share, such as the plugin interface.
      {"backends",
       kAnyLibrary,
       {"base", "backends/runtime", "lowering/...", "graph/...", "profiler"}},
      {"backends/reference",
       kAnyLibrary,
       {"base", "backends", "backends/runtime", "lowering/...", "graph/...", "profiler"}},
      // Code for one instruction set, and functions in a compiled file, know the least.
      {"backends/cpu/kernels", kAnyLibrary, {"base", "lowering/kernel", "graph/tensor"}},
      {"backends/cpu/jit", kAnyLibrary, {"base"}},
      {"backends/cpu/emit",
       kAbseilOnly,
       {"base", "lowering/kernel", "lowering/kernel_schedule", "lowering/check_schedule",
        "lowering/emit", "graph/sym", "graph/tensor"}},
      {"backends/cpu/threads", kAnyLibrary, {}},
      {"backends/cpu/interpreter", kAnyLibrary,
       With(With(kPlan, kCpuRuntime), {"lowering/kernel_cost"})},
      {"backends/cpu/onednn", kAnyLibrary, With(kPlan, kCpuRuntime)},
      {"backends/cpu/library", kAnyLibrary,
       With(With(kPlan, kCpuRuntime), {"backends/cpu/interpreter", "backends/cpu/onednn"})},
      {"backends/cpu/generated_call", kAnyLibrary, With(kPlan, kCpuRuntime)},
      {"backends/cpu/launcher_stats", kAnyLibrary, {}},
      {"backends/cpu/launcher", kAnyLibrary,
       With(With(kPlan, kCpuRuntime),
            {"backends/cpu/generated_call", "backends/cpu/interpreter",
             "backends/cpu/launcher_stats", "backends/cpu/library", "backends/cpu/onednn"})},
      // A program of these runs a plan without a compiler.
      {"backends/cpu/standalone", kAnyLibrary,
       With(With(kPlan, kCpuRuntime),
            {"backends/cpu/generated_call", "backends/cpu/launcher", "backends/cpu/library",
             "backends/cpu/onednn", "graph/text/parts"})},
      {"backends/cpu",
       kAnyLibrary,
       {"base", "backends", "backends/runtime", "backends/cpu/...", "lowering/...", "graph/...",
        "profiler"}},
      {"backends/cuda/driver", kAbseilOnly, {"base"}},
      {"backends/cuda/emit",
       kAbseilOnly,
       {"base", "lowering/kernel", "lowering/kernel_schedule", "lowering/check_schedule",
        "lowering/emit", "graph/sym", "graph/tensor"}},
      {"backends/cuda/trace", kAbseilOnly, {"base", "backends/cuda/driver", "profiler"}},
      {"backends/cuda/device",
       kAbseilOnly,
       {"base", "backends/cuda/driver", "backends/cuda/trace", "backends/runtime", "graph/sym",
        "graph/tensor", "lowering/plan", "profiler"}},
      {"backends/cuda/routines",
       kAbseilOnly,
       {"base", "backends/cuda/device", "backends/cuda/driver", "backends/cuda/emit",
        "backends/runtime", "graph/ir", "graph/ir/attrs", "graph/ir/op_schema",
        "graph/ops/signal/chirp", "graph/ops/vision/resample", "graph/sym", "graph/tensor",
        "lowering/finish_kernel", "lowering/plan", "lowering/plan_constants", "lowering/plan_ops"}},
      // A library of its own, which stands for the driver.
      {"backends/cuda/emulate", kAbseilOnly, {"backends/cuda/driver"}},
      {"backends/cuda",
       kAnyLibrary,
       {"base", "backends", "backends/runtime", "backends/cuda/...", "lowering/...", "graph/...",
        "profiler"}},
      // Devices out of tree; what interprets their kernels is given to it.
      {"backends/plugin",
       kAnyLibrary,
       {"api/c", "base", "backends", "backends/runtime", "lowering/...", "graph/...", "profiler"}},
      // Checks of a compilation.
      {"api/check",
       kAnyLibrary,
       {"base", "backends", "backends/reference", "lowering/...", "passes/...", "graph/...",
        "profiler"}},
      // Compiler and Session, and what they take.
      {"api", kAnyLibrary, With(kBelowApi, {"api/c", "api/check"})},
      {"api/check/target", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      {"api/dynamic", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      {"api/quantize", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      {"api/inspect", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      // Programs of compiled files, without a compiler.
      {"api/runtime", kAnyLibrary,
       With(With(kPlan, kPlanText),
            {"backends/cpu/generated_call", "backends/cpu/kernels", "backends/cpu/standalone",
             "backends/cpu/threads", "graph/tensor", "serialize/flat"})},
      // What stands on all rooms.
      {"api/model_io", kAnyLibrary, With(kBelowApi, kApiRooms)},
      {"api/compiled_program", kAnyLibrary, With(kBelowApi, {"api/runtime"})},
      {"api/compiled_check", kAnyLibrary,
       With(With(kBelowApi, kApiRooms), {"api/runtime", "api/compiled_program", "api/model_io"})},
      {"api/compiled_file", kAnyLibrary,
       With(With(kBelowApi, kApiRooms), {"api/runtime", "api/compiled_check"})},
      {"api/program", kAnyLibrary, With(kBelowApi, kApiRooms)},
      // A header of other headers.
      {"api/weft",
       kAbseilOnly,
       {"api", "api/version", "api/compiled_file", "api/compiled_program", "api/model_io",
        "api/program", "base", "graph/ir", "graph/ops", "graph/tensor", "graph/text"}},
      {"api/test_data", kAnyLibrary, With(With(kBelowApi, kApiRooms), {"api/model_io"})},
      {"api/weights", kAnyLibrary, kBelowApi},
      {"api/calibration_data", kAnyLibrary, With(With(kBelowApi, kApiRooms), {"api/test_data"})},
      // The C interface: what needs no compiler, the rest, and a table without the rest.
      {"api/c/entries",
       kAnyLibrary,
       {"api/c", "api/runtime", "backends/cpu/threads", "backends/runtime", "base", "graph/sym",
        "graph/tensor", "profiler"}},
      {"api/c/library", kAnyLibrary,
       With(With(kBelowApi, kApiRooms),
            {"api/c", "api/c/entries", "api/model_io", "api/compiled_file", "api/compiled_program",
             "api/program", "api/runtime"})},
      {"api/c/runtime",
       kAnyLibrary,
       {"api/c", "api/c/entries", "api/runtime", "api/version", "profiler/sinks"}},
      // The models that tools build by name.
      {"examples/models", kAbseilOnly, {"base", "graph/..."}},
      // Tools look into the modules that api gives them. Also the headers that api's headers
      // include: see kReexporting.
      {"tools", kAnyLibrary, {"base", "api/...", "examples/models", "graph/ir", "profiler/..."}},
      {"examples", kAnyLibrary, With(kBelowApi, {"api/...", "examples/models"})},
      {"tests", kAnyLibrary, With(kBelowApi, {"api/...", "examples/...", "tools"})},
  };
  static const bool added = [] {
    std::vector<std::string> below =
        With(kPlan, {"graph/sym", "graph/tensor", "graph/target", "graph/ir/attr",
                     "graph/ir/op_schema", "graph/text/parts"});
    auto at = std::find_if(layers.begin(), layers.end(),
                           [](const Layer& layer) { return layer.name == "lowering"; });
    for (const std::string& name : kPlanText) {
      at = layers.insert(at, {name, kAnyLibrary, below}) + 1;
      below.push_back(name);
    }
    return true;
  }();
  static_cast<void>(added);
  return layers;
}

bool Lists(const Layer& layer, absl::string_view name) {
  return std::any_of(
      layer.may_include.begin(), layer.may_include.end(), [&](absl::string_view listed) {
        return absl::ConsumeSuffix(&listed, "/...") ? name == listed || IsWithin(name, listed)
                                                    : name == listed;
      });
}

bool IsForeign(absl::string_view path) {
  return std::any_of(std::begin(kForeign), std::end(kForeign),
                     [&](absl::string_view folder) { return IsWithin(path, folder); });
}

namespace {

const Layer* LayerOf(absl::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : Layers()) {
    if (Holds(layer, path) && (!best || layer.name.size() > best->name.size())) {
      best = &layer;
    }
  }
  return best;
}

std::string PassOf(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, "passes/")) return "";
  return std::string(path.substr(0, path.find_first_of("/.")));
}

// True if a quoted path is relative to the repository's root: its first folder is a layer's.
bool IsOurs(absl::string_view path) {
  const absl::string_view first = path.substr(0, path.find('/'));
  return std::any_of(Layers().begin(), Layers().end(), [&](const Layer& layer) {
    return layer.name == first || IsWithin(layer.name, first);
  });
}

// Why `file` may not include `include`; empty when it may.
std::string Objection(const SourceFile& file, const Layer& from, const Include& include,
                      const std::set<std::string>& reexported) {
  if (IsForeign(file.path)) {
    return IsOurs(include.path) ? "a foreign project includes what is installed, under weft/" : "";
  }
  if (absl::StrContains(include.path, "..") || !absl::StrContains(include.path, '/')) {
    return include.quoted ? "the path does not start at the repository's root" : "";
  }
  if (!include.quoted || !IsOurs(include.path)) {
    const bool known_library =
        include.quoted || std::any_of(std::begin(kLibraryPrefixes), std::end(kLibraryPrefixes),
                                      [&](absl::string_view prefix) {
                                        return absl::StartsWith(include.path, prefix);
                                      });
    if (from.libraries == kAbseilOnly && known_library && !IsWithin(include.path, "absl")) {
      return absl::StrCat(from.name, " stands on Abseil alone");
    }
    return "";
  }
  const Layer* to = LayerOf(include.path);
  if (to == nullptr) return "the path belongs to no layer";
  if (to == &from) {
    const std::string own = PassOf(file.path);
    const std::string other = PassOf(include.path);
    const bool allowed = own == other || own == kPassComposer;
    return allowed ? "" : "only passes/pipelines.cc composes passes";
  }
  if (Lists(from, to->name)) return "";
  if (from.name == kReexporting.layer && reexported.count(include.path)) return "";
  return absl::StrCat(from.name, " may not include ", to->name);
}

}  // namespace

std::vector<std::string> Violations(const std::vector<SourceFile>& files) {
  std::set<std::string> reexported;
  for (const SourceFile& file : files) {
    if (!IsWithin(file.path, kReexporting.headers_of) || !absl::EndsWith(file.path, ".h")) continue;
    for (const Include& include : file.includes) reexported.insert(include.path);
  }
  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    const Layer* layer = LayerOf(file.path);
    if (layer == nullptr) {
      violations.push_back(absl::StrCat(file.path, ":1: the file belongs to no layer"));
      continue;
    }
    for (const Include& include : file.includes) {
      const std::string why = Objection(file, *layer, include, reexported);
      if (why.empty()) continue;
      violations.push_back(
          absl::StrCat(file.path, ":", include.line, ": \"", include.path, "\": ", why));
    }
  }
  return violations;
}

}  // namespace weft
