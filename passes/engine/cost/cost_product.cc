// Products: matrices, convolutions, attention, recurrences.
#include <map>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/nn/einsum_equation.h"
#include "graph/ops/ops.h"
#include "graph/ops/vision.h"
#include "graph/sym/sym_ops.h"
#include "passes/engine/cost/tables.h"

namespace weft::cost {
namespace {

// Of the dims from `first` on.
SymInt SizeFrom(Type type, int first) { return Product(type.dims().subspan(first)); }

SymInt Bias(const Node& node, const Value* bias) {
  return bias != nullptr ? ResultSize(node) : SymInt(0);
}

SymInt MatMul(const Node& node) {
  const Type left = ops::MatmulView(node).self()->type();
  return 2 * ResultSize(node) * left.dims().back();
}

SymInt Linear(const Node& node) {
  const ops::LinearView linear(node);
  const Type input = linear.input()->type();
  return 2 * ResultSize(node) * input.dims().back() + Bias(node, linear.bias());
}

// Each element of the output (of the input, when transposed) meets a kernel.
SymInt Convolution(const Node& node) {
  const ops::ConvolutionView conv(node);
  const SymInt points = conv.transposed() ? OperandSize(node) : ResultSize(node);
  return 2 * points * SizeFrom(conv.weight()->type(), 1) + Bias(node, conv.bias());
}

// The product, and for each element that a kernel meets (those of one output
// channel stand for all of its group) an interpolation between 2^n neighbours.
SymInt DeformConv(const Node& node) {
  const ops::DeformConvView conv(node);
  const Type weight = conv.weight()->type();
  const SymInt taps = Product(weight.dims().subspan(2));
  const SymInt points =
      FloorDiv(ResultSize(node), weight.dim(0)) * conv.input()->type().dim(1) * taps;
  const int64_t corners = int64_t{1} << (weight.rank() - 2);
  return 2 * ResultSize(node) * SizeFrom(weight, 1) + 2 * corners * points +
         Bias(node, conv.bias());
}

// Scores, softmax and the product with the values; of a causal one all of it.
SymInt Attention(const Node& node) {
  const ops::ScaledDotProductAttentionView attention(node);
  const Type query = attention.query()->type();
  const Type value = attention.value()->type();
  const int rank = query.rank();
  const SymInt keys = value.dim(value.rank() - 2);
  const SymInt scores = SizeFrom(query, 0);
  const SymInt pairs = Product(query.dims().first(rank - 1)) * keys;
  const SymInt masked = attention.attn_mask() != nullptr ? pairs : SymInt(0);
  return 2 * scores * keys + 6 * pairs + masked + 2 * ResultSize(node) * keys;
}

// A product for each combination of the labels: as one loop nest.
SymInt Einsum(const Node& node) {
  const ops::EinsumView einsum(node);
  std::vector<int> ranks;
  for (const Value* operand : einsum.operands()) ranks.push_back(operand->type().rank());
  const auto equation = ops::Equation::Parse(einsum.equation(), ranks);
  if (!equation.ok()) return SymInt::Invalid();
  std::map<int, SymInt> sizes;
  for (int i = 0; i < node.num_operands(); ++i) {
    const auto dims = node.operand(i)->type().dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      SymInt& size = sizes.emplace(equation->operands[i][d], 1).first->second;
      if (size.Is(1)) size = dims[d];
    }
  }
  SymInt flops = node.num_operands();
  for (const auto& [label, size] : sizes) flops = flops * size;
  return flops;
}

// x [length, batch, in], w [directions, gates * hidden, in],
// r [directions, gates * hidden, hidden]: both products in every step, and
// some operations for each gate.
SymInt Recurrence(const Node& node) {
  const ops::RecurrenceView recurrence(node);
  const Type x = recurrence.x()->type();
  const Type w = recurrence.w()->type();
  const Type r = recurrence.r()->type();
  const SymInt steps = x.dim(0) * x.dim(1);
  const SymInt gates = w.dim(0) * w.dim(1);
  return steps * gates * (2 * w.dim(2) + 2 * r.dim(2) + 5);
}

// Elimination.
SymInt Determinant(const Node& node) {
  const SymInt n = node.operand(0)->type().dims().back();
  return FloorDiv(2 * OperandSize(node) * n, 3);
}

// Half of it, as the matrix is symmetric.
SymInt Cholesky(const Node& node) {
  const SymInt n = node.operand(0)->type().dims().back();
  return FloorDiv(OperandSize(node) * n, 3);
}

// Reflections of the columns, m x n: 2 m n^2 - 2/3 n^3 for the factor, as much for q.
SymInt Qr(const Node& node) {
  const auto dims = node.operand(0)->type().dims();
  const SymInt m = dims[dims.size() - 2];
  const SymInt n = Min(m, dims.back());
  return 4 * OperandSize(node) * n - FloorDiv(4 * OperandSize(node) * n * n, 3 * Max(m, 1));
}

// One triangle, or both, for each column of the right side.
SymInt SolveTriangular(const Node& node) {
  return OperandSize(node, 1) * node.operand(0)->type().dims().back();
}
SymInt LuSolve(const Node& node) {
  return 2 * OperandSize(node, 2) * node.operand(0)->type().dims().back();
}

}  // namespace

absl::Span<const Row> ProductRows() {
  static const Row kRows[] = {
      {&ops::cholesky, Cholesky},
      {&ops::convolution, Convolution},
      {&ops::deform_conv, DeformConv},
      {&ops::det, Determinant},
      {&ops::einsum, Einsum},
      {&ops::gru, Recurrence},
      {&ops::linear, Linear},
      {&ops::lstm, Recurrence},
      {&ops::lu_factor, Determinant},
      {&ops::lu_solve, LuSolve},
      {&ops::matmul, MatMul},
      {&ops::qr, Qr},
      {&ops::rnn, Recurrence},
      {&ops::scaled_dot_product_attention, Attention},
      {&ops::solve_triangular, SolveTriangular},
  };
  return kRows;
}

}  // namespace weft::cost
