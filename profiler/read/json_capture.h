// JSON values that are kept as text, put together from what a parser finds in them.
#ifndef WEFT_PROFILER_READ_JSON_CAPTURE_H_
#define WEFT_PROFILER_READ_JSON_CAPTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::profiler {

struct JsonScalar {
  enum class Kind { kNull, kBool, kInt, kUint, kDouble, kString } kind;
  int64_t integer = 0;  // Also of kBool.
  uint64_t natural = 0;
  double number = 0;
  absl::string_view text = {};  // Of kString; of kDouble, as written.
};

void AppendJsonScalar(const JsonScalar& scalar, std::string* out);

// One object or list at a time, with all that is in it. Errors are InvalidArgument without a
// place.
class JsonCapture {
 public:
  // At most `longest` bytes of text.
  explicit JsonCapture(int64_t longest) : longest_(longest) {}

  // Within a value that has begun and not ended.
  bool is_open() const { return !brackets_.empty(); }
  // '{' or '[': begins a value, or one in it.
  absl::Status Open(char bracket);
  absl::Status Close();
  absl::Status Key(absl::string_view key);
  absl::Status Add(const JsonScalar& scalar);
  // The value, once it has ended.
  const std::string& text() const { return text_; }

 private:
  void Separate();
  absl::Status Check() const;

  const int64_t longest_;
  std::string text_;
  std::string brackets_;  // The closing ones that are expected.
  bool needs_comma_ = false;
  bool after_key_ = false;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_JSON_CAPTURE_H_
