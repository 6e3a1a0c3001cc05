// A few ops for the tests of graph/ir, which itself defines only constant and return.
#ifndef WEFT_TESTS_GRAPH_IR_TEST_OPS_H_
#define WEFT_TESTS_GRAPH_IR_TEST_OPS_H_

namespace weft {
class OpDef;
class OpRegistry;
}  // namespace weft

namespace weft::test_ops {

extern const OpDef relu;     // relu(Tensor x) -> Tensor
extern const OpDef add;      // Broadcasts.
extern const OpDef softmax;  // One int attribute, checked by Verify.
extern const OpDef cat;      // Variadic.
extern const OpDef split;    // Variadic results.
extern const OpDef topk;     // Two results.
extern const OpDef layer;    // Optional operands.
extern const OpDef full;     // SymInt[], float and dtype attributes.
extern const OpDef zoo;      // An attribute of every kind.
extern const OpDef nonzero;  // Data-dependent size.
extern const OpDef item;     // Data-dependent symint.
extern const OpDef range;    // Takes a symint operand.
extern const OpDef trace;    // No result, a side effect.
extern const OpDef cond;     // Two regions.

const OpRegistry& Registry();

}  // namespace weft::test_ops

#endif  // WEFT_TESTS_GRAPH_IR_TEST_OPS_H_
