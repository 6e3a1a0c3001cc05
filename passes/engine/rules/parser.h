// The parser of rule files: recursive descent over patterns of at most Pattern::kMaxNodes nodes and
// formulas of at most kMaxNesting levels; used only in this folder.
#ifndef WEFT_PASSES_ENGINE_RULES_PARSER_H_
#define WEFT_PASSES_ENGINE_RULES_PARSER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/formula.h"
#include "passes/engine/rules/file_rule.h"
#include "passes/engine/rules/rule_text.h"
#include "passes/engine/rules/scanner.h"

namespace weft {

class OpDef;

// An op's name and arguments as they stand in the file.
struct OwnOpText {
  std::string name;
  std::vector<std::string> arguments;  // In the notation of graph/ir/op_schema.h.
};

class RuleParser : private RuleScanner {
 public:
  RuleParser(absl::string_view text, absl::string_view file, const OpRegistry& registry)
      : RuleScanner(text, file), registry_(registry) {}

  absl::StatusOr<RuleFile> Run();

 private:
  static constexpr int kMaxNesting = 64;

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
  // A literal as a value of the attribute `name`, which is of this kind.
  absl::StatusOr<AttrValue> LiteralOf(AttrKind kind, absl::string_view name);

  // Right sides.
  absl::Status ParseValue();
  absl::Status ParseOperands(size_t place);

  // Conditions.
  absl::Status ParseConditions();
  absl::Status ParseCondition(Condition* c);
  absl::StatusOr<Term> ParseTerm();
  absl::StatusOr<Term> ParseTermCall(absl::string_view name);

  // Ops: parse_op.cc.
  absl::Status ParseOwnOp();
  absl::StatusOr<std::string> OwnOpName();
  absl::Status ParseArgument(OwnOpText* op);
  absl::Status ParseOnnxName(RuleFile::OwnOp* op);
  // The schema of what was read so far; an error if it cannot be that of an op.
  absl::StatusOr<OpSchema> SchemaOf(const OwnOpText& op) const;

  // Formulas: parse_formula.cc. Functions return the number of a node; `depth` counts the levels
  // around it.
  absl::StatusOr<int> ParseFormula(int depth);
  absl::StatusOr<int> ParseSum(int depth);
  absl::StatusOr<int> ParseProduct(int depth);
  absl::StatusOr<int> ParseFactor(int depth);
  absl::StatusOr<int> ParseFormulaCall(absl::string_view name, int depth);
  absl::StatusOr<ops::FormulaAttr> ParseFormulaAttr(const OpDef& op, absl::string_view name);
  absl::StatusOr<int> FormulaName(absl::string_view name);
  absl::StatusOr<int> AddFormulaNode(ops::FormulaNode node);
  absl::StatusOr<int> AddFormulaOp(const OpDef& op, std::vector<int> inputs);

  OpRegistry registry_;  // With the ops of the file so far.
  RuleFile contents_;
  FileRule* rule_ = nullptr;
  // Of the op that is being read.
  const OpSchema* schema_ = nullptr;
  ops::Formula formula_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_PARSER_H_
