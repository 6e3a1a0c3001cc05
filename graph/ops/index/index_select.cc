// Whole slices by index.
#include "graph/ops/support/index.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  const auto before = self.dims().first(dim);
  const auto index = args.type(1).dims();
  const auto after = self.dims().subspan(dim + 1);
  std::vector<SymInt> dims(before.begin(), before.end());
  dims.insert(dims.end(), index.begin(), index.end());
  dims.insert(dims.end(), after.begin(), after.end());
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const Split split = SplitAt(self.dims(), dim);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> index, ReadIndices(c.in(1), split.size));
  std::vector<int64_t> source;
  source.reserve(c.out(0).numel());
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t i : index) {
      for (int64_t n = 0; n < split.inner; ++n) {
        source.push_back(split.At(o, i, n));
      }
    }
  }
  Gather(self, source, &c.out(0));
  return absl::OkStatus();
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const Type self = args.operands[0];
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), self.rank());
  const int end = dim + args.operands[1].rank();
  std::vector<MapIndex> at = MapVars(0, dim);
  at.push_back(MapVar(rank));
  for (int d = end; d < rank; ++d) at.push_back(MapVar(d));
  ElementMap map = MapMove(rank, std::move(at));
  map.gathers.push_back({1, MapVars(dim, end), self.dim(dim)});
  return map;
}

}  // namespace

WEFT_DEFINE_OP(index_select,
               OpSpec("index_select(Tensor self, Tensor index, int dim) -> Tensor",
                      "The slices of self at `index` along `dim`, which the dims of index "
                      "(of any rank) replace. Negative indices count from the end. "
                      "ONNX: Gather; ATen: aten::index_select for an index of rank 1.")
                   .Traits(kDataMovement)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Map)
                   .Samples(R"(
index_select(f32[4, 3], i64[2]{-4..3}, dim=0)
index_select(i64[2, 5, 2], i32[2, 3]{-5..4}, dim=1)
index_select(f16[2, 3], i64[]{-1}, dim=-1)
index_select(u4[5], i64[3]{0..4}, dim=0)
index_select(bool[2, 1, 3, 2], i32[1]{0}, dim=1)
index_select(u64[3, 2], i64[0], dim=0)
index_select(f32[0, 3], i64[0, 2], dim=0)
index_select(f32[2, 0], i64[3]{0, 1, 1}, dim=0)
index_select(f32[2], f32[1], dim=0) ! "index must have i32 or i64 dtype"
index_select(f32[2], i64[1], dim=1) ! "dim 1 is out of range"
index_select(f32[], i64[1], dim=0) ! "out of range for a scalar"
)"));

}  // namespace weft::ops
