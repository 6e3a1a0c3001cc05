// Appends JSON. The result is valid for any input bytes.
#ifndef WEFT_PROFILER_JSON_TEXT_H_
#define WEFT_PROFILER_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

// Appends a string in quotes. Quotes, backslashes and control characters are escaped, bytes that
// are not UTF-8 are replaced by U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

// Appends the shortest digits that give the same double back; null if it is not finite.
void AppendJsonDouble(double value, std::string* out);

void AppendJsonValue(const ArgValue& value, std::string* out);

// Appends microseconds with three decimals.
void AppendMicroseconds(int64_t nanoseconds, std::string* out);

// Bytes of the character at the start of `text`, or 0 if it is not UTF-8.
int Utf8Length(absl::string_view text);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_JSON_TEXT_H_
