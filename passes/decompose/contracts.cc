// The table stands here and not in OpSpec, since contracts are notions of the
// rewriting engine, which ops do not know; the test of this file demands a row
// of every op that needs one.
#include "passes/decompose/contracts.h"

#include "base/check.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

struct Row {
  const OpDef* op;
  NumericContract contract;
};

constexpr NumericContract kBitExact = NumericContract::kBitExact;
constexpr NumericContract kReassociating = NumericContract::kReassociating;

const Row kRows[] = {
    // Comparisons and choices among the operands' elements and bounds that are
    // rounded once, before them.
    {&ops::hardmax, kBitExact},
    {&ops::hardtanh, kBitExact},
    {&ops::thresholded_relu, kBitExact},
    // The difference of integers is exact; the product rounds as Eval's does.
    {&ops::dequantize_linear, kBitExact},
    // Integer arithmetic.
    {&ops::random_bits, kBitExact},

    // Evaluated in double and rounded once; the decompositions round at every
    // op, in f32 for narrow floats.
    {&ops::celu, kReassociating},
    {&ops::elu, kReassociating},
    {&ops::gelu, kReassociating},
    {&ops::hardsigmoid, kReassociating},
    {&ops::hardswish, kReassociating},
    {&ops::leaky_relu, kReassociating},
    {&ops::mish, kReassociating},
    {&ops::prelu, kReassociating},
    {&ops::selu, kReassociating},
    {&ops::shrink, kReassociating},
    {&ops::silu, kReassociating},
    {&ops::softplus, kReassociating},
    {&ops::softsign, kReassociating},
    {&ops::swish, kReassociating},
    {&ops::affine_grid, kReassociating},
    // Adding the zero point to an 8-bit float's quotient rounds once more.
    {&ops::quantize_linear, kReassociating},

    // Sums, whose order is not fixed.
    {&ops::batch_norm, kReassociating},
    {&ops::einsum, kReassociating},
    {&ops::group_norm, kReassociating},
    {&ops::gru, kReassociating},
    {&ops::linear, kReassociating},
    {&ops::local_response_norm, kReassociating},
    {&ops::log_softmax, kReassociating},
    {&ops::logsumexp, kReassociating},
    {&ops::lstm, kReassociating},
    {&ops::native_layer_norm, kReassociating},
    {&ops::nll_loss, kReassociating},
    {&ops::reduce_l1, kReassociating},
    {&ops::reduce_l2, kReassociating},
    {&ops::reduce_log_sum, kReassociating},
    {&ops::reduce_sum_square, kReassociating},
    {&ops::rms_norm, kReassociating},
    {&ops::rnn, kReassociating},
    {&ops::rotary_embedding, kReassociating},
    {&ops::scaled_dot_product_attention, kReassociating},
    {&ops::softmax, kReassociating},
    {&ops::stft, kReassociating},

    // Eval runs the nested graph, the decomposition puts it in the place.
    {&ops::fused, kBitExact},
};

}  // namespace

std::optional<NumericContract> KnownContract(const OpDef& op) {
  WEFT_CHECK(op.is_composite()) << op.name();
  if (op.eval() == nullptr || op.has(kDataMovement)) return kBitExact;
  for (const Row& row : kRows) {
    if (row.op == &op) return row.contract;
  }
  return std::nullopt;
}

NumericContract DecompositionContract(const OpDef& op) {
  return KnownContract(op).value_or(kReassociating);
}

}  // namespace weft
