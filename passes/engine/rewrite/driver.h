// Applies a set of rules, and the ops' own folds, until none applies.
//
// Order: one sweep from the first node to the last. Nodes behind the sweep that an edit affects go
// to a worklist, which is emptied before the sweep continues. Operands are therefore done before
// their users, and after an edit only affected nodes are visited again: new nodes, users of the
// replaced value (as far up as the rules look), and operands that lost a use. Nested graphs are
// visited after the graphs around them.
//
// Cost: a node that nothing matches costs a look-up in a table by its op and the tests of that op's
// rules, without allocation.
//
// Termination: after 32 rewrites per node + 1000 in a graph the driver stops with
// PassContext::ReportDivergence, which names the rules that still fire.
#ifndef WEFT_PASSES_ENGINE_REWRITE_DRIVER_H_
#define WEFT_PASSES_ENGINE_REWRITE_DRIVER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class Module;

struct RewriteOptions {
  // Apply OpSpec::Fold as well.
  bool fold = true;
  int64_t rewrites_per_node = 32;
  int64_t extra_rewrites = 1000;
};

// Applies the rules that the context's contract admits, in the order given; the first that matches
// wins. Counters: rewrites, "rule.<name>" and "fold.<op>". An error names the rule and the node,
// and means that a rule built something invalid.
absl::Status ApplyRules(Module& module, PassContext& context,
                        absl::Span<const absl::Span<const Rule>> themes,
                        const RewriteOptions& options = {});

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_DRIVER_H_
