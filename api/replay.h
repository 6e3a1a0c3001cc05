// Replay files: written if a pass fails or crashes, or if a fixpoint does not settle and that is an
// error.
//
// A replay file is the module in text form, as it was before the pass, below a head of comments
// that has the pass with its options and everything else that the run depends on; `opt
// --replay=FILE` runs it again.
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

// The head with its command; `path` is the path of the file.
std::string ReplayHead(const Replay& replay, absl::string_view path);
// Errors name the line.
absl::StatusOr<Replay> ParseReplayHead(absl::string_view text);
absl::StatusOr<Replay> LoadReplay(const std::string& path);

struct ReplayOptions {
  std::string folder;  // Empty: no files.
  // Write modules of any size; the text is then made before each pass, if the pass before it
  // changed something. Otherwise only modules of at most 2,000 nodes and 1 MB of constants are
  // written, which takes up to 1.7 ms (BM_PrintForReplay).
  bool any_size = false;
  // Files that the run uses; the head records them.
  std::vector<std::string> plugins;
  std::string rules;
  // Write a file on a crash too (crash_file.h).
  bool crashes = false;
};

// Records a run of the pass manager.
class ReplayRecorder {
 public:
  // `base` has everything except the reason and the passes.
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
  // To be called with the pipeline's error: writes the file of the last pass, or of the innermost
  // fixpoint if no pass failed, and returns the error with the command added.
  absl::Status Failed(const absl::Status& status);

 private:
  // The contents of a file, except the reason.
  struct Record {
    Replay replay;
    std::string path;
    std::string body;  // Empty: the module is too large.
  };
  bool IsSmall(const Module& module) const;
  // Updates file_.body; false if the module is too large.
  bool KeepBody(const Module& module);
  Replay ReplayOf(const std::string& passes, const PassContext& context) const;
  std::string PathOf(const std::string& path) const;
  static absl::Status Write(const absl::Status& status, Record record);

  ReplayOptions options_;
  const Replay base_;
  Replay current_;  // For the running pass.
  CrashFile file_;
  bool stale_ = true;              // The module has changed since the text was made.
  bool running_ = false;           // Between BeforePass and AfterPass...
  bool kept_ = false;              // ... with the module in file_.
  std::vector<Record> fixpoints_;  // The running fixpoints, from the outermost.
};

}  // namespace weft

#endif  // WEFT_API_REPLAY_H_
