// How far long work is: one line on standard error when that is a terminal, and nothing in a pipe
// or a file.
#ifndef WEFT_TOOLS_COMMON_PROGRESS_H_
#define WEFT_TOOLS_COMMON_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace weft::tools {

class ProgressLine {
 public:
  // `what` heads the lines of Show(done, total): a file's name, say.
  explicit ProgressLine(std::string what = "");
  // Takes the line away.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether lines are shown, for work that only they need.
  bool shown() const { return shown_; }
  // "WHAT: 12 %"; written when the percentage is another one.
  void Show(int64_t done, int64_t total);
  // The line is this from now on. Cut to the width of the terminal.
  void Show(absl::string_view text);
  // Takes the line away, so that other output can be written.
  void Clear();

  // Show(done, total) for those who report; null when nothing is shown. This outlives it.
  std::function<void(int64_t done, int64_t total)> Callback();

 private:
  const std::string what_;
  const bool shown_;
  int64_t percent_ = -1;
  std::string line_;  // What stands there.
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_PROGRESS_H_
