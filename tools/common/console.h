// Standard output and standard error of a tool, as text for a terminal.
#ifndef WEFT_TOOLS_COMMON_CONSOLE_H_
#define WEFT_TOOLS_COMMON_CONSOLE_H_

#include <memory>
#include <streambuf>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// While it exists, std::cout and std::cerr escape characters that a terminal obeys
// (base/printable.h), because names of models are printed there. Output for other programs, such as
// a model's text form, has its own quoting and uses WriteRaw(). Only one may exist at a time.
//
// Standard files that were closed when the process started are opened as files that cannot be
// written to, so that a file opened later does not take their descriptors.
class Console {
 public:
  Console();
  // Restores the streams.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Flushes; an error if some standard output could not be written, now or earlier.
  absl::Status Finish();

 private:
  const std::unique_ptr<std::streambuf> out_;
  const std::unique_ptr<std::streambuf> err_;
};

// Writes bytes unchanged to standard output, after earlier output of std::cout.
absl::Status WriteRaw(absl::string_view bytes);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_CONSOLE_H_
