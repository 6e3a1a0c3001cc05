// The only way for rewriting passes to edit a graph: makes nodes before a root, replaces the root,
// and erases nodes that become unused.
//
// New nodes are folded by their op and shared with equal nodes that this rewriter made before. The
// provenance of erased nodes is passed on to the nodes made for them, or to the node of the
// replacing value; these nodes get an origin (graph/ir/origin.h) that names the rule and the root.
#ifndef WEFT_PASSES_ENGINE_REWRITE_REWRITER_H_
#define WEFT_PASSES_ENGINE_REWRITE_REWRITER_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"

namespace weft {

class Graph;
class HostTensor;
class Node;
class OpDef;
class SymbolTable;
class Value;

// Observes the edits; the driver uses it for its worklist.
class RewriteListener {
 public:
  virtual ~RewriteListener() = default;
  virtual void Created(Node* node) {}
  // Called before a dead node is erased; its operands are still linked.
  virtual void Erasing(Node* node) {}
  // True if `node`, made earlier by the rewriter, is before `root`.
  virtual bool IsBefore(const Node& node, const Node& root) { return false; }
};

class Rewriter : public NodeMaker {
 public:
  // `listener` may be null.
  explicit Rewriter(Graph* graph, RewriteListener* listener = nullptr);

  Graph* graph() const { return builder_.graph(); }
  Module& module() const { return builder_.module(); }
  SymbolTable& symbols() const { return module().symbols(); }

  // Begins the rewrite of `root`: new nodes are placed before it. The rule's name and the rewrite's
  // number, if given, are stored in the origins of the nodes.
  void Begin(Node* root, absl::string_view rule = "", int64_t number = 0);
  // Errors stick, as in Builder, until the next Begin.
  const absl::Status& status() const { return builder_.status(); }

  Value* Op(const OpDef& op, absl::Span<Value* const> operands,
            absl::Span<const NamedAttr> attrs = {});
  Value* Op(const OpDef& op, std::initializer_list<Value*> operands,
            std::initializer_list<NamedAttr> attrs = {}) {
    return Op(op, absl::MakeConstSpan(operands.begin(), operands.size()),
              absl::MakeConstSpan(attrs.begin(), attrs.size()));
  }
  std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                             const AttrList* attrs) override;
  // All results of the decomposition of the root's op.
  std::vector<Value*> Decompose(const Node& root);
  Value* Constant(const HostTensor& tensor);
  Value* Scalar(DType dtype, double value);

  // Ends the rewrite: `values` replace the root's results, and the root and nodes that only it used
  // are erased. An error, without an edit, if a value cannot replace the result (its dtype or rank
  // differs, or a size provably does).
  absl::Status ReplaceRoot(absl::Span<Value* const> values);
  // The same for some results: those with null keep their uses, and the root stays while it has
  // any.
  absl::Status ReplaceResults(absl::Span<Value* const> values);
  // Cancels the rewrite: erases the nodes made since Begin.
  void Abandon();
  // The nodes made since Begin; null for those erased again.
  absl::Span<Node* const> created() const { return created_; }

 private:
  std::vector<Value*> Share(std::vector<Value*> values, uint32_t first_new_id);
  Node* FindEqual(const Node& node, uint64_t hash) const;
  absl::Status CheckReplacement(int result, Value* value) const;
  void MoveUses(Value* old, Value* by);
  // Properties that consumed nodes pass on to new ones.
  struct Estate {
    ProvenanceId provenance = 0;
    OriginId origin = 0;
  };
  Estate EraseDead(Node* node);
  void Inherit(const Estate& gone, OriginId made, Node* heir);
  void EraseNow(Node* node);

  Builder builder_;
  RewriteListener* listener_;
  Node* root_ = nullptr;
  absl::string_view rule_;
  int64_t number_ = 0;
  uint64_t epoch_ = 0;          // Epoch at Begin.
  std::vector<Node*> created_;  // Since Begin; null when erased again.
  std::vector<Node*> dead_;     // Scratch of EraseDead.
  // Nodes made by this rewriter, by the hash of op, attributes and operands at that time; and that
  // hash by node id, from first_id_ on.
  absl::flat_hash_map<uint64_t, Node*> by_hash_;
  std::vector<uint64_t> hashes_;
  uint32_t first_id_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_REWRITER_H_
