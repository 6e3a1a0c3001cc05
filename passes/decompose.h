// Replaces composite ops by their decompositions.
#ifndef WEFT_PASSES_DECOMPOSE_H_
#define WEFT_PASSES_DECOMPOSE_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"

namespace weft {

struct DecomposeOptions {
  // Composites that the target claims (Target::composites, or a routine) as well.
  bool all = false;
  // Names of the only composites to decompose; empty: every one.
  std::vector<std::string> ops;
  // Names of composites that stay, whatever the other options say.
  std::vector<std::string> keep;
};

// Decompositions are decomposed in turn, by the same options. On exit every
// composite node is one that stays, or one whose decomposition refused its
// operands (as for some symbolic sizes); a remark says why.
//
// A rewrite has the contract of its op's decomposition (passes/decompose/
// contracts.h), and the op's name for the name of its rule. A composite whose
// decomposition is looser than the pipeline admits stays: most round
// differently, so `decompose{admit=reassociating}` is what decomposes them.
//
// Counters: decomposed and decomposed.<op>; refused; and of those that stay
// kept, claimed, not_selected, not_admitted.
std::unique_ptr<Pass> CreateDecomposePass(const DecomposeOptions& options);
std::unique_ptr<Pass> CreateDecomposePass();

}  // namespace weft

#endif  // WEFT_PASSES_DECOMPOSE_H_
