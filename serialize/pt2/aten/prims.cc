// torch.ops.prims: operators without promotion, which some decompositions produce.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// A number takes the dtype of the other operand.
template <const OpDef& op>
void Binary(AtenCall& c) {
  const char* first = c.schema().args[0].name.c_str();
  const char* second = c.schema().args[1].name.c_str();
  const DType dtype = c.Promoted({first, second});
  c.Return(c.Op(op, {c.As(first, dtype), c.As(second, dtype)}));
}

void ConvertElementType(AtenCall& c) {
  Value* a = c.T("a");
  c.Return(Convert(c, a, c.Dtype("dtype", DTypeOf(a))));
}

// Dim i of `a` is dim broadcast_dimensions[i] of the result.
void BroadcastInDim(AtenCall& c) {
  Value* a = c.T("a");
  const SymInts shape = c.Syms("shape");
  const Ints places = c.Ints("broadcast_dimensions");
  SymInts size(shape.size(), SymInt(1));
  if (places.size() != DimsOf(a).size()) {
    return c.Return(c.Fail("broadcast_dimensions do not fit"));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const int at = c.WrapDim(places[i], static_cast<int>(size.size()));
    if (size.empty()) break;
    size[at] = DimsOf(a)[i];
  }
  c.Return(Expand(c, Reshape(c, a, size), shape));
}

void Iota(AtenCall& c) {
  const SymInt step = c.Sym("step");
  const SymInt start = c.Sym("start");
  Value* i = c.Op(ops::arange, {},
                  {{"start", start}, {"end", start + step * c.Sym("length")}, {"step", step}});
  c.Return(Convert(c, i, c.Dtype("dtype", DType::kI64)));
}

void WherePrim(AtenCall& c) {
  const DType dtype = c.Promoted({"a", "b"});
  c.Return(Where(c, c.T("pred"), c.As("a", dtype), c.As("b", dtype)));
}

constexpr AtenOp kTable[] = {
    {"prims::add(Tensor self, Tensor other) -> Tensor", Binary<ops::add>},
    {"prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] "
     "broadcast_dimensions) -> Tensor(a)",
     BroadcastInDim},
    {"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", ConvertElementType},
    {"prims::div(Tensor self, Tensor other) -> Tensor", Binary<ops::div>},
    {"prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType "
     "dtype, Device device, bool requires_grad) -> Tensor",
     Iota},
    {"prims::mul(Tensor self, Tensor other) -> Tensor", Binary<ops::mul>},
    {"prims::sub(Tensor self, Tensor other) -> Tensor", Binary<ops::sub>},
    {"prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor", WherePrim},
};

}  // namespace

absl::Span<const AtenOp> PrimsTable() { return kTable; }

}  // namespace weft::pt2
