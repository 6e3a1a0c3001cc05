// How opt prints remarks.
#ifndef WEFT_TOOLS_OPT_REMARKS_H_
#define WEFT_TOOLS_OPT_REMARKS_H_

#include <ostream>
#include <vector>

#include "absl/status/status.h"
#include "api/compiler.h"
#include "tools/opt_options.h"

namespace weft::tools {

// Keeps only the remarks that are shown by default.
void DropUnasked(std::vector<Remark>* remarks);

// Writes those that the options select to their file, or to `info`.
absl::Status WriteRemarks(const OptOptions& o, std::vector<Remark> remarks, std::ostream& info);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_REMARKS_H_
