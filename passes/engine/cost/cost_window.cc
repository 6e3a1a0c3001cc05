// Windows over planes, and sampling.
#include <cstdint>
#include <string>

#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/vision.h"
#include "graph/sym/sym_ops.h"
#include "passes/engine/cost/tables.h"

namespace weft::cost {
namespace {

SymInt Window(const Node& node) { return Product(ToSymInts(ops::PoolView(node).kernel_size())); }

SymInt Pool(const Node& node) { return ResultSize(node) * Window(node); }

// A power for each element of the window, and the root.
SymInt LpPool(const Node& node) { return ResultSize(node) * (2 * Window(node) + 1); }

// A sum over `size` channels of squares; scale, add, power, divide.
SymInt LocalResponseNorm(const Node& node) {
  return ResultSize(node) * (2 * ops::LocalResponseNormView(node).size() + 4);
}

// Every element of the blocks is added once.
SymInt Col2Im(const Node& node) { return OperandSize(node); }

// Neighbours of a position in `dims` dims, and their weights.
int64_t SampleCost(const std::string& mode, int dims) {
  if (mode == "nearest") return 0;
  const int64_t taps = mode == "cubic" || mode == "bicubic" ? 4 : 2;
  int64_t neighbours = 1;
  for (int i = 0; i < dims; ++i) neighbours *= taps;
  return 2 * neighbours;
}

SymInt Sample(const Node& node, const std::string& mode) {
  return ResultSize(node) * SampleCost(mode, node.result()->type().rank() - 2);
}
SymInt GridSampler(const Node& node) { return Sample(node, ops::GridSamplerView(node).mode()); }
SymInt Interpolate(const Node& node) { return Sample(node, ops::InterpolateView(node).mode()); }

// The coordinates of a point are a product of n x (n + 1) with n + 1.
SymInt AffineGrid(const Node& node) {
  const SymInt n = node.result(0)->type().dims().back();
  return 2 * ResultSize(node) * (n + 1);
}

}  // namespace

absl::Span<const Row> WindowRows() {
  static const Row kRows[] = {
      {&ops::affine_grid, AffineGrid},  {&ops::avg_pool, Pool},
      {&ops::col2im, Col2Im},           {&ops::grid_sampler, GridSampler},
      {&ops::interpolate, Interpolate}, {&ops::local_response_norm, LocalResponseNorm},
      {&ops::lp_pool, LpPool},          {&ops::max_pool, Pool},
  };
  return kRows;
}

}  // namespace weft::cost
