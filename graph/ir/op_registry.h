// A table of ops by name.
#ifndef WEFT_GRAPH_IR_OP_REGISTRY_H_
#define WEFT_GRAPH_IR_OP_REGISTRY_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace weft {

class OpDef;

// The set of ops of a program. The built-in set is ops::Registry() (graph/ops/registry.h); an
// embedding program may copy it and add its own ops.
class OpRegistry {
 public:
  // CHECKs that the name is free and the schema parses.
  void Register(const OpDef* op);
  const OpDef* Find(absl::string_view name) const;
  // All ops, sorted by name.
  std::vector<const OpDef*> All() const;

 private:
  absl::flat_hash_map<absl::string_view, const OpDef*> by_name_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_REGISTRY_H_
