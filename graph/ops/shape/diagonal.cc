// The diagonals of matrices.
#include <algorithm>

#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"

namespace weft::ops {
namespace {

// The two dims of the matrices.
absl::StatusOr<std::vector<int>> DimsOfMatrix(const Attrs& attrs, int rank) {
  return NormalizeDims({attrs.Int("dim1"), attrs.Int("dim2")}, rank);
}

// Dims but those two, in order.
template <typename T>
std::vector<T> OtherDims(absl::Span<const T> all, const std::vector<int>& two) {
  std::vector<T> others;
  for (size_t i = 0; i < all.size(); ++i) {
    const int d = static_cast<int>(i);
    if (d != two[0] && d != two[1]) others.push_back(all[i]);
  }
  return others;
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> two, DimsOfMatrix(args.attrs(), self.rank()));
  const int64_t offset = args.attrs().Int("offset");
  const SymInt rows = self.dim(two[0]) - std::max<int64_t>(-offset, 0);
  const SymInt columns = self.dim(two[1]) - std::max<int64_t>(offset, 0);
  std::vector<SymInt> dims = OtherDims(self.dims(), two);
  dims.push_back(KnownMax(*args.symbols, KnownMin(*args.symbols, rows, columns), 0));
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const std::vector<int> two = *DimsOfMatrix(c.attrs(), self.rank());
  const int64_t offset = c.attrs().Int("offset");
  const std::vector<int64_t> all = ContiguousStrides(self.dims());
  std::vector<int64_t> strides = OtherDims(absl::MakeConstSpan(all), two);
  strides.push_back(all[two[0]] + all[two[1]]);
  const int64_t first =
      std::max<int64_t>(-offset, 0) * all[two[0]] + std::max<int64_t>(offset, 0) * all[two[1]];
  MoveElements(self, &c.out(0),
               [&](absl::Span<const int64_t> index) { return first + Dot(index, strides); });
  return absl::OkStatus();
}

// Folds to the src of a diagonal_scatter.
Folded Fold(const OpArgs& args) { return FoldViewOfScatter(args, diagonal_scatter); }

// Folds to self if src is the view of self itself: nothing is replaced by other values.
Folded FoldScatter(const OpArgs& args) { return FoldScatterOfView(args, diagonal); }

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  return ScatterBack(b, diagonal_scatter, view, base, update);
}

absl::Status VerifyScatter(const OpArgs& args) { return CheckViewed(args, diagonal); }

absl::Status EvalScatter(EvalContext& c) { return EvalScatterOf(c, diagonal); }

// The variables of a result without the two dims, which are at `row` and `column` in self.
std::vector<MapIndex> MatrixAt(const std::vector<int>& two, int rank, MapIndex row,
                               MapIndex column) {
  std::vector<MapIndex> at;
  int var = 0;
  for (int d = 0; d < rank; ++d) {
    at.push_back(d == two[0] ? row : d == two[1] ? column : MapVar(var++));
  }
  return at;
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.operands[0].rank();
  const std::vector<int> two = *DimsOfMatrix(args.attrs(), rank);
  const int64_t offset = args.attrs().Int("offset");
  const int last = args.out().rank() - 1;
  return MapMove(last + 1, MatrixAt(two, rank, MapVar(last, 1, std::max<int64_t>(-offset, 0)),
                                    MapVar(last, 1, std::max<int64_t>(offset, 0))));
}

// src where column - row is the offset, else self.
std::optional<ElementMap> MapScatter(const MapArgs& args) {
  const int rank = args.out().rank();
  const std::vector<int> two = *DimsOfMatrix(args.attrs(), rank);
  const int64_t offset = args.attrs().Int("offset");
  ElementMap map = MapMove(rank, MapVars(0, rank));
  OperandAccess src;
  src.operand = 1;
  for (int d = 0; d < rank; ++d) {
    if (d != two[0] && d != two[1]) src.at.push_back(MapVar(d));
  }
  src.at.push_back(MapVar(two[0], 1, -std::max<int64_t>(-offset, 0)));
  MapIndex distance = MapVar(two[1], 1, -offset);
  distance.terms.push_back({two[0], -1});
  src.guards.push_back({std::move(distance), 1});
  map.accesses.insert(map.accesses.begin(), std::move(src));
  return map;
}

}  // namespace

WEFT_DEFINE_OP(diagonal, OpSpec("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) "
                                "-> Tensor(a)",
                                "The diagonals of the matrices of dims dim1 and dim2, as a last "
                                "dim; a positive offset lies above the main one. "
                                "ATen: aten::diagonal.")
                             .Traits(kDataMovement)
                             .Infer(Infer)
                             .Fold(Fold)
                             .Eval(Eval)
                             .Map(Map)
                             .InvertView(Invert)
                             .Samples(R"(
diagonal(f32[3, 4])
diagonal(i64[2, 3, 4], offset=1, dim1=-2, dim2=-1)
diagonal(f16[3, 2, 3], offset=-1, dim1=2, dim2=0)
diagonal(u4[3, 3], offset=2)
diagonal(bool[2, 2], offset=5)
diagonal(bf16[0, 3])
diagonal(f32[3]) ! "at least rank 2"
diagonal(f32[3, 3], dim1=1) ! "appears twice"
diagonal(f32[3, 3], dim2=2) ! "dim 2 is out of range"
)"));

WEFT_DEFINE_OP(diagonal_scatter,
               OpSpec("diagonal_scatter(Tensor self, Tensor src, int offset=0, "
                      "int dim1=0, int dim2=1) -> Tensor",
                      "self with its diagonals, as diagonal gives them, replaced by src. "
                      "ATen: aten::diagonal_scatter.")
                   .Traits(kDataMovement)
                   .Verify(VerifyScatter)
                   .Infer(InferSame)
                   .Fold(FoldScatter)
                   .Eval(EvalScatter)
                   .Map(MapScatter)
                   .Samples(R"(
diagonal_scatter(f32[3, 4], f32[3])
diagonal_scatter(i64[2, 3, 4], i64[2, 3], offset=1, dim1=-2, dim2=-1)
diagonal_scatter(f16[3, 2, 3], f16[2, 2], offset=-1, dim1=2, dim2=0)
diagonal_scatter(u4[3, 3], u4[1], offset=2)
diagonal_scatter(bool[2, 2], bool[0], offset=5)
diagonal_scatter(f32[3, 4], f32[4]) ! "src has type f32[4], the view of self f32[3]"
diagonal_scatter(f32[3, 4], i32[3]) ! "different dtypes"
)"));

}  // namespace weft::ops
