// Windows along a dim.
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const int dim,
                        NormalizeDim(args.attrs().Int("dimension"), args.type(0).rank()));
  const SymInt n = args.type(0).dim(dim);
  const SymInt size = args.attrs().Sym("size");
  const SymInt step = args.attrs().Sym("step");
  if (!args.MayHold(GreaterEqual(step, 1))) {
    return Invalid("step must be positive, got ", step.ToString());
  }
  if (args.MayHold(GreaterEqual(size, 0)) && args.MayHold(LessEqual(size, n))) {
    return absl::OkStatus();
  }
  return Invalid("windows of ", size.ToString(), " in dim ", dim, " of ", args.type(0).ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const int dim = *NormalizeDim(args.attrs().Int("dimension"), self.rank());
  const SymInt size = args.attrs().Sym("size");
  std::vector<SymInt> dims = DimsOf(self);
  dims[dim] = FloorDiv(dims[dim] - size, args.attrs().Sym("step")) + 1;
  dims.push_back(size);
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dimension"), self.rank());
  std::vector<int64_t> strides = ContiguousStrides(self.dims());
  strides.push_back(strides[dim]);
  strides[dim] *= c.attrs().Int("step");
  MoveElements(self, &c.out(0),
               [&](absl::Span<const int64_t> index) { return Dot(index, strides); });
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  const Type windows = Infer(view)->front();
  if (windows.numel().Is(0)) return base;
  const int dim = *NormalizeDim(view.attrs().Int("dimension"), view.type(0).rank());
  if (!windows.dim(dim).Is(1) &&
      view.symbols->ProveLe(view.attrs().Sym("size"), view.attrs().Sym("step")) != Proof::kYes) {
    return b.Fail(
        Invalid("windows of unfold overlap, or may, and cannot be "
                "written"));
  }
  return ScatterByIndex(b, view, base, update);
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.operands[0].rank();
  const int dim = *NormalizeDim(args.attrs().Int("dimension"), rank);
  std::vector<MapIndex> at = MapVars(0, rank);
  at[dim] = MapVar(dim, args.attrs().Sym("step"));
  at[dim].terms.push_back({rank, 1});
  return MapMove(rank + 1, std::move(at));
}

}  // namespace

WEFT_DEFINE_OP(unfold, OpSpec("unfold(Tensor(a) self, int dimension, SymInt size, SymInt step) "
                              "-> Tensor(a)",
                              "The windows of `size` elements of a dim, one every `step`; their "
                              "elements are a new last dim. ATen: aten::unfold.")
                           .Traits(kDataMovement)
                           .Verify(Verify)
                           .Infer(Infer)
                           .Eval(Eval)
                           .Map(Map)
                           .InvertView(Invert)
                           .Samples(R"(
unfold(f32[7], dimension=0, size=3, step=2)
unfold(i64[2, 6, 3], dimension=-2, size=2, step=2)
unfold(u4[5], dimension=0, size=1, step=3)
unfold(bool[3, 2], dimension=1, size=2, step=1)
unfold(f16[3], dimension=0, size=3, step=1000)
unfold(bf16[0, 4], dimension=1, size=3, step=1)
unfold(f32[3], dimension=0, size=4, step=1) ! "windows of 4 in dim 0 of f32[3]"
unfold(f32[3], dimension=0, size=2, step=0) ! "step must be positive, got 0"
unfold(f32[3], dimension=1, size=2, step=1) ! "dim 1 is out of range"
)"));

}  // namespace weft::ops
