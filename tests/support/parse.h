// Modules for tests, written as text.
#ifndef WEFT_TESTS_SUPPORT_PARSE_H_
#define WEFT_TESTS_SUPPORT_PARSE_H_

#include <memory>

#include "absl/strings/string_view.h"

namespace weft {

class Module;

// With the ops of graph/ops. A text that does not parse is a failed expectation
// and the end of the process.
std::unique_ptr<Module> Parse(absl::string_view text);

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_PARSE_H_
