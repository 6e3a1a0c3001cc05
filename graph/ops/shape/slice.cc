// A range along one dim.
#include <algorithm>

#include "graph/ops/ops.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// Not clamped on the far sides, which the length takes care of.
SymInt First(const OpArgs& args, SymInt n) {
  const SymbolTable& symbols = *args.symbols;
  return KnownMax(symbols, FromEnd(symbols, args.attrs().Sym("start"), n), 0);
}
SymInt Last(const OpArgs& args, SymInt n) {
  const SymbolTable& symbols = *args.symbols;
  return KnownMin(symbols, FromEnd(symbols, args.attrs().Sym("end"), n), n);
}

// Clamping both positions to [0, n] and clipping the length at 0 leaves this.
SymInt Length(const OpArgs& args, SymInt n) {
  return StepsBetween(*args.symbols, First(args, n), Last(args, n), args.attrs().Sym("step"));
}

absl::Status Verify(const OpArgs& args) {
  const SymInt step = args.attrs().Sym("step");
  if (args.MayHold(GreaterEqual(step, 1))) return absl::OkStatus();
  return Invalid("step must be positive, got ", step.ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  std::vector<SymInt> dims(self.dims().begin(), self.dims().end());
  dims[dim] = Length(args, dims[dim]);
  return Types{self.WithDims(dims)};
}

// Folds a slice of all elements to self, and one of a slice_scatter to its src.
Folded Fold(const OpArgs& args) {
  const int dim = *NormalizeDim(args.attrs().Int("dim"), args.type(0).rank());
  const SymInt n = args.type(0).dim(dim);
  if (Length(args, n) == n) return args.operand(0);
  return FoldViewOfScatter(args, slice_scatter);
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int64_t step = c.attrs().Int("step");
  if (step <= 0) return Invalid("step must be positive, got ", step);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const int64_t n = self.dim(dim);
  int64_t start = c.attrs().Int("start");
  if (start < 0) start = std::max<int64_t>(start, -n) + n;
  start = std::min(start, n);
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    return Dot(index, strides) + (start + index[dim] * (step - 1)) * strides[dim];
  });
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  return ScatterBack(b, slice_scatter, view, base, update);
}

// A dim of at most one element does not say how far apart elements are.
std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  const SymInt length = args.out().dim(dim);
  const SymInt start =
      SliceStart(*args.symbols, args.attrs().Sym("start"), args.operands[0].dim(dim));
  std::vector<MapIndex> at = MapVars(0, rank);
  at[dim] = MapVar(dim, length.Is(0) || length.Is(1) ? SymInt(1) : args.attrs().Sym("step"), start);
  return MapMove(rank, std::move(at));
}

}  // namespace

bool SameSlice(const OpArgs& args, const AttrList* a, const AttrList* b) {
  OpArgs x = args;
  OpArgs y = args;
  x.op = y.op = &slice;
  x.attr_list = a;
  y.attr_list = b;
  const int rank = args.type(0).rank();
  const int dim = *NormalizeDim(x.attrs().Int("dim"), rank);
  const SymInt n = args.type(0).dim(dim);
  return dim == *NormalizeDim(y.attrs().Int("dim"), rank) &&
         x.attrs().Sym("step") == y.attrs().Sym("step") && First(x, n) == First(y, n) &&
         Last(x, n) == Last(y, n);
}

WEFT_DEFINE_OP(slice, OpSpec("slice(Tensor(a) self, int dim, SymInt start=0, "
                             "SymInt end=9223372036854775807, SymInt step=1) -> Tensor(a)",
                             "The elements start, start + step, ... before `end` along `dim`. "
                             "Negative positions count from the end; positions are clamped to "
                             "the dim; the step is positive. ATen: aten::slice.Tensor.")
                          .Traits(kDataMovement)
                          .Verify(Verify)
                          .Infer(Infer)
                          .Fold(Fold)
                          .Eval(Eval)
                          .Map(Map)
                          .InvertView(Invert)
                          .Samples(R"(
slice(f32[5], dim=0)
slice(f32[5], dim=0, start=1, end=4)
slice(i64[2, 5], dim=-1, start=-4, end=-1, step=2)
slice(f16[3, 2, 4], dim=1, start=1)
slice(u4[7], dim=0, start=1, end=100, step=3)
slice(bool[2, 3, 4, 2], dim=2, start=-100, end=2)
slice(u64[3], dim=0, start=2, end=1)
slice(f32[0, 2], dim=0, start=0, end=3)
slice(bf16[1], dim=0, start=-1)
slice(i8[4], dim=0, start=-9223372036854775808, end=3)
slice(i8[4], dim=0, step=9223372036854775807)
slice(f32[5], dim=1) ! "dim 1 is out of range"
slice(f32[], dim=0) ! "out of range for a scalar"
slice(f32[5], dim=0, step=0) ! "step must be positive, got 0"
slice(f32[5], dim=0, step=-1) ! "step must be positive, got -1"
)"));

}  // namespace weft::ops
