// Builds one event of Chrome's JSON from its fields, which may be in any order.
#ifndef WEFT_PROFILER_READ_CHROME_EVENT_H_
#define WEFT_PROFILER_READ_CHROME_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler/read/json_capture.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

// Errors are InvalidArgument without a position.
class ChromeEvent {
 public:
  // Arguments may have at most `longest` bytes.
  explicit ChromeEvent(int64_t longest) : longest_(longest) {}

  void Clear();
  // Unknown fields are ignored.
  absl::Status SetField(absl::string_view key, const JsonScalar& scalar);
  absl::Status AddArg(absl::string_view key, const JsonScalar& scalar);
  absl::Status AddJsonArg(absl::string_view key, absl::string_view json);
  // The event; valid until Clear().
  absl::StatusOr<const TraceEvent*> Finish();

 private:
  struct PendingArg {
    size_t key_begin, key_size;
    ArgValue value;
    size_t text_begin, text_size;
  };

  absl::Status SetLetter(absl::string_view key, const JsonScalar& scalar);
  void SetId(const JsonScalar& scalar);
  absl::Status AddArgText(absl::string_view key, ArgValue value, absl::string_view text);

  const int64_t longest_;
  TraceEvent event_;
  bool has_phase_ = false;
  std::string category_, name_, pid_, tid_;
  std::string arg_text_;
  std::vector<PendingArg> pending_args_;
  std::vector<Arg> args_;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_CHROME_EVENT_H_
