// Reductions, norms and softmax: operations for each element of the operand.
#include "graph/ops/ops.h"
#include "passes/engine/cost/tables.h"

namespace weft::cost {

absl::Span<const Rate> ReductionRates() {
  static const Rate kRates[] = {
      {&ops::batch_norm, 4},  // As written: subtract, scale twice, add.
      {&ops::cummax, 1},
      {&ops::cummin, 1},
      {&ops::cumprod, 1},
      {&ops::cumsum, 1},
      {&ops::group_norm, 8},
      {&ops::hardmax, 2},
      {&ops::log_softmax, 5},
      {&ops::logsumexp, 4},
      {&ops::native_layer_norm, 8},  // Mean, centre, square, sum; 4 to apply.
      {&ops::reduce_l1, 2},
      {&ops::reduce_l2, 2},
      {&ops::reduce_sum_square, 2},
      {&ops::rms_norm, 4},
      {&ops::softmax, 5},  // Maximum, subtract, exp, sum, divide.
  };
  return kRates;
}

}  // namespace weft::cost
