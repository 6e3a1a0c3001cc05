// Attention step by step. The functions read the arguments `scale` and `is_causal` of the call, and
// others where noted.
#ifndef WEFT_SERIALIZE_PT2_ATEN_ATTENTION_PARTS_H_
#define WEFT_SERIALIZE_PT2_ATEN_ATTENTION_PARTS_H_

#include "serialize/pt2/aten_call.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::pt2 {

// The complete attention from `query`, `key`, `value`, `dropout_p` and, if the schema has it,
// `enable_gqa`. `mask` may be null.
Value* Attend(AtenCall& c, Value* mask);

// `scale`, or 1 / sqrt(size of the last dim), as a scalar of query's dtype.
Value* AttentionScale(AtenCall& c, const Value* query);

// [.., L, S]: scaled matmul of query and key, -inf where a bool mask or the causal one hides a
// score. `mask` may be null.
Value* AttentionScores(AtenCall& c, Value* query, Value* key, Value* mask);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_ATTENTION_PARTS_H_
