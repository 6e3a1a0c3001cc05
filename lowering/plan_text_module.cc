// Plans as text, read with the ops that they mention.
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/tensor/tensor.h"
#include "lowering/describe_ops.h"
#include "lowering/plan_text.h"
#include "lowering/plan_text_ops.h"

namespace weft {

absl::StatusOr<Plan> ParsePlan(absl::string_view text, const OpRegistry& ops,
                               ConstantSource constants, absl::string_view filename) {
  const auto find = [&](absl::string_view name) {
    NamedOp named;
    named.op = ops.Find(name);
    if (named.op == nullptr) return named;
    named.schema = &named.op->schema();
    named.schema_text = named.op->schema_text();
    return named;
  };
  const OpSource source = find;
  WEFT_ASSIGN_OR_RETURN(Plan plan, ReadPlanText(text, &source, constants, filename));
  DescribeOps(&plan);
  return plan;
}

absl::StatusOr<Plan> ParsePlan(absl::string_view text, const Module& module,
                               absl::string_view filename) {
  const ConstantStore& store = module.constants();
  absl::flat_hash_map<uint64_t, int> numbers;
  const auto find = [&](uint64_t id, Type) {
    const int unread = numbers.empty() ? store.size() : 0;
    for (int i = 0; i < unread; ++i) numbers.emplace(store.tensor(i).Fingerprint(), i);
    const auto it = numbers.find(id);
    return it == numbers.end() ? HostTensor() : store.tensor(it->second);
  };
  return ParsePlan(text, module.registry(), find, filename);
}

}  // namespace weft
