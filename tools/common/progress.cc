#include "tools/common/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace weft::tools {
namespace {

size_t TerminalWidth() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

void Write(absl::string_view line) {
  // Moves to the beginning of the line, prints, and erases the rest of the old line.
  const std::string bytes = absl::StrCat("\r", line, "\x1b[K");
  std::fwrite(bytes.data(), 1, bytes.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), shown_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Show(int64_t done, int64_t total) {
  if (!shown_ || total <= 0) return;
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const auto percent = static_cast<int64_t>(100 * std::min(std::max(part, 0.0), 1.0));
  if (percent == percent_ && !line_.empty()) return;
  percent_ = percent;
  Show(absl::StrCat(what_, ": ", percent, " %"));
}

void ProgressLine::Show(absl::string_view text) {
  std::string line = PrintableName(text).substr(0, TerminalWidth() - 1);
  if (!shown_ || line == line_) return;
  // Drops a character that was cut at the end of the line.
  line.resize(line.size() - UnfinishedBytes(line));
  line_ = std::move(line);
  Write(line_);
}

void ProgressLine::Clear() {
  if (line_.empty()) return;
  line_.clear();
  Write("");
}

std::function<void(int64_t done, int64_t total)> ProgressLine::Callback() {
  if (!shown_) return nullptr;
  return [this](int64_t done, int64_t total) { Show(done, total); };
}

}  // namespace weft::tools
