// Gives the readers of values that are to be quantized other values to read.
#ifndef WEFT_PASSES_QUANTIZE_REPLACE_READS_H_
#define WEFT_PASSES_QUANTIZE_REPLACE_READS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "passes/quantize/sites.h"

namespace weft {

class Graph;

// A read of `value` by `user` that the notes of a group name.
struct QuantRead {
  int group = 0;
  Value* value = nullptr;
  // The first place where the value may be quantized: behind it for a note about the value, before
  // the user for a note about an operand.
  Node* before = nullptr;
  Node* user = nullptr;
};

// `replace` gives what is read instead, once for each read. A note about a value names all of its
// users, the outputs of the graph included, but neither observers nor nodes that `replace` makes.
// Notes about values come first, so that those about operands see what these made; an operand that
// its own group made already stays. Returns the number of operands that changed.
absl::StatusOr<int64_t> ReplaceReads(
    Graph& graph, const std::vector<SiteGroup>& groups,
    absl::FunctionRef<absl::StatusOr<Value*>(const QuantRead& read)> replace);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_REPLACE_READS_H_
