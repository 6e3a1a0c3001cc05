// JSON, piece by piece. What is appended is valid whatever the bytes are.
#ifndef WEFT_PROFILER_JSON_TEXT_H_
#define WEFT_PROFILER_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

// In quotes; quotes, backslashes and control characters escaped, bytes that are not UTF-8
// replaced by U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

// The shortest digits that give the same double back; null when it is not finite.
void AppendJsonDouble(double value, std::string* out);

void AppendJsonValue(const ArgValue& value, std::string* out);

// Microseconds with three digits behind the point.
void AppendMicroseconds(int64_t nanoseconds, std::string* out);

// The bytes of the character at the start of `text`, or 0 when it is not UTF-8.
int Utf8Length(absl::string_view text);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_JSON_TEXT_H_
