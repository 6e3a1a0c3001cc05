// An op that is made while the program runs, as by a file of rules or by a program in C. Other ops
// are constants with static storage.
#ifndef WEFT_GRAPH_OPS_DYNAMIC_OP_H_
#define WEFT_GRAPH_OPS_DYNAMIC_OP_H_

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "graph/ir/op_def.h"

namespace weft::ops {

struct OpTexts {
  std::string name;
  std::string schema;  // In the notation of graph/ir/op_schema.h.
  std::string doc;
};

// Holds the texts, so that they exist before the OpDef that points to them.
class OpTextsHolder {
 protected:
  explicit OpTextsHolder(OpTexts texts) : texts_(std::move(texts)) {}
  const OpTexts texts_;
};

// Owns the texts of its op, and the schema that is parsed from them. It outlives all modules,
// registries and plans that use the op.
class DynamicOp : private OpTextsHolder, public OpDef {
 public:
  ~DynamicOp();

 protected:
  // `slots` adds the slots to a spec that has the texts. Requires a schema that parses.
  DynamicOp(OpTexts texts, absl::FunctionRef<OpSpec(const OpSpec& spec)> slots);
};

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_DYNAMIC_OP_H_
