// Standard output and standard error of a tool, as text for a terminal.
#ifndef WEFT_TOOLS_COMMON_CONSOLE_H_
#define WEFT_TOOLS_COMMON_CONSOLE_H_

#include <memory>
#include <streambuf>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// While it lives, std::cout and std::cerr write out what a terminal would obey (base/printable.h):
// names of models go to them. What other programs read, as a model's text form, has a quoting of
// its own and goes through WriteRaw(). One at a time.
//
// Standard files that the process was started without become files that nothing can be written
// to, so that a file which is opened later does not take their place.
class Console {
 public:
  Console();
  // Puts the streams back.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Flushes; an error when something of standard output could not be written, now or before.
  absl::Status Finish();

 private:
  const std::unique_ptr<std::streambuf> out_;
  const std::unique_ptr<std::streambuf> err_;
};

// Bytes as they are, on standard output, after what std::cout got before.
absl::Status WriteRaw(absl::string_view bytes);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_CONSOLE_H_
