// Which attentions of a graph become scaled_dot_product_attention, and of which values: a decision
// that is made without an edit, printed, and applied by fuse_attention.
#ifndef WEFT_PASSES_FUSE_ATTENTION_DECISION_H_
#define WEFT_PASSES_FUSE_ATTENTION_DECISION_H_

#include <string>
#include <vector>

#include "passes/fuse/decision.h"
#include "passes/fuse_attention/viewed_value.h"

namespace weft {

struct AttentionMatch;
struct FuseAttentionOptions;
class SymbolTable;

struct AttentionMaskPlan {
  enum class Kind {
    kChoose,     // Bools: a key is seen where they are true.
    kAddHidden,  // Bools: `number` is added to a score where they are false.
    kAdd,        // Its product with `number` is added to the scores.
  };
  Kind kind = Kind::kAdd;
  ViewedValue value;
  double number = 1;
  // Rows that see no key are NaN, as in the program.
  bool restores_rows = false;
};

struct AttentionPlan {
  Node* root = nullptr;  // The result of attention takes the place of its result.
  ViewedValue query;
  ViewedValue key;
  ViewedValue value;
  double scale = 1;
  double softcap = 0;
  bool is_causal = false;
  bool enable_gqa = false;
  // The program has a mask: one of `masks`, or the causal one.
  bool masked = false;
  std::vector<AttentionMaskPlan> masks;
};

struct AttentionDecision {
  std::vector<AttentionPlan> plans;
  std::vector<NodeRefusal> refusals;
};

// Everything that looks like attention, in the graph's order.
std::vector<AttentionMatch> CollectAttention(const Graph& graph);

AttentionDecision DecideAttention(const std::vector<AttentionMatch>& matches,
                                  const SymbolTable& symbols, const FuseAttentionOptions& options);

// "%5 = matmul: attention, scale 0.5, causal, shared heads, masks 2", then the refusals, a line
// each.
std::string ToString(const AttentionDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_ATTENTION_DECISION_H_
