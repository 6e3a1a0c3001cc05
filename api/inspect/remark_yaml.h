// Remarks in the form of LLVM's optimization records, for the tools that read those.
#ifndef WEFT_API_INSPECT_REMARK_YAML_H_
#define WEFT_API_INSPECT_REMARK_YAML_H_

#include <string>

#include "passes/engine/remarks.h"

namespace weft {

// A YAML document, without a newline at its end. Its name is the rule, or without one the op; its
// location is the function and, as the line, `node`, or 0 where there is none (see NumberByText).
// opt-viewer leaves out records without a location. Near misses and spent budgets are `!Missed`,
// with their kind before the message.
std::string RemarkToYaml(const Remark& remark);

}  // namespace weft

#endif  // WEFT_API_INSPECT_REMARK_YAML_H_
