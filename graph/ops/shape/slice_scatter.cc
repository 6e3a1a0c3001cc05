// The inverse of slice.
#include "graph/ops/ops.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) { return CheckViewed(args, slice); }

// All of it is replaced; or nothing is, by other values.
Folded Fold(const OpArgs& args) {
  if (Folded same = FoldScatterOfView(args, slice)) return same;
  const int dim = *NormalizeDim(args.attrs().Int("dim"), args.type(0).rank());
  OpArgs viewed = args;
  viewed.op = &slice;
  viewed.types = args.types.first(1);
  const bool whole = slice.infer()(viewed)->front().dim(dim) == args.type(0).dim(dim);
  if (!whole || args.type(1) != args.type(0)) return {};
  return args.operand(1);
}

absl::Status Eval(EvalContext& c) { return EvalScatterOf(c, slice); }

// src in the piece that it replaces, else self; none with a step.
std::optional<ElementMap> Map(const MapArgs& args) {
  if (!args.attrs().Sym("step").Is(1)) return std::nullopt;
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  const SymInt start = SliceStart(*args.symbols, args.attrs().Sym("start"), args.out().dim(dim));
  ElementMap map = MapMove(rank, MapVars(0, rank));
  OperandAccess src = map.accesses[0];
  src.operand = 1;
  src.at[dim].offset = SymInt(0) - start;
  src.guards.push_back({src.at[dim], args.operands[1].dim(dim)});
  map.accesses.insert(map.accesses.begin(), std::move(src));
  return map;
}

}  // namespace

WEFT_DEFINE_OP(slice_scatter,
               OpSpec("slice_scatter(Tensor self, Tensor src, int dim, SymInt start=0, "
                      "SymInt end=9223372036854775807, SymInt step=1) -> Tensor",
                      "self with the elements that slice, with these attributes, takes "
                      "replaced by those of src. ATen: aten::slice_scatter.")
                   .Traits(kDataMovement)
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Fold(Fold)
                   .Eval(Eval)
                   .Map(Map)
                   .Samples(R"(
slice_scatter(f32[5], f32[3], dim=0, start=1, end=4)
slice_scatter(i64[2, 5], i64[2, 2], dim=-1, start=-4, end=-1, step=2)
slice_scatter(f16[3, 2, 4], f16[3, 1, 4], dim=1, start=1)
slice_scatter(u4[7], u4[2], dim=0, start=1, end=100, step=3)
slice_scatter(u64[3], u64[0], dim=0, start=2, end=1)
slice_scatter(bf16[3, 2], bf16[3, 2], dim=0)
slice_scatter(bool[0, 2], bool[0, 2], dim=0, end=3)
slice_scatter(c64[4], c64[1], dim=0, start=-1)
slice_scatter(f32[5], f32[2], dim=0, start=1, end=4) ! "src has type f32[2], the view of self f32[3]"
slice_scatter(f32[5], i32[3], dim=0, start=1, end=4) ! "different dtypes"
slice_scatter(f32[5], f32[5], dim=1) ! "dim 1 is out of range"
slice_scatter(f32[5], f32[5], dim=0, step=0) ! "step must be positive"
)"));

}  // namespace weft::ops
