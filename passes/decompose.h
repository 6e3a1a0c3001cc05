// Replaces composite ops by their decompositions.
#ifndef WEFT_PASSES_DECOMPOSE_H_
#define WEFT_PASSES_DECOMPOSE_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace weft {

struct DecomposeOptions {
  // Names of composite ops to keep, beside those that the target claims.
  std::vector<std::string> keep;
};

// Decompositions are decomposed in turn. On exit every composite node is one
// that is kept, or one whose decomposition refused its operands (as for some
// symbolic sizes); a remark says why. Counters: decomposed, refused.
std::unique_ptr<Pass> CreateDecomposePass(const DecomposeOptions& options);
std::unique_ptr<Pass> CreateDecomposePass();

}  // namespace weft

#endif  // WEFT_PASSES_DECOMPOSE_H_
