// Replaces attention that is written in single ops by
// scaled_dot_product_attention.
#ifndef WEFT_PASSES_FUSE_ATTENTION_H_
#define WEFT_PASSES_FUSE_ATTENTION_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FuseAttentionOptions {
  // Rows of a bool mask in which no key is seen give 0, as in
  // scaled_dot_product_attention, also where the program would give NaN or the
  // mean of the values. Otherwise such masks are kept exact by a `where` after
  // the attention, or the match is refused.
  bool hidden_rows = false;
};

// Found by algebra, after canonicalize and with constants folded: a matmul whose
// first operand is a softmax along the last dim of scores, which a matmul makes.
// Between them may stand, in any order that computes the same: scales by constants
// (of the scores, the queries or the keys), a cap by tanh, masks that are added or
// that choose, several of them, converts between floats, reshapes of the batch
// dims, and the test for rows that see nothing. Keys and values that are expanded
// over groups of heads give enable_gqa; a constant mask that is lower triangular
// gives is_causal.
//
// Sums are done in another order: the contract is reassociating. An added mask with a
// row of -inf alone gives 0 where the program gives NaN. A mask that puts a finite number in
// the place of a score is added: a hidden score that is not finite gives NaN.
//
// All replacements in a graph are decided before the first edit (fuse_attention/decision.h); masks
// that do not broadcast are found as the nodes are made. Remarks say why what looks like attention
// is none. Counters: attention, causal, gqa, masked, refused; present counts those that were there
// before.
std::unique_ptr<Pass> CreateFuseAttentionPass(const FuseAttentionOptions& options);
std::unique_ptr<Pass> CreateFuseAttentionPass();

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_ATTENTION_H_
