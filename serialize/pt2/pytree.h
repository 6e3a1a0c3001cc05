// The structure of a call's arguments: nested lists, tuples and dicts, and the positions of their
// leaves.
#ifndef WEFT_SERIALIZE_PT2_PYTREE_H_
#define WEFT_SERIALIZE_PT2_PYTREE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serialize/pt2/exported_program.h"

namespace weft::pt2 {

// The leaves of a tree spec (as JSON text), depth first, each as its path: "0.x", "kwargs.scale".
// `file` is the file's name in errors.
absl::StatusOr<std::vector<std::string>> TreeLeaves(const std::string& spec,
                                                    const std::string& file);

// OK if the trees of the program's call have as many leaves as there are user inputs and outputs,
// or if the program has no trees.
absl::Status CheckCallSpec(const ExportedProgram& program);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PYTREE_H_
