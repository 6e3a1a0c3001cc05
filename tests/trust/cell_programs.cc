// Programs that each aim at one cell of the coverage table: a routine whose first operand has the
// layout of the cell, the op of its epilogue, and whatever may follow.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "tests/trust/schema_programs.h"

namespace weft::trust {
namespace {

// Multiplications of the reference executor that one product may take.
constexpr int64_t kMaxWork = 1 << 18;

// Sizes of 1 would make layouts and broadcasts ambiguous.
int64_t Size(Random& random) {
  return random.Of<int64_t>({2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65});
}

Value* NewInput(ProgramBuilder& p, DType dtype, const Dims& dims) {
  return p.Input(DrawTensor(dtype, dims, p.options().edge_values, p.random()));
}

Value* Transposed(ProgramBuilder& p, DType dtype, Dims dims, Dims order) {
  Dims before(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) before[order[i]] = dims[i];
  return p.builder().Op(ops::permute, {NewInput(p, dtype, before)}, {{"dims", order}});
}

// An operand of these sizes, all of which are above 1, that lies as `layout` says.
Value* LaidOut(ProgramBuilder& p, DType dtype, const Dims& dims, const std::string& layout) {
  Random& random = p.random();
  if (layout == "rows") return NewInput(p, dtype, dims);
  const int rank = static_cast<int>(dims.size());
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (layout == "last") {
    order[1] = rank - 1;
    for (int d = 2; d < rank; ++d) order[d] = d - 1;
    return Transposed(p, dtype, dims, order);
  }
  // With three dims, this may be channels-last.
  if (rank != 3 && random.OneIn(3)) {
    std::swap(order[rank - 1], order[rank - 2]);
    return Transposed(p, dtype, dims, order);
  }
  const int dim = random.Pick(0, rank - 1);
  const int64_t start = random.Pick(0, 2), end = start + 2 * dims[dim];
  Dims larger = dims;
  larger[dim] = end + random.Pick(0, 2);
  return p.builder().Op(
      ops::slice, {NewInput(p, dtype, larger)},
      {{"dim", dim}, {"start", SymInt(start)}, {"end", SymInt(end)}, {"step", SymInt(2)}});
}

// Without edge values: an infinite weight times the zeros of a padding is NaN on the reference,
// and routines visit no padding.
Value* Weights(ProgramBuilder& p, DType dtype, const Dims& dims, bool constant) {
  const HostTensor tensor = DrawTensor(dtype, dims, false, p.random());
  return constant ? p.builder().Constant(tensor) : p.Input(tensor);
}

Value* AddProduct(ProgramBuilder& p, const Coverage::Cell& cell) {
  Random& random = p.random();
  Dims x;
  for (int i = random.Pick(1, 2); i > 0; --i) x.push_back(random.Pick(2, 3));
  Dims size = {Size(random), Size(random), Size(random)};  // m, n, k.
  while (NumElements(size) * NumElements(x) > kMaxWork) {
    *std::max_element(size.begin(), size.end()) /= 2;
  }
  const auto [m, n, k] = std::array<int64_t, 3>{size[0], size[1], size[2]};
  Dims weights = {n, k};
  if (cell.routine == "matmul") {
    weights = {k, n};
    if (random.OneIn(2)) weights.insert(weights.begin(), x.begin(), x.end());
  }
  x.insert(x.end(), {m, k});
  Value* first = LaidOut(p, cell.dtype, x, cell.layout);
  Value* second = Weights(p, cell.dtype, weights, cell.constant);
  if (cell.routine == "matmul") return p.builder().Op(ops::matmul, {first, second});
  Value* bias = random.OneIn(2) ? nullptr : p.Leaf(cell.dtype, {n});
  return p.builder().Op(ops::linear, {first, second, bias});
}

Value* AddConvolution(ProgramBuilder& p, const Coverage::Cell& cell) {
  Random& random = p.random();
  const int spatial = cell.routine[cell.routine.size() - 2] - '0';
  const bool transposed = cell.routine[0] == 't';
  int64_t groups = 1, in = random.Of({2, 3, 4, 5, 8, 16, 17}),
          out = random.Of({2, 3, 6, 8, 16, 33});
  if (cell.routine[0] == 'd') {
    groups = in;
    out = in * random.Pick(1, 2);
  } else if (cell.routine[0] == 'g' || (transposed && random.OneIn(3))) {
    groups = random.Pick(2, 3);
    in = groups * random.Of({2, 3, 4, 8});
    out = groups * random.Of({1, 2, 4, 8, 16});
  }
  Dims x = {random.Pick(2, 3), in};
  Dims weights = {transposed ? in : out, (transposed ? out : in) / groups};
  std::vector<SymInt> strides, paddings, dilations, more;
  for (int d = 0; d < spatial; ++d) {
    const int64_t kernel = random.Pick(1, 3), dilation = random.OneIn(4) ? 2 : 1;
    const int64_t stride = random.OneIn(3) ? 2 : 1, reach = dilation * (kernel - 1);
    x.push_back(reach + stride + 2 + random.Pick(0, spatial == 1 ? 20 : spatial == 2 ? 6 : 2));
    weights.push_back(kernel);
    strides.push_back(stride);
    paddings.push_back(std::min<int64_t>(random.Pick(0, 1), reach));
    dilations.push_back(dilation);
    if (transposed) more.push_back(stride > 1 ? random.Pick(0, 1) : 0);
  }
  Value* first = LaidOut(p, cell.dtype, x, cell.layout);
  Value* second = Weights(p, cell.dtype, weights, cell.constant);
  Value* bias = random.OneIn(2) ? nullptr : p.Leaf(cell.dtype, {out});
  return p.builder().Op(ops::convolution, {first, second, bias},
                        {{"stride", strides},
                         {"padding", paddings},
                         {"dilation", dilations},
                         {"transposed", transposed},
                         {"output_padding", more},
                         {"groups", SymInt(groups)}});
}

Value* AddEpilogue(ProgramBuilder& p, const Coverage::Cell& cell, Value* value) {
  const OpDef* op = ops::Registry().Find(cell.epilogue);
  if (cell.broadcast == "-") return p.builder().Op(*op, {value});
  Dims dims;
  if (!p.SizesOf(value, &dims)) return nullptr;
  dims = cell.MaskedDims(std::move(dims));
  while (!dims.empty() && dims[0] == 1 && p.random().OneIn(2)) dims.erase(dims.begin());
  // Divisors have no edge values.
  p.AllowEdges(op != &ops::div);
  Value* other = p.Leaf(cell.dtype, dims);
  p.AllowEdges(true);
  const bool either =
      op == &ops::add || op == &ops::mul || op == &ops::maximum || op == &ops::minimum;
  return either && p.random().OneIn(3) ? p.builder().Op(*op, {other, value})
                                       : p.builder().Op(*op, {value, other});
}

}  // namespace

absl::StatusOr<TestProgram> MakeCellProgram(const Coverage::Cell& cell, Random& random) {
  ProgramBuilder p(random, {random.OneIn(8), random.OneIn(5), false});
  Value* value = cell.is_product() ? AddProduct(p, cell) : AddConvolution(p, cell);
  if (!p.builder().status().ok()) return p.builder().status();
  if (cell.epilogue != "none") {
    value = AddEpilogue(p, cell, value);
    if (value == nullptr) return absl::NotFoundError("the sizes of the result are not known");
    value = AddPointwise(p, value, 2);
  }
  if (!p.builder().status().ok()) return p.builder().status();
  TestProgram program = p.Finish({value});
  // `cpu` decomposes some ops that routines take.
  program.passes = random.OneIn(2) ? "cpu" : "fuse_epilogue";
  return program;
}

}  // namespace weft::trust
