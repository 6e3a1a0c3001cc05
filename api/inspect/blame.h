// The origin of nodes: the source nodes that they stand for, and the passes, rules and rewrites
// that made them.
#ifndef WEFT_API_INSPECT_BLAME_H_
#define WEFT_API_INSPECT_BLAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class Module;

// `what` is a value by its number in the text form ("%12" in @main, or "@f:%12"), the name of a
// source node, or "all" for a table with one line per node. A name selects all nodes that stand for
// that source node.
absl::StatusOr<std::string> Blame(const Module& module, absl::string_view what);

}  // namespace weft

#endif  // WEFT_API_INSPECT_BLAME_H_
