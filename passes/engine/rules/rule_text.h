// The contents of a rule file, parsed and not yet checked; used only in this folder.
#ifndef WEFT_PASSES_ENGINE_RULES_RULE_TEXT_H_
#define WEFT_PASSES_ENGINE_RULES_RULE_TEXT_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/formula.h"
#include "passes/engine/rules/file_rule.h"

namespace weft {

struct RuleFile {
  struct OwnOp {
    std::unique_ptr<const ops::FormulaOp> op;
    std::optional<OnnxName> onnx;
  };
  std::vector<OwnOp> ops;
  std::vector<std::unique_ptr<FileRule>> rules;  // May use the ops.
};

absl::StatusOr<RuleFile> ParseRuleFile(absl::string_view text, absl::string_view file,
                                       const OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_RULE_TEXT_H_
