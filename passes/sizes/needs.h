// What nodes assume about sizes (graph/ir/guards.h) as conditions of the module,
// which every executor checks: those on sizes of inputs before the first step, and those
// on data when the data is there.
#ifndef WEFT_PASSES_SIZES_NEEDS_H_
#define WEFT_PASSES_SIZES_NEEDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/sym/sym_prove.h"

namespace weft {

class Module;
class SymbolTable;
struct SizeAssumption;

// Takes the condition over in its simplest form. No: it contradicts the facts.
Proof Assume(SymbolTable& facts, const SizeAssumption& assumption);

// Conditions that became part of the module.
struct AssumedSizes {
  int64_t guards = 0;   // On sizes of inputs.
  int64_t asserts = 0;  // On sizes that depend on data.
};

// Takes over the assumptions of all nodes of the main function, or of the only one.
// A node that is pure and has no uses is left out, and so are nodes of nested graphs
// that need not run: lowering gives theirs to the nested plans. It comes before the
// passes that drop or merge nodes, because their assumptions would be lost. An
// InvalidArgument names the node whose condition the facts rule out.
absl::StatusOr<AssumedSizes> AssumeSizesOfNodes(Module& module);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_NEEDS_H_
