// The memory behind the values of a graph, while its writes are replaced by values.
//
// A storage is the memory that one base value owns. Its views form a tree below the base, each made
// from its parent by a view op; equal views (op, attributes, parent, result) are one. The newest
// contents are in the last entry of the storage's stack of holders: views from the base down, each
// a view of the one before. An entry holds everything except what the next one shows. A write
// through a view is thus a push, further writes through it replace its value, and only a read of
// other elements makes the inverses that move the contents down to an entry that shows them.
//
// The value of a view is valid in the storage's present generation, which every write ends.
#ifndef WEFT_PASSES_FUNCTIONALIZE_STORAGES_H_
#define WEFT_PASSES_FUNCTIONALIZE_STORAGES_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/ids.h"
#include "graph/ir/value.h"

namespace weft {

class AttrList;
class Builder;
class Node;
class OpDef;

class Storages {
 public:
  // New nodes are made by `builder` at its insertion point; its status has errors.
  explicit Storages(Builder* builder);

  // Adds a value that owns its memory.
  void AddBase(Value* value);
  // Adds result `result` of `node` as a view of `viewed`, which is known. The node itself computes
  // it if its parent's value is current.
  void AddView(Node* node, int result, const Value* viewed);
  // `value` becomes another name of `other`, which is known.
  void AddAlias(const Value* value, const Value* other);

  bool Has(const Value* value) const { return ViewOf(value) >= 0; }
  // True if both are known and share a storage.
  bool Share(const Value* a, const Value* b) const;
  // The present contents of `value`, which is known; null after an error.
  Value* Read(const Value* value);
  // Sets its contents to `contents`, of the same type, written by `writer`.
  void Write(const Value* value, Value* contents, const Node* writer);
  // Moves all contents down to the bases; fails if that is not possible.
  void Settle();

  // The write that caused an error; null if there is none.
  const Node* guilty() const { return guilty_; }

  int64_t num_replayed() const { return num_replayed_; }
  int64_t num_inverted() const { return num_inverted_; }

 private:
  struct View {
    int parent = -1;  // -1: a base.
    int storage = 0;
    int depth = 0;
    const OpDef* op = nullptr;
    const AttrList* attrs = nullptr;
    int result = 0;
    ProvenanceId provenance = 0;
    Value* value = nullptr;
    int64_t generation = -1;
    int64_t query = 0;  // The last query that had it among its ancestors.
  };
  struct Holder {
    int view = 0;
    const Node* writer = nullptr;
  };
  struct Storage {
    std::vector<Holder> holders;  // The first is the base.
    int64_t generation = 0;
  };
  using Key = std::tuple<int, const OpDef*, const AttrList*, int>;

  int ViewOf(const Value* value) const {
    return value->id() < view_of_.size() ? view_of_[value->id()] : -1;
  }
  void SetViewOf(const Value* value, int view);
  bool IsValid(const View& view) const {
    return view.generation == storages_[view.storage].generation;
  }
  void MarkAncestors(int view);
  bool IsAncestor(int ancestor, int view) const;
  Value* ReadView(int view);
  void Replay(int view, int64_t generation);
  void SettleTop(Storage* storage);
  Value* Invert(const View& view, Value* base, Value* update);

  Builder* builder_;
  std::vector<int> view_of_;  // By value id.
  std::vector<View> views_;
  std::vector<Storage> storages_;
  absl::flat_hash_map<Key, int> by_key_;
  const Node* guilty_ = nullptr;
  int64_t query_ = 0;
  int64_t num_replayed_ = 0;
  int64_t num_inverted_ = 0;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_STORAGES_H_
