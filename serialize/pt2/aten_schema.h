// ATen operator schemas in PyTorch's notation:
//
//   add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0)
//       -> Tensor(a)[]
//
// Archives leave out arguments that equal their default, so the table of operators has the
// defaults.
#ifndef WEFT_SERIALIZE_PT2_ATEN_SCHEMA_H_
#define WEFT_SERIALIZE_PT2_ATEN_SCHEMA_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serialize/pt2/exported_program.h"

namespace weft::pt2 {

struct AtenArg {
  std::string name;
  std::string type;      // "Tensor", "SymInt[]", "Scalar?", ... without aliasing.
  std::string alias;     // "a" in Tensor(a!).
  bool written = false;  // True for the '!' in it.
  std::optional<Argument> default_value;

  bool is_tensor() const { return type == "Tensor" || type == "Tensor?"; }
};

struct AtenResult {
  std::string alias;
  bool written = false;
  bool list = false;
};

struct AtenSchema {
  std::string name;  // With the overload: "add.Tensor", "relu.default".
  std::vector<AtenArg> args;
  std::vector<AtenResult> results;

  // Index in `args`, or -1.
  int Find(absl::string_view arg) const;
  // The first argument that is written; -1 if there is none.
  int WrittenArg() const;
  // True if a result is a view of an argument.
  bool IsView() const;

  // The text may leave out the overload "default".
  static absl::StatusOr<AtenSchema> Parse(absl::string_view text);
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_SCHEMA_H_
