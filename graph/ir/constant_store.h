// The constants of a module.
#ifndef WEFT_GRAPH_IR_CONSTANT_STORE_H_
#define WEFT_GRAPH_IR_CONSTANT_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"

namespace weft {

// Tensors by content: equal tensors have one id.
class ConstantStore {
 public:
  int Add(HostTensor tensor, absl::string_view name = "");
  const HostTensor& tensor(int id) const { return entries_[id].tensor; }
  // Name of the model's initializer; "" if it had none.
  const std::string& name(int id) const { return entries_[id].name; }
  int size() const { return static_cast<int>(entries_.size()); }
  // Marks a constant that was computed from others and is not part of the source program.
  void MarkDerived(int id) { entries_[id].derived = true; }
  bool derived(int id) const { return entries_[id].derived; }

 private:
  struct Entry {
    HostTensor tensor;
    std::string name;
    bool derived = false;
  };
  std::vector<Entry> entries_;
  absl::flat_hash_map<uint64_t, std::vector<int>> by_fingerprint_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_CONSTANT_STORE_H_
