// Pointwise ops of more than one operation, and those of none.
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "passes/engine/cost/tables.h"

namespace weft::cost {
namespace {

// x/2 (1 + erf(c x)), or x/2 (1 + tanh(c (x + d x^3))).
SymInt Gelu(const Node& node) {
  const bool is_tanh = ops::GeluView(node).approximate() == "tanh";
  return ResultSize(node) * (is_tanh ? 9 : 5);
}

SymInt Nothing(const Node& node) { return 0; }

// Ten rounds of Philox, of 14 operations each, make one element.
constexpr int64_t kPhilox = 140;

}  // namespace

absl::Span<const Rate> PointwiseRates() {
  static const Rate kRates[] = {
      {&ops::bitcast, 0},
      {&ops::celu, 5},  // max(0, x) + min(0, a (exp(x / a) - 1))
      {&ops::clamp, 2},
      {&ops::convert, 0},
      {&ops::dequantize_linear, 2},
      {&ops::elu, 4},
      {&ops::hardsigmoid, 4},
      {&ops::hardswish, 5},
      {&ops::hardtanh, 2},
      {&ops::leaky_relu, 2},
      {&ops::mish, 5},
      {&ops::nll_loss, 2},
      {&ops::prelu, 2},
      {&ops::quantize_linear, 5},  // Divide, round, add, two bounds.
      {&ops::rand, kPhilox + 3},
      {&ops::randn, kPhilox + 8},
      {&ops::random_bits, kPhilox},
      {&ops::rotary_embedding, 3},
      {&ops::selu, 4},
      {&ops::shrink, 3},
      {&ops::sigmoid, 4},  // 1 / (1 + exp(-x))
      {&ops::silu, 5},
      {&ops::softplus, 4},
      {&ops::softsign, 3},
      {&ops::swish, 6},
      {&ops::where, 0},
  };
  return kRates;
}

absl::Span<const Row> PointwiseRows() {
  static const Row kRows[] = {{&ops::gelu, Gelu}, {&ops::runtime_assert, Nothing}};
  return kRows;
}

}  // namespace weft::cost
