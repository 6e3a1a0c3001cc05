// The schema of an op: its operands, attributes, regions and results.
//
// It is written in ATen's notation:
//
//   operands    Tensor, Tensor?, Tensor[], SymInt* (a symint value)
//   attributes  bool, int, SymInt, float, str, ScalarType; int[], SymInt[],
//               float[], str[]; with `?` and `= default`
//   regions     Graph (a nested graph)
//   results     Tensor, SymInt, (Tensor, Tensor), Tensor[]
//   aliasing    Tensor(a) self -> Tensor(a)     the result is a view of self
//               Tensor(a!) self -> Tensor(a!)   self is written; the result is
//                                               self after that
//
// Operands come first, then attributes, then regions. At most one operand is a
// list, and it is the last one.
#ifndef WEFT_GRAPH_IR_OP_SCHEMA_H_
#define WEFT_GRAPH_IR_OP_SCHEMA_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"

namespace weft {

struct OperandSpec {
  std::string name;
  bool optional = false;
  bool variadic = false;
  bool symint = false;
  std::string alias;     // Alias set: "a" in Tensor(a!).
  bool written = false;  // The '!' in Tensor(a!).
};

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  bool optional = false;  // Absent is a legal value.
  std::optional<AttrValue> default_value;
};

struct ResultSpec {
  std::string name;  // "out0" if the schema does not name it.
  bool variadic = false;
  bool symint = false;
  std::string alias;
};

struct OpSchema {
  std::string name;
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  std::vector<std::string> regions;
  std::vector<ResultSpec> results;
  bool views = false;   // True if a result is a view of an operand.
  bool writes = false;  // True if an operand is written.

  // The operand that result `i` is a view of, or -1.
  int ViewedOperand(int i) const;
  // The operand that result `i` stands for after the write, or -1.
  int WrittenOperand(int i) const;

  int num_fixed_operands() const;
  bool has_variadic_operand() const;
  bool has_variadic_result() const;
  // Index in `attrs`, or -1.
  int FindAttr(absl::string_view name) const;

  static absl::StatusOr<OpSchema> Parse(absl::string_view text);
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_SCHEMA_H_
