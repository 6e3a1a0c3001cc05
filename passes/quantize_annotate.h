// Notes which values and operands a policy quantizes, and how.
#ifndef WEFT_PASSES_QUANTIZE_ANNOTATE_H_
#define WEFT_PASSES_QUANTIZE_ANNOTATE_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"

namespace weft {

struct QuantizeAnnotateOptions {
  // A built-in policy with its parameters, or the text of a policy (passes/quantize/policy.h).
  std::string policy = "x86";
  // Nodes that stay float: names of source nodes, where * stands for any text, or ops.
  std::vector<std::string> exclude;
  // The observer of all activations; empty: that of the policy.
  std::string observer;
};

// On entry the program is functional and canonical, before passes that fuse. Notes under the key
// `quant` are added to the places that the policy quantizes; nothing is computed otherwise than
// before. Notes that are there stay, and the groups of all of them are numbered anew. Nested graphs
// are included: what they capture of constants is constant. The contract is bit-exact.
//
// Remarks say for each node that the policy speaks of how it is quantized, or why it is not;
// exclusions that meet no node are remarks, too. Counters: quantized, float, places, groups.
// Errors: a policy that does not parse, an unknown observer, and specs that are in conflict.
std::unique_ptr<Pass> CreateQuantizeAnnotatePass(const QuantizeAnnotateOptions& options);
std::unique_ptr<Pass> CreateQuantizeAnnotatePass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_ANNOTATE_H_
