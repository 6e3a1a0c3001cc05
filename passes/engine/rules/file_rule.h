// A rule from a file, and the functions that match and build it; used only in this folder.
#ifndef WEFT_PASSES_ENGINE_RULES_FILE_RULE_H_
#define WEFT_PASSES_ENGINE_RULES_FILE_RULE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class OpDef;
class OpRegistry;

// The value that an attribute must equal, or is set to.
struct AttrTerm {
  enum class Kind { kLiteral, kVariable, kDims, kDType, kCompose };
  Kind kind = Kind::kLiteral;
  AttrValue literal;
  int a = -1;  // kVariable, kCompose: index in attr_names; else a variable.
  int b = -1;
};

// The attributes that a pattern's op must have.
struct AttrPattern {
  int variable;  // Bound to the op's result.
  const OpDef* op;
  std::vector<std::pair<int, AttrTerm>> attrs;  // By index in the schema.
};

// The declared type of a variable.
struct TypePattern {
  int variable;
  std::string dtypes = "any";
  bool any_rank = true;
  // With any_rank, the last dims: sizes, or negative: name -1 - i.
  std::vector<int64_t> dims;
};

struct Term {
  enum class Kind { kInt, kDType, kAttr, kSize, kRank, kDim, kDTypeOf };
  Kind kind = Kind::kInt;
  int64_t number = 0;  // The value, the index of a name, or the dim.
  DType dtype = DType::kF32;
  int variable = -1;
};

struct Condition {
  enum class Kind { kEq, kNe, kLt, kLe, kOneUse };
  Kind kind = Kind::kEq;
  Term left, right;
  std::string text;
};

// A node of the right side, in preorder as Pattern has it.
struct ValueNode {
  const OpDef* op = nullptr;
  int variable = -1;
  double number = 0;  // Value of a constant, which has neither op nor variable.
  int num_operands = 0;
  std::vector<std::pair<std::string, AttrTerm>> attrs;
};

struct FileRule {
  std::string name;
  std::string identity;  // Of a rule without one: its text.
  std::string source;
  std::string where;  // "file:line".
  NumericContract contract = NumericContract::kBitExact;
  Pattern pattern;
  std::vector<std::string> variables;  // Names; unnamed ops have "".
  std::vector<std::string> attr_names;
  std::vector<std::string> size_names;
  std::vector<TypePattern> types;
  std::vector<AttrPattern> attrs;
  std::vector<Condition> conditions;
  std::vector<ValueNode> value;

  // `this` must outlive the result.
  Rule ToRule() const;
};

// Compares both sides on random instances. Returns their number; an error has the counterexample.
absl::StatusOr<int> CheckFileRule(const FileRule& file_rule, const Rule& rule,
                                  const OpRegistry& registry, uint64_t seed);

// True if `dtype` belongs to a class ("float", "any", "f32").
bool IsOfClass(DType dtype, absl::string_view name);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_FILE_RULE_H_
