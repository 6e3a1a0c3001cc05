#include "api/describe.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/ops/registry.h"

namespace weft {

std::string DescribeOps() {
  std::string out;
  for (const OpDef* op : ops::Registry().All()) {
    absl::StrAppend(&out, op->schema_text(), "\n    ",
                    absl::StrReplaceAll(op->doc(), {{"\n", "\n    "}}),
                    op->is_composite() ? "\n    Composite." : "", "\n");
  }
  return out;
}

}  // namespace weft
