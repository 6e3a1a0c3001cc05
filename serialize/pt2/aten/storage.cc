// Tensors that are resized over the same memory.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool IsContiguous(const Value* v, const AtenCall::Layout& layout) {
  SymInt stride = 1;
  for (int i = RankOf(v) - 1; i >= 0; --i) {
    const SymInt size = DimOf(v, i);
    if (!size.Is(1) && !(layout.strides[i] == stride)) return false;
    stride = stride * size;
  }
  return true;
}

// The elements of the storage from the tensor's first on, as a vector: for a contiguous tensor its
// own. Storage past its own elements has no source.
Value* Resized(AtenCall& c, const SymInts& size) {
  Value* self = c.T("self");
  if (self->is_input()) return c.Unsupported("an input of the program is resized");
  const auto layout = c.LayoutOf("self");
  if (layout && !IsContiguous(self, *layout)) {
    return c.Unsupported("a tensor that is not contiguous is resized");
  }
  SymInt want = 1;
  for (SymInt d : size) want = want * d;
  const SymInt have = self->type().numel();
  if (c.b().module().symbols().ProveLe(want, have) != Proof::kYes) {
    return c.Unsupported(absl::StrCat("resized from ", have.ToString(), " to ", want.ToString(),
                                      " elements: those past the end have no values"));
  }
  Value* flat = Reshape(c, self, {have});
  if (!(want == have)) flat = Slice(c, flat, 0, 0, want);
  return Reshape(c, flat, size);
}

void Resize(AtenCall& c) { c.Return(Resized(c, c.Syms("size"))); }

void ResizeAs(AtenCall& c) { c.Return(Resized(c, DimsOf(c.T("the_template")))); }

// No element is written: the results are views of self, and the name of self refers to the view
// from then on.
constexpr AtenOp kTable[] = {
    {"resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
     Resize},
    {"resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> "
     "Tensor(a!)",
     ResizeAs},
};

}  // namespace

absl::Span<const AtenOp> StorageTable() { return kTable; }

}  // namespace weft::pt2
