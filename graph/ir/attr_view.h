// Base of the generated attribute views (graph/ops/<family>.h): the typed attributes of an op
// without a node, such as a step of a plan.
//
//   const ops::SliceAttrView slice(attrs);  // CHECKs that they are those of ops::slice.
//   if (slice.step().Is(1)) return slice.start();
//
// Spans and references that an accessor returns point into the attribute list, which lives as long
// as the process.
#ifndef WEFT_GRAPH_IR_ATTR_VIEW_H_
#define WEFT_GRAPH_IR_ATTR_VIEW_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {

class AttrList;
class AttrValue;
class Attrs;
class Node;
class OpDef;
struct OpSchema;

class AttrView {
 protected:
  // CHECKs that the attributes belong to one of the ops.
  AttrView(const Attrs& attrs, std::initializer_list<const OpDef*> ops);

  // Attributes by index in the schema; each CHECKs the attribute's type.
  bool Bool(int i) const;
  int64_t Int(int i) const;
  SymInt Sym(int i) const;
  double Float(int i) const;
  const std::string& Str(int i) const;
  DType Dtype(int i) const;
  // A copy: the attribute holds symbolic integers, which are CHECKed to be constant.
  std::vector<int64_t> Ints(int i) const;
  absl::Span<const SymInt> Syms(int i) const;
  absl::Span<const double> Floats(int i) const;
  absl::Span<const std::string> Strs(int i) const;

  // Nullopt if the attribute is absent.
  std::optional<bool> OptionalBool(int i) const;
  std::optional<int64_t> OptionalInt(int i) const;
  std::optional<SymInt> OptionalSym(int i) const;
  std::optional<double> OptionalFloat(int i) const;
  std::optional<absl::string_view> OptionalStr(int i) const;

 private:
  friend class NodeView;
  // A view of the node's attributes as they are at the time of each call.
  explicit AttrView(const Node& node) : node_(&node) {}

  const AttrValue& Attr(int i) const;
  template <typename T>
  const T& Get(int i) const;

  const Node* node_ = nullptr;  // Null for attributes without a node, which are:
  const OpSchema* schema_ = nullptr;
  const AttrList* list_ = nullptr;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_ATTR_VIEW_H_
