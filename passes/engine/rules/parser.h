// The parser of rule files: recursive descent over patterns of at most Pattern::kMaxNodes nodes;
// used only in this folder.
#ifndef WEFT_PASSES_ENGINE_RULES_PARSER_H_
#define WEFT_PASSES_ENGINE_RULES_PARSER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/engine/rules/file_rule.h"
#include "passes/engine/rules/scanner.h"

namespace weft {

class OpDef;
class OpRegistry;

class RuleParser : private RuleScanner {
 public:
  RuleParser(absl::string_view text, absl::string_view file, const OpRegistry& registry)
      : RuleScanner(text, file), registry_(registry) {}

  absl::StatusOr<std::vector<std::unique_ptr<FileRule>>> Run();

 private:
  // Names: the index of `name` in `names`, which may grow.
  static int IndexOf(absl::string_view name, std::vector<std::string>* names);
  static int Find(absl::string_view name, const std::vector<std::string>& names);
  // The index of a variable that the pattern binds.
  absl::StatusOr<int> Bound();
  absl::Status CheckVariables() const;

  // Rules, types and ops.
  absl::Status ParseRule();
  absl::Status ParseContract();
  // Parses `NAME : CLASS [dims], ...`, repeated.
  absl::Status ParseTypes();
  absl::Status ParseClass(TypePattern* type);
  absl::Status CheckTypes() const;
  absl::StatusOr<const OpDef*> Op(absl::string_view name) const;

  // Left sides; `used` is the number of nodes around this one.
  absl::StatusOr<Pattern> ParsePattern(int used);
  absl::StatusOr<Pattern> Variable(absl::string_view name);
  absl::StatusOr<Pattern> ParseOp(const OpDef& op, int used);
  absl::Status CheckOperands(const OpDef& op, int n) const;

  // Attributes: the NAME of `NAME =`; "" without reading anything otherwise.
  absl::string_view TakeAttrName();
  absl::StatusOr<int> AttrIndex(const OpDef& op, absl::string_view name) const;
  absl::StatusOr<int> BoundAttr();
  absl::StatusOr<AttrTerm> ParseAttr(bool binds);
  absl::StatusOr<AttrTerm> ParseCall(absl::string_view name);
  absl::StatusOr<AttrValue> Literal();

  // Right sides.
  absl::Status ParseValue();
  absl::Status ParseOperands(size_t place);

  // Conditions.
  absl::Status ParseConditions();
  absl::Status ParseCondition(Condition* c);
  absl::StatusOr<Term> ParseTerm();
  absl::StatusOr<Term> ParseTermCall(absl::string_view name);

  const OpRegistry& registry_;
  FileRule* rule_ = nullptr;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_PARSER_H_
