// Rebuilds JSON values as text from the events of a parser.
#ifndef WEFT_PROFILER_READ_JSON_CAPTURE_H_
#define WEFT_PROFILER_READ_JSON_CAPTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::profiler {

struct JsonScalar {
  enum class Kind { kNull, kBool, kInt, kUint, kDouble, kString } kind;
  int64_t integer = 0;  // Value of kInteger and kBool.
  uint64_t natural = 0;
  double number = 0;
  absl::string_view text = {};  // Value of kString; digits of kDouble.
};

void AppendJsonScalar(const JsonScalar& scalar, std::string* out);

// Captures one object or list at a time, with everything in it. Errors are InvalidArgument without
// a position.
class JsonCapture {
 public:
  // The text may have at most `longest` bytes.
  explicit JsonCapture(int64_t longest) : longest_(longest) {}

  // True inside of a value.
  bool is_open() const { return !brackets_.empty(); }
  // '{' or '[': begins a value or a nested one.
  absl::Status Open(char bracket);
  absl::Status Close();
  absl::Status Key(absl::string_view key);
  absl::Status Add(const JsonScalar& scalar);
  // The complete value.
  const std::string& text() const { return text_; }

 private:
  void Separate();
  absl::Status Check() const;

  const int64_t longest_;
  std::string text_;
  std::string brackets_;  // Expected closing brackets.
  bool needs_comma_ = false;
  bool after_key_ = false;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_JSON_CAPTURE_H_
