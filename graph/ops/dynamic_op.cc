#include "graph/ops/dynamic_op.h"

#include <utility>

#include "graph/ir/op_schema.h"

namespace weft::ops {

DynamicOp::DynamicOp(OpTexts texts, absl::FunctionRef<OpSpec(const OpSpec& spec)> slots)
    : OpTextsHolder(std::move(texts)),
      OpDef(texts_.name.c_str(), slots(OpSpec(texts_.schema.c_str(), texts_.doc.c_str()))) {}

// OpDef parses the schema once and leaves it allocated, because other ops live as long as the
// process.
DynamicOp::~DynamicOp() { delete &schema(); }

}  // namespace weft::ops
