// Shows the progress of long work: one line on standard error if that is a terminal, nothing
// otherwise.
#ifndef WEFT_TOOLS_COMMON_PROGRESS_H_
#define WEFT_TOOLS_COMMON_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace weft::tools {

class ProgressLine {
 public:
  // `what` begins the lines of Show(done, total), for example a file's name.
  explicit ProgressLine(std::string what = "");
  // Erases the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // True if lines are shown, to skip work that is only for them.
  bool shown() const { return shown_; }
  // "WHAT: 12 %"; written only if the percentage has changed.
  void Show(int64_t done, int64_t total);
  // Replaces the line, cut to the width of the terminal.
  void Show(absl::string_view text);
  // Erases the line, so that other output can be written.
  void Clear();

  // Show(done, total) as a callback; null if nothing is shown. This object must outlive it.
  std::function<void(int64_t done, int64_t total)> Callback();

 private:
  const std::string what_;
  const bool shown_;
  int64_t percent_ = -1;
  std::string line_;  // The text of the present line.
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_PROGRESS_H_
