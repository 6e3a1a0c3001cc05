// Log lines by component, and artifacts: whole texts (a graph, guards, generated code)
// that are printed only when they are asked for by name. Settings are PyTorch's
// TORCH_LOGS:
//
//   +fusion,-shapes,guards
//
// `name` is info and worse, `+name` also debug lines, `-name` errors alone; "all" stands
// for every component. An artifact is on or not there. Lines go to stderr in the form of
// absl logging:
//
//   I1121 16:20:00.123456   4711 [fusion] fuse_vertical: ...
//
// Off, which is what everything is to begin with, a line costs one load and one branch.
#ifndef WEFT_BASE_LOG_H_
#define WEFT_BASE_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

enum class LogComponent : uint8_t {
  kImport,    // Files that are read.
  kPasses,    // What ran, how long, what changed; remarks of other passes.
  kShapes,    // propagate_shapes, assume_sizes, specialize_symbols.
  kFusion,    // fuse_*: what was fused, and what was not and why.
  kLowering,  // Graphs to plans.
  kCodegen,   // Generated kernels and their compiler.
  kExecutor,  // Sizes that are met for the first time, memory.
  kDynamic,   // Variants of programs: sizes that became symbolic.
};
inline constexpr int kNumLogComponents = 8;

enum class LogArtifact : uint8_t {
  kGraph,       // The module that a pipeline gets, and what it leaves.
  kPassGraphs,  // After each pass that changed something.
  kGuards,      // Of each variant that is compiled.
  kRecompiles,  // Why a variant was compiled.
  kPlan,        // What a graph was lowered to.
  kOutputCode,  // Generated C++.
  kPerfHints,   // Work that was not done well: missed optimisations, slow routines.
};
inline constexpr int kNumLogArtifacts = 7;

enum class LogSeverity : uint8_t { kDebug, kInfo, kWarning, kError };

// Replaces the settings. InvalidArgument names a word that is none of the names, and says
// which come close. Empty text turns everything off.
absl::Status SetLogs(absl::string_view settings);
// The components and artifacts, one a line, with what they say.
std::string LogsHelp();

// Where lines go, without a newline at their ends; stderr by default. Called from any
// thread, one line at a time.
void SetLogSink(std::function<void(absl::string_view line)> sink);

namespace internal {
// Four bits for each component: its severities; above them a bit for each artifact.
extern std::atomic<uint64_t> log_state;
inline bool LogBit(int bit) {
  return ABSL_PREDICT_FALSE((log_state.load(std::memory_order_relaxed) >> bit & 1) != 0);
}
}  // namespace internal

// For work that only a line needs.
inline bool IsLogged(LogComponent component, LogSeverity severity = LogSeverity::kInfo) {
  return internal::LogBit(4 * static_cast<int>(component) + static_cast<int>(severity));
}
inline bool IsLogged(LogArtifact artifact) {
  return internal::LogBit(4 * kNumLogComponents + static_cast<int>(artifact));
}

// Nothing happens when it is not logged. Text of several lines has the prefix in each.
void Log(LogComponent component, LogSeverity severity, absl::string_view text);
inline void Log(LogComponent component, absl::string_view text) {
  Log(component, LogSeverity::kInfo, text);
}
void Log(LogArtifact artifact, absl::string_view text);

}  // namespace weft

#endif  // WEFT_BASE_LOG_H_
