// Positions in sorted tensors, and cumulative extrema.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

Value* WithDim(AtenCall& c, Value* v) { return RankOf(v) == 0 ? Reshape(c, v, {SymInt(1)}) : v; }

// --- Searches ---------------------------------------------------------------------

// Operands in one dtype; f32 for bools or 8-bit floats.
Value* Search(AtenCall& c, Value* sorted, absl::string_view values, bool right) {
  Value* x = c.As(values, c.Promoted({values}));
  const DType dtype = PromoteTypes(DTypeOf(sorted), DTypeOf(x));
  const DType out = c.Bool("out_int32") ? DType::kI32 : DType::kI64;
  return c.Op(ops::searchsorted, {Convert(c, sorted, dtype), Convert(c, x, dtype)},
              {{"right", right}, {"dtype", out}});
}

void Bucketize(AtenCall& c) { c.Return(Search(c, c.T("boundaries"), "self", c.Bool("right"))); }

void SearchSorted(AtenCall& c) {
  Value* sorted = c.T("sorted_sequence");
  if (Value* order = c.OptT("sorter")) {
    sorted = c.Op(ops::gather, {sorted, order}, {{"dim", RankOf(sorted) - 1}});
  }
  const bool right = c.Bool("right") || (c.Has("side") && c.Str("side") == "right");
  c.Return(Search(c, sorted, "self", right));
}

// --- Extremes ---------------------------------------------------------------------

template <const OpDef& op>
void Running(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  for (Value* v : c.Ops(op, {WithDim(c, self)}, {{"dim", dim}})) {
    c.Return(Reshape(c, v, DimsOf(self)));
  }
}

void Mode(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) {
    c.Return(self);
    return c.Return(Number(c, DType::kI64, 0));
  }
  c.Return(c.Ops(ops::mode, {self},
                 {{"dim", c.Dim("dim", RankOf(self))}, {"keepdim", c.Bool("keepdim")}}));
}

constexpr AtenOp kTable[] = {
    {"bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) "
     "-> Tensor",
     Bucketize},
    {"bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) "
     "-> Tensor",
     Bucketize},
    {"cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", Running<ops::cummax>},
    {"cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", Running<ops::cummin>},
    {"mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", Mode},
    {"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     SearchSorted},
    {"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     SearchSorted},
};

}  // namespace

absl::Span<const AtenOp> SearchTable() { return kTable; }

}  // namespace weft::pt2
