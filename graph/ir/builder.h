// Makes nodes: fills in defaults, verifies, infers types, folds.
//
// Errors stick (as in XLA's XlaBuilder): after a failure every call returns null values and
// status() holds the first error, so that code which builds many nodes checks once at its end.
//
//   Builder b(graph);
//   Value* y = ops::BuildSoftmax(b, x, /*dim=*/1);  // Generated: graph/ops/reduce.h.
//   Value* z = b.Op(ops::softmax, {y}, {{"dim", 0}});  // The same, by name.
//   if (!b.status().ok()) return b.status();
#ifndef WEFT_GRAPH_IR_BUILDER_H_
#define WEFT_GRAPH_IR_BUILDER_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/ids.h"

namespace weft {

class Graph;
class HostTensor;
class Module;
class Node;
class OpDef;
class Value;

struct NamedAttr {
  absl::string_view name;
  AttrValue value;
};

// Receives the nodes of the generated functions of graph/ops/<family>.h: a Builder, or an adapter
// such as the Rewriter of a pass.
class NodeMaker {
 public:
  virtual ~NodeMaker() = default;
  // All results; empty after an error. The attributes are a list in the schema's order.
  virtual std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                                     const AttrList* attrs) = 0;
  // The first result; null after an error.
  Value* CreateOne(const OpDef& op, absl::Span<Value* const> operands, const AttrList* attrs);
};

class Builder : public NodeMaker {
 public:
  struct Options {
    // Apply the op's Fold and put commutative operands in canonical order. Must be false for graphs
    // that will contain writes: a fold may return an operand where the op makes a copy, and a later
    // write would then change both.
    bool fold = true;
  };

  explicit Builder(Graph* graph, Node* before = nullptr) : Builder(graph, before, Options()) {}
  Builder(Graph* graph, Node* before, Options options)
      : graph_(graph), before_(before), options_(options) {}

  Graph* graph() const { return graph_; }
  Module& module() const;
  const absl::Status& status() const { return status_; }
  // Keeps the first error; returns null for `return b.Fail(...)`.
  Value* Fail(absl::Status status);

  // New nodes go before `node` (null: at the end).
  void set_insertion_point(Node* node) { before_ = node; }
  Node* insertion_point() const { return before_; }
  // New nodes get this provenance.
  void set_provenance(ProvenanceId id) { provenance_ = id; }

  // The first result. Attributes by name; those with defaults may be left out.
  Value* Op(const OpDef& op, absl::Span<Value* const> operands,
            absl::Span<const NamedAttr> attrs = {});
  Value* Op(const OpDef& op, std::initializer_list<Value*> operands,
            std::initializer_list<NamedAttr> attrs = {}) {
    return Op(op, absl::MakeConstSpan(operands.begin(), operands.size()),
              absl::MakeConstSpan(attrs.begin(), attrs.size()));
  }
  // All results; empty after an error.
  std::vector<Value*> Ops(const OpDef& op, absl::Span<Value* const> operands,
                          absl::Span<const NamedAttr> attrs = {});
  std::vector<Value*> Ops(const OpDef& op, std::initializer_list<Value*> operands,
                          std::initializer_list<NamedAttr> attrs = {}) {
    return Ops(op, absl::MakeConstSpan(operands.begin(), operands.size()),
               absl::MakeConstSpan(attrs.begin(), attrs.size()));
  }
  std::vector<Value*> Ops(const OpDef& op, absl::Span<Value* const> operands,
                          absl::Span<const NamedAttr> attrs,
                          std::vector<std::unique_ptr<Graph>> regions);
  std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                             const AttrList* attrs) override;
  std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                             const AttrList* attrs, std::vector<std::unique_ptr<Graph>> regions);

  Value* Constant(const HostTensor& tensor, absl::string_view name = "");
  // A rank-0 constant, rounded to `dtype`.
  Value* Scalar(DType dtype, double value);
  // A rank-1 i64 constant.
  Value* Ints(absl::Span<const int64_t> values);

 private:
  Graph* graph_;
  Node* before_;
  Options options_;
  ProvenanceId provenance_ = 0;
  absl::Status status_;
};

// Attributes by name to a list in the schema's order, defaults filled in; the
// error names the attribute.
absl::StatusOr<const AttrList*> MakeAttrs(const OpDef& op, absl::Span<const NamedAttr> attrs);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_BUILDER_H_
