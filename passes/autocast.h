// Computes in bf16 or f16 where lists of ops allow it: PyTorch's autocast, as a pass.
#ifndef WEFT_PASSES_AUTOCAST_H_
#define WEFT_PASSES_AUTOCAST_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"

namespace weft {

struct AutocastOptions {
  // bf16 or f16.
  std::string dtype = "bf16";
  // Built-in lists, or the text of lists (passes/autocast/lists.h).
  std::string lists = "cpu";
  // Nodes that stay f32: names of source nodes, where * stands for any text, or ops.
  std::vector<std::string> keep;
  // What a pointwise op of a low and an f32 operand computes in: f32, as in PyTorch, or low.
  std::string mixed = "f32";
};

// On entry the program is functional; batch norms are best in the weights already, and what fuses
// comes later. Ops on the list `low` take operands of the low dtype and give such results; others
// keep what they are given, so that activations stay narrow up to an op that takes f32. Inputs and
// outputs keep their dtypes, and so do values that the program writes back.
//
// A value is cast once for each dtype. Casts of one f32 value stand before ops that move its
// elements where all readers take them low, and before nested graphs for what these only read low.
// Constants are cast here; parameters are, once `freeze` has made constants of them. A value that
// is f32 in the program is never read from its cast, so that no precision is lost where none has to
// be.
//
// The contract is approximate, which the pipeline has to admit: autocast{admit=approximate}.
// Remarks name nodes that stay f32 because of an operand, and entries of `keep` that meet no node.
// Counters: low, widest, sunk (nodes), inputs (of nested graphs), casts, constants, refused.
std::unique_ptr<Pass> CreateAutocastPass(const AutocastOptions& options);
std::unique_ptr<Pass> CreateAutocastPass();

}  // namespace weft

#endif  // WEFT_PASSES_AUTOCAST_H_
