// Turns assumptions of nodes on sizes (graph/ir/guards.h) into conditions of the module, which
// every executor checks: those on sizes of inputs before the first step, those on data when the
// data is there.
#ifndef WEFT_PASSES_SIZES_NEEDS_H_
#define WEFT_PASSES_SIZES_NEEDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/sym/sym_prove.h"

namespace weft {

class Module;
class SymbolTable;
struct SizeAssumption;

// Adds the condition in its simplest form. Returns no if it contradicts the facts.
Proof Assume(SymbolTable& facts, const SizeAssumption& assumption);

// Numbers of conditions that were added to the module.
struct AssumedSizes {
  int64_t guards = 0;   // On sizes of inputs.
  int64_t asserts = 0;  // On data-dependent sizes.
};

// Adds the assumptions of all nodes of the main function, or of the only one. Pure nodes without
// uses are skipped, and so are nodes of nested graphs that need not run: lowering adds theirs to
// the nested plans. Must run before passes that drop or merge nodes, because their assumptions
// would be lost. InvalidArgument names the node whose condition the facts refute.
absl::StatusOr<AssumedSizes> AssumeSizesOfNodes(Module& module);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_NEEDS_H_
