// Replay files: what a failing or crashing pass leaves behind, and a fixpoint that
// does not settle where that is an error.
//
// A replay file is a module in text form, as it was before the pass, under a
// head of comments that holds the pass with its options and all that the run
// depends on; `opt --replay=FILE` runs it again.
#ifndef WEFT_API_REPLAY_H_
#define WEFT_API_REPLAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/crash_file.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/pass_manager/report.h"

namespace weft {

class Module;

struct Replay {
  std::string reason;  // One line.
  std::string passes;
  std::string verify = "structure";
  std::vector<std::string> plugins;
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
  // nodes and 1 MB of constants are written, where that takes up to 1.7 ms
  // (BM_PrintForReplay).
  bool any_size = false;
  // Files that the run uses, for the head.
  std::vector<std::string> plugins;
  std::string rules;
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
  void BeforeFixpoint(const std::string& path, const std::string& text, const Module& module,
                      const PassContext& context);
  void AfterFixpoint() { fixpoints_.pop_back(); }
  // After the pipeline's error: writes the file of the pass that ran last, or of
  // the innermost fixpoint when no pass failed, and returns the error with the
  // command added.
  absl::Status Failed(const absl::Status& status);

 private:
  // What a file needs, but for the reason.
  struct Record {
    Replay replay;
    std::string path;
    std::string body;  // Empty: the module was too large.
  };
  bool IsSmall(const Module& module) const;
  // Brings file_.body up to date; false when the module is too large.
  bool KeepBody(const Module& module);
  Replay ReplayOf(const std::string& passes, const PassContext& context) const;
  std::string PathOf(const std::string& path) const;
  static absl::Status Write(const absl::Status& status, Record record);

  ReplayOptions options_;
  const Replay base_;
  Replay current_;  // Of the pass that runs.
  CrashFile file_;
  bool stale_ = true;              // The module changed since the text was made.
  bool running_ = false;           // Between BeforePass and AfterPass...
  bool kept_ = false;              // ... with the module in file_.
  std::vector<Record> fixpoints_;  // Those that run, from the outermost.
};

}  // namespace weft

#endif  // WEFT_API_REPLAY_H_
