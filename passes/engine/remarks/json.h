// JSON text for reports.
#ifndef WEFT_PASSES_ENGINE_REMARKS_JSON_H_
#define WEFT_PASSES_ENGINE_REMARKS_JSON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// The string with quotes and escapes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(absl::string_view text);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REMARKS_JSON_H_
