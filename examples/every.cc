#include "examples/every.h"

#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"
#include "graph/sym/sym_ops.h"

namespace weft::examples {
namespace {

absl::Status Verify(const OpArgs& args) {
  const SymInt n = args.attrs().Sym("n");
  if (args.MayHold(GreaterEqual(n, 1))) return absl::OkStatus();
  return ops::Invalid("n must be positive, got ", n.ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, ops::NormalizeDim(args.attrs().Int("dim"), self.rank()));
  std::vector<SymInt> dims(self.dims().begin(), self.dims().end());
  dims[dim] = CeilDiv(dims[dim], args.attrs().Sym("n"));
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *ops::NormalizeDim(c.attrs().Int("dim"), self.rank());
  std::vector<int64_t> strides = ContiguousStrides(self.dims());
  strides[dim] *= c.attrs().Int("n");
  ops::MoveElements(self, &c.out(0),
                    [&](absl::Span<const int64_t> index) { return ops::Dot(index, strides); });
  return absl::OkStatus();
}

// (d0, d1) -> %0[d0, n*d1] for the last of two dims.
std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *ops::NormalizeDim(args.attrs().Int("dim"), rank);
  std::vector<MapIndex> at = ops::MapVars(0, rank);
  at[dim] = ops::MapVar(dim, args.attrs().Sym("n"));
  return ops::MapMove(rank, std::move(at));
}

// A write through the view writes these elements of the base.
Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  return ops::ScatterByIndex(b, view, base, update);
}

}  // namespace

WEFT_DEFINE_OP(every, OpSpec("every(Tensor(a) self, int dim, SymInt n) -> Tensor(a)",
                             "The elements 0, n, 2n, ... of `dim`.")
                          .Traits(kDataMovement)
                          .Verify(Verify)
                          .Infer(Infer)
                          .Eval(Eval)
                          .Map(Map)
                          .InvertView(Invert)
                          .Samples(R"(
every(f32[7], dim=0, n=3)
every(i64[2, 5], dim=-1, n=2)
every(f32[0, 4], dim=1, n=4)
every(f32[4], dim=0, n=0) ! "n must be positive"
)"));

}  // namespace weft::examples
