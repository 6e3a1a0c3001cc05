// All edits of rewriting passes go through here: nodes made before a root, the
// root's replacement, and the erasure of what nobody uses afterwards.
//
// New nodes are folded by their op and shared with equal nodes that this
// rewriter made before. What is erased hands its provenance to the nodes made
// for it, or to the node of the value that takes its place; the same nodes get
// an origin (graph/ir/origin.h) that names the rule and the root.
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

// Follows the edits, as the driver does to keep its worklist.
class RewriteListener {
 public:
  virtual ~RewriteListener() = default;
  virtual void Created(Node* node) {}
  // Before a dead node goes away; its operands are still linked.
  virtual void Erasing(Node* node) {}
  // True when `node`, made earlier by the rewriter, stands before `root`.
  virtual bool IsBefore(const Node& node, const Node& root) { return false; }
};

class Rewriter : public NodeMaker {
 public:
  // `listener` may be null.
  explicit Rewriter(Graph* graph, RewriteListener* listener = nullptr);

  Graph* graph() const { return builder_.graph(); }
  Module& module() const { return builder_.module(); }
  SymbolTable& symbols() const { return module().symbols(); }

  // Begins the rewrite of `root`: new nodes go before it. The rule's name and
  // the rewrite's number, if any, go into the origins of the nodes.
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
  // The root's op's decomposition; all its results.
  std::vector<Value*> Decompose(const Node& root);
  Value* Constant(const HostTensor& tensor);
  Value* Scalar(DType dtype, double value);

  // Ends the rewrite: `values` take the place of the root's results, the root
  // goes, and so does what only it used. An error, without any edit, when a
  // value cannot stand for the result (its dtype or rank differs, or a size
  // provably does).
  absl::Status ReplaceRoot(absl::Span<Value* const> values);
  // The same for some results: those with null keep their uses, and the root
  // stays while it has any.
  absl::Status ReplaceResults(absl::Span<Value* const> values);
  // Ends the rewrite without one: erases the nodes made since Begin.
  void Abandon();
  // The nodes made since Begin, null where erased again.
  absl::Span<Node* const> created() const { return created_; }

 private:
  std::vector<Value*> Share(std::vector<Value*> values, uint32_t first_new_id);
  Node* FindEqual(const Node& node, uint64_t hash) const;
  absl::Status CheckReplacement(int result, Value* value) const;
  void MoveUses(Value* old, Value* by);
  // What a rewrite consumed leaves to what it made.
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
  uint64_t epoch_ = 0;          // At Begin.
  std::vector<Node*> created_;  // Since Begin; null when erased again.
  std::vector<Node*> dead_;     // Scratch of EraseDead.
  // Nodes made by this rewriter by the hash of op, attributes and operands at
  // that time; and that hash by node id, from first_id_ on.
  absl::flat_hash_map<uint64_t, Node*> by_hash_;
  std::vector<uint64_t> hashes_;
  uint32_t first_id_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_REWRITER_H_
