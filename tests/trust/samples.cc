#include "tests/trust/samples.h"

#include <algorithm>

#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"

namespace weft::trust {
namespace {

bool IsUsable(const OpDef& op) {
  const OpSchema& schema = op.schema();
  if (&op == &ops::constant || &op == &ops::return_ || !op.is_pure()) return false;
  if (&op == &ops::svd || &op == &ops::eigh || &op == &ops::qr) return false;
  if (!schema.regions.empty() || schema.writes) return false;
  return std::none_of(schema.operands.begin(), schema.operands.end(),
                      [](const OperandSpec& operand) { return operand.symint; });
}

}  // namespace

const std::vector<Sample>& OpSamples() {
  static const auto& list = *[] {
    auto* found = new std::vector<Sample>;
    for (const OpDef* op : ops::Registry().All()) {
      if (!IsUsable(*op)) continue;
      auto samples = ParseSamples(op->samples(), ops::Registry());
      if (!samples.ok()) continue;  // The ops' own tests say so.
      for (const Sample& sample : *samples) {
        if (sample.expected_error.empty()) found->push_back(Instantiate(sample));
      }
    }
    return found;
  }();
  return list;
}

}  // namespace weft::trust
