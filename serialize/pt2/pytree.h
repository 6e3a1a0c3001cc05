// The shape of a call: nested lists, tuples and dicts, and where their leaves
// stand.
#ifndef WEFT_SERIALIZE_PT2_PYTREE_H_
#define WEFT_SERIALIZE_PT2_PYTREE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serialize/pt2/exported_program.h"

namespace weft::pt2 {

// The leaves of a tree spec (its JSON text), depth first, each with the way to
// it: "0.x", "kwargs.scale". `file` is the name that errors give.
absl::StatusOr<std::vector<std::string>> TreeLeaves(const std::string& spec,
                                                    const std::string& file);

// OK when the trees of the program's call have as many leaves as it has user
// inputs and outputs, or when it has no trees.
absl::Status CheckCallSpec(const ExportedProgram& program);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PYTREE_H_
