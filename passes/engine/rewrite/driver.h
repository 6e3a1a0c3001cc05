// Applies a set of rules, and the ops' own folds, until none matches.
//
// Order: one sweep from the first node to the last; what an edit touches behind
// the sweep is put on a worklist, which is emptied before the sweep goes on. So
// operands are done before their users, and after an edit only what it touched
// is looked at again: the nodes made, the users of the replaced value (as far
// up as the rules look), and the operands that lost a use. Nested graphs come
// after the graphs around them.
//
// Cost: a node that nothing matches costs a look into a table indexed by its op
// and the calls of that op's rules; no memory is allocated for it.
//
// Termination: after 32 rewrites per node + 1000 in a graph the driver gives up
// loudly (PassContext::ReportDivergence) and names the rules that still fired.
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

// Rules that the context's contract admits, in the order given; the first that
// matches is applied. Counters: rewrites, "rule.<name>" and "fold.<op>". An
// error, which names the rule and the node, means that a rule built something
// invalid.
absl::Status ApplyRules(Module& module, PassContext& context,
                        absl::Span<const absl::Span<const Rule>> themes,
                        const RewriteOptions& options = {});

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_DRIVER_H_
