// Remarks of passes on what they did, did not do, or found: structured values, not log lines.
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
  kMissed,    // A possible transformation was not done, with the reason.
  kAnalysis,  // A fact that may be of interest.
  kNearMiss,  // Most of a rule's pattern matched; the reason is the part that did not.
  kBudget,    // Work was not done because the budget was spent.
  kFailed,    // A failure that must be seen, such as a cap that was hit.
};

absl::string_view RemarkKindName(RemarkKind kind);

struct Remark {
  RemarkKind kind = RemarkKind::kAnalysis;
  std::string pass;
  std::string rule;      // Empty for passes without rules.
  std::string contract;  // Numeric contract of the rule; empty if there is none.
  std::string function;  // The graph's name.
  std::string op;        // Op of the node; empty without a node.
  int64_t node = -1;     // Its id when the remark was made.
  std::vector<std::string> provenance;
  std::string reason;
  // Further values, in a fixed order: {"bytes", "4096"}.
  std::vector<std::pair<std::string, std::string>> args;
  // Ids of other nodes involved: nodes that a rewrite made, or whose value it uses instead;
  // operands that prevented it; the position where a pattern failed.
  std::vector<int64_t> related;
  std::string suggestion;            // A suggestion for the user; may be empty.
  int64_t step = 0;                  // Number of rewrites at that time.
  int64_t work = 0;                  // Units that the run of the pass had spent.
  std::vector<std::string> details;  // Further lines, as graph text.

  // "missed fold_constants @main %12 = cat (from "a/b"): over budget, bytes=4, related=%3 %4; the
  // suggestion", followed by the details, each on an indented line.
  std::string ToString() const;
  // One JSON object on one line; empty fields are left out.
  std::string ToJson() const;
  // The text that filters match: "missed:fold_constants" or "passed:canonicalize.x-x".
  std::string Category() const;
};

// A remark about `node`: fills in the graph, op, id and provenance.
Remark RemarkOn(const Node& node, RemarkKind kind, absl::string_view reason);

// The remarks whose category contains a match of the regular expression, and all of kinds kFailed
// and kBudget. InvalidArgument for a malformed expression.
absl::StatusOr<std::vector<Remark>> FilterRemarks(std::vector<Remark> remarks,
                                                  const std::string& regex);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REMARKS_H_
