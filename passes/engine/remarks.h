// What passes say about what they did, did not do, or found out: structured
// values, not log lines.
#ifndef WEFT_PASSES_ENGINE_REMARKS_H_
#define WEFT_PASSES_ENGINE_REMARKS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class Node;

enum class RemarkKind {
  kPassed,    // A transformation was done.
  kMissed,    // One was considered and not done; the reason says why.
  kAnalysis,  // A fact that others may want to know.
  kNearMiss,  // Most of a rule's pattern matched; the reason is what did not.
  kBudget,    // Work was left undone because the budget was spent.
  kFailed,    // Something that must not go unnoticed, as a cap that was hit.
};

absl::string_view RemarkKindName(RemarkKind kind);

struct Remark {
  RemarkKind kind = RemarkKind::kAnalysis;
  std::string pass;
  std::string rule;      // Empty for passes without rules.
  std::string contract;  // Numeric contract of the rule; empty without one.
  std::string function;  // The graph's name.
  std::string op;        // Of the node; empty when about no node.
  int64_t node = -1;     // Its id when the remark was made.
  std::vector<std::string> provenance;
  std::string reason;
  // Further figures, in a fixed order: {"bytes", "4096"}.
  std::vector<std::pair<std::string, std::string>> args;
  // Ids of other nodes that it is about: those that a rewrite made, or whose value
  // it uses instead; the operands that stood in the way; where a pattern ended.
  std::vector<int64_t> related;
  std::string suggestion;            // What to do about it; may be empty.
  int64_t step = 0;                  // Rewrites done in all when it was made.
  int64_t work = 0;                  // Units that the run of the pass had spent.
  std::vector<std::string> details;  // Further lines, as graph text.

  // "missed fold_constants @main %12 = cat (from "a/b"): over budget, bytes=4,
  // related=%3 %4; the suggestion", then the details, each indented on a line of
  // its own.
  std::string ToString() const;
  // One JSON object on one line; empty fields are left out.
  std::string ToJson() const;
  // What filters match: "missed:fold_constants" or "passed:canonicalize.x-x".
  std::string Category() const;
};

// A remark about `node`: fills in the graph, op, id and provenance.
Remark RemarkOn(const Node& node, RemarkKind kind, absl::string_view reason);

// Those remarks whose category the regular expression matches somewhere, and all
// of kinds kFailed and kBudget. A bad expression is an InvalidArgument.
absl::StatusOr<std::vector<Remark>> FilterRemarks(std::vector<Remark> remarks,
                                                  const std::string& regex);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REMARKS_H_
