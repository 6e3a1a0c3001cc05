// Gathers single elements by index along one dim.
#include "graph/ops/support/index.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  const Type self = args.type(0);
  const Type index = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, self.rank()));
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  for (int i = 0; i < self.rank(); ++i) {
    if (i == dim || args.MayHold(LessEqual(index.dim(i), self.dim(i)))) continue;
    return Invalid("index of type ", index.ToString(), " is larger than ", self.ToString(),
                   " in dim ", i);
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(1).WithDType(args.type(0).dtype())};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> along, ReadIndices(c.in(1), self.dim(dim)));
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  size_t at = 0;
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    return Dot(index, strides) + (along[at++] - index[dim]) * strides[dim];
  });
  return absl::OkStatus();
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  ElementMap map = MapMove(rank, MapVars(0, rank));
  map.gathers.push_back({1, MapVars(0, rank), args.operands[0].dim(dim)});
  map.accesses[0].at[dim] = MapVar(map.first_gathered());
  return map;
}

}  // namespace

WEFT_DEFINE_OP(gather, OpSpec("gather(Tensor self, Tensor index, int dim) -> Tensor",
                              "For each element of index, the element of self at the same place "
                              "but at that index along `dim`. Negative indices count from the "
                              "end. ONNX: GatherElements; ATen: aten::gather.")
                           .Traits(kDataMovement)
                           .Verify(Verify)
                           .Infer(Infer)
                           .Eval(Eval)
                           .Map(Map)
                           .Samples(R"(
gather(f32[4, 3], i64[2, 3]{-4..3}, dim=0)
gather(i64[2, 5], i32[2, 7]{-5..4}, dim=-1)
gather(f16[2, 3, 2, 2], i64[1, 4, 2, 1]{0..2}, dim=1)
gather(u4[5], i64[3]{0..4}, dim=0)
gather(u64[1, 3], i64[1, 2]{0..2}, dim=1)
gather(bool[3, 2], i64[0, 2], dim=0)
gather(f32[0, 2], i64[0, 1], dim=0)
gather(f32[2, 3], i64[2], dim=0) ! "index must have rank 2"
gather(f32[2, 3], i64[2, 4], dim=0) ! "larger than f32[2, 3] in dim 1"
gather(f32[2], i16[2], dim=0) ! "i32 or i64"
gather(f32[2], i64[2], dim=-2) ! "dim -2 is out of range"
)"));

}  // namespace weft::ops
