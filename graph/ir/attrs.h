// The attributes of an op or a node, by name.
#ifndef WEFT_GRAPH_IR_ATTRS_H_
#define WEFT_GRAPH_IR_ATTRS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {

class AttrList;
class AttrValue;
struct OpSchema;

// Attributes by name. The getters CHECK that the schema has the attribute with that kind, so a
// misspelt name fails in the op's own conformance test.
class Attrs {
 public:
  Attrs(const OpSchema* schema, const AttrList* list) : schema_(schema), list_(list) {}

  bool Has(absl::string_view name) const;  // Present (optional attributes).
  bool Bool(absl::string_view name) const;
  int64_t Int(absl::string_view name) const;
  double Float(absl::string_view name) const;
  const std::string& Str(absl::string_view name) const;
  DType Dtype(absl::string_view name) const;
  SymInt Sym(absl::string_view name) const;
  absl::Span<const SymInt> Syms(absl::string_view name) const;
  // The value of an int[], or of a SymInt[] that is CHECKed to be constant.
  std::vector<int64_t> Ints(absl::string_view name) const;
  const std::vector<double>& Floats(absl::string_view name) const;
  const std::vector<std::string>& Strs(absl::string_view name) const;
  const AttrValue& Get(absl::string_view name) const;

  const AttrList* list() const { return list_; }
  const OpSchema& schema() const { return *schema_; }

 private:
  const OpSchema* schema_;
  const AttrList* list_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_ATTRS_H_
