// Matrix product.
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckAccumulator(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  return CheckRankAtLeast(args, 1, 1);
}

// The dims before the last two.
Type BatchOf(Type t) {
  const size_t n = t.rank() < 2 ? 0 : t.rank() - 2;
  return t.WithDims(t.dims().first(n));
}

absl::Span<const int64_t> BatchOf(const HostTensor& t) {
  return t.dims().first(t.rank() < 2 ? 0 : t.rank() - 2);
}

// For each matmul of the batch, the index of its matrix in `t`.
std::vector<int64_t> MatrixOfProduct(const HostTensor& t, absl::Span<const int64_t> batch) {
  std::vector<int64_t> matrices;
  ForEachOffset<1>(batch, {BroadcastStrides(BatchOf(t), batch)},
                   [&](int64_t, const std::array<int64_t, 1>& at) { matrices.push_back(at[0]); });
  return matrices;
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& a = c.in(0);
  const HostTensor& b = c.in(1);
  const int64_t m = a.rank() == 1 ? 1 : a.dim(a.rank() - 2);
  const int64_t k = a.dim(a.rank() - 1);
  const int64_t n = b.rank() == 1 ? 1 : b.dim(b.rank() - 1);
  const int vectors = (a.rank() == 1) + (b.rank() == 1);
  const auto batch = c.out(0).dims().first(c.out(0).rank() + vectors - 2);
  const std::vector<int64_t> left = MatrixOfProduct(a, batch);
  const std::vector<int64_t> right = MatrixOfProduct(b, batch);
  return VisitProductDomain(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(a);
    const std::vector<T> y = Read<T>(b);
    Write(Multiply<T>({static_cast<int64_t>(left.size()), m, n, k,
                       [&](int64_t i) { return x.data() + left[i] * m * k; },
                       [&](int64_t i, const Panel& panel, T* to) {
                         CopyPanel(y.data() + right[i] * k * n, n, panel, to);
                       }}),
          &c.out(0));
    return absl::OkStatus();
  });
}

// The sum over the last dim of self and the one before the last of other, or their only ones.
std::optional<ElementMap> Map(const MapArgs& args) {
  const Type a = args.operands[0];
  const Type b = args.operands[1];
  const int row = args.out().rank() - (a.rank() > 1) - (b.rank() > 1);
  const auto batch = args.out().dims().first(row);
  ElementMap map;
  map.kind = ElementMap::Kind::kCombine;
  map.rank = args.out().rank();
  map.reduced.push_back(a.dim(a.rank() - 1));
  const MapIndex along = MapVar(map.first_reduced());
  OperandAccess left;
  left.at = BroadcastMapIndices(args, BatchOf(a).dims(), batch);
  if (a.rank() > 1) left.at.push_back(MapVar(row));
  left.at.push_back(along);
  OperandAccess right;
  right.operand = 1;
  right.at = BroadcastMapIndices(args, BatchOf(b).dims(), batch);
  right.at.push_back(along);
  if (b.rank() > 1) right.at.push_back(MapVar(map.rank - 1));
  map.accesses = {std::move(left), std::move(right)};
  return map;
}

}  // namespace

absl::StatusOr<Types> InferMatmul(const OpArgs& args) {
  const Type a = args.type(0);
  const Type b = args.type(1);
  const SymInt k = b.dim(b.rank() == 1 ? 0 : b.rank() - 2);
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, a.dim(a.rank() - 1), k, "the contracted sizes"));
  WEFT_ASSIGN_OR_RETURN(std::vector<SymInt> dims, BroadcastDims(args, {BatchOf(a), BatchOf(b)}));
  if (a.rank() > 1) dims.push_back(a.dim(a.rank() - 2));
  if (b.rank() > 1) dims.push_back(b.dim(b.rank() - 1));
  return Types{a.WithDims(dims)};
}

SymInt FlopsOfMatmul(const FlopsArgs& args) {
  return 2 * args.result_size() * args.operands[0].dims().back();
}

WEFT_DEFINE_OP(matmul, OpSpec("matmul(Tensor self, Tensor other) -> Tensor",
                              "Matrix product as numpy.matmul: a 1-D operand is a row "
                              "or a column and its dim is dropped, dims before the "
                              "last two broadcast. ATen: aten::matmul.")
                           .Verify(Verify)
                           .Infer(InferMatmul)
                           .Eval(Eval)
                           .Map(Map)
                           .Flops(FlopsOfMatmul)
                           .Samples(R"(
matmul(f32[3, 4], f32[4, 5])
matmul(f32[4], f32[4])
matmul(f32[2, 3, 4], f32[4])
matmul(f32[4], f32[2, 4, 3])
matmul(f32[2, 1, 3, 4], f32[5, 4, 2])
matmul(f32[70, 300], f32[300, 65])
matmul(f64[1, 3, 4], f64[2, 4, 1])
matmul(f16[2, 3], f16[3, 2])
matmul(bf16[2, 3], bf16[3, 2])
matmul(i32[2, 3]{-9..9}, i32[3, 2]{-9..9})
matmul(i64[2, 3]{-9..9}, i64[3, 2]{-9..9})
matmul(f32[3, 0], f32[0, 2])
matmul(f32[0, 3], f32[3, 2])
matmul(f32[3, 4], f32[5, 2]) ! "the contracted sizes: 4 and 5 differ"
matmul(f32[2, 3, 4], f32[3, 4, 2]) ! "do not broadcast"
matmul(f32[], f32[4]) ! "at least rank 1"
matmul(f32[3, 4], f64[4, 2]) ! "different dtypes"
matmul(i8[3, 4], i8[4, 2]) ! "32- or 64-bit integers"
)"));

}  // namespace weft::ops
