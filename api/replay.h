// Replay files: what a failing or crashing pass leaves behind.
//
// A replay file is a module in text form, as it was before the pass, under a
// head of comments that holds the pass with its options and all that the run
// depends on; `opt --replay=FILE` runs it again.
#ifndef WEFT_API_REPLAY_H_
#define WEFT_API_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/crash_file.h"
#include "graph/core/graph.h"
#include "passes/pass_context.h"
#include "passes/pass_manager/report.h"

namespace weft {

struct Replay {
  std::string reason;  // One line.
  std::string passes;
  std::string verify = "structure";
  std::string rules;  // File of rules; may be empty.
  uint64_t seed = 0;
  PassContext::Options context;  // admitted, strict, rewrite_limit, budget.
};

// The head, with its command; `path` is where the file will be.
std::string ReplayHead(const Replay& replay, absl::string_view path);
// Errors name the line.
absl::StatusOr<Replay> ParseReplayHead(absl::string_view text);
absl::StatusOr<Replay> LoadReplay(const std::string& path);

struct ReplayOptions {
  std::string folder;  // Empty: no files.
  // Write modules of any size. The text is made anew before each pass when the
  // one before it changed something. Without it only modules of at most 2,000
  // nodes and 1 MB of constants are written, where that takes about 2 ms.
  bool any_size = false;
  std::string rules;  // File of rules that the run uses, for the head.
  // Crashes leave files too (crash_file.h).
  bool crashes = false;
};

// Follows a run of the pass manager.
class ReplayRecorder {
 public:
  // `base` has all but the reason and the passes.
  ReplayRecorder(ReplayOptions options, Replay base)
      : options_(std::move(options)), base_(std::move(base)) {}
  ~ReplayRecorder();
  ReplayRecorder(const ReplayRecorder&) = delete;
  ReplayRecorder& operator=(const ReplayRecorder&) = delete;

  void BeforePass(const PassReport& report, const Module& module, const PassContext& context);
  void AfterPass(const PassReport& report);
  // After the pipeline's error: writes the file of the pass that ran last and
  // returns the error with the command added.
  absl::Status Failed(const absl::Status& status);

 private:
  bool IsSmall(const Module& module) const;

  ReplayOptions options_;
  const Replay base_;
  Replay current_;  // Of the pass that runs.
  CrashFile file_;
  bool stale_ = true;     // The module changed since the text was made.
  bool running_ = false;  // Between BeforePass and AfterPass...
  bool kept_ = false;     // ... with the module in file_.
};

}  // namespace weft

#endif  // WEFT_API_REPLAY_H_
