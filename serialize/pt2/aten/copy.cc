// Copies: to another dtype, to new memory, from one tensor into another.
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

void Same(AtenCall& c) { c.Return(c.T("self")); }

void To(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Convert(c, self, c.Dtype("dtype", DTypeOf(self))));
}

void ToOther(AtenCall& c) { c.Return(Convert(c, c.T("self"), DTypeOf(c.T("other")))); }

void TypeAs(AtenCall& c) { ToOther(c); }

template <DType dtype>
void Cast(AtenCall& c) {
  c.Return(Convert(c, c.T("self"), dtype));
}

// src with self's dtype and sizes.
void Copy(AtenCall& c) {
  Value* self = c.T("self");
  Value* src = c.As("src", DTypeOf(self));
  c.Return(Expand(c, src, DimsOf(self)));
}

void Fill(AtenCall& c) {
  Value* self = c.T("self");
  Value* value = c.As("value", DTypeOf(self));
  if (RankOf(value) != 0) return c.Return(c.Fail("value is no scalar"));
  c.Return(Full(c, DimsOf(self), value));
}

void Zero(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Zeros(c, DimsOf(self), DTypeOf(self)));
}

constexpr AtenOp kTable[] = {
    {"_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", Cast<DType::kF32>},
    {"_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
     "MemoryFormat? memory_format=None) -> Tensor",
     To},
    {"clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Same},
    {"contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", Same},
    {"copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", Copy},
    {"fill.Scalar(Tensor self, Scalar value) -> Tensor", Fill},
    {"fill.Tensor(Tensor self, Tensor value) -> Tensor", Fill},
    {"lift(Tensor self) -> Tensor", Same},
    {"lift_fresh(Tensor(a) self) -> Tensor(a)", Same},
    {"lift_fresh_copy(Tensor self) -> Tensor", Same},
    {"to.device(Tensor(a) self, Device device, ScalarType dtype, bool "
     "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
     "-> Tensor(a)",
     To},
    {"to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
     "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     To},
    {"to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, bool "
     "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
     "-> Tensor(a)",
     To},
    {"to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool "
     "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     ToOther},
    {"type_as(Tensor self, Tensor other) -> Tensor", TypeAs},
    {"zero(Tensor self) -> Tensor", Zero},
};

}  // namespace

absl::Span<const AtenOp> CopyTable() { return kTable; }

}  // namespace weft::pt2
