#include "graph/ir/op_registry.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"

namespace weft {

void OpRegistry::Register(const OpDef* op) {
  WEFT_CHECK(op->schema().name == op->name())
      << op->name() << " has the schema of " << op->schema().name;
  const bool inserted = by_name_.emplace(op->name(), op).second;
  WEFT_CHECK(inserted) << "two ops are called " << op->name();
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> ops;
  for (const auto& [name, op] : by_name_) ops.push_back(op);
  std::sort(ops.begin(), ops.end(),
            [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
  return ops;
}

}  // namespace weft
