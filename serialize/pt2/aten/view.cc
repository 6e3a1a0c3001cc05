// Views: other sizes, strides and orders of the same elements. Where PyTorch gives a view the
// result is one too: it is made by ops whose schemas declare the alias.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

void Alias(AtenCall& c) { c.Return(c.T("self")); }

void ViewSize(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Reshape(c, self, ResolveSize(c, TypeOf(self).numel(), c.Syms("size"))));
}

void ReshapeShape(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Reshape(c, self, ResolveSize(c, TypeOf(self).numel(), c.Syms("shape"))));
}

void ReshapeAs(AtenCall& c) { c.Return(Reshape(c, c.T("self"), DimsOf(c.T("other")))); }

// The bits as another dtype; the size of the last dim changes accordingly.
void ViewDtype(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = c.Dtype("dtype", DTypeOf(self));
  if (IsComplex(DTypeOf(self)) && RealDType(DTypeOf(self)) == dtype) {
    Value* pairs = c.Op(ops::view_as_real, {self});
    const int last = RankOf(pairs) - 1;
    return c.Return(last > 0 ? Flatten(c, pairs, last - 1, last) : pairs);
  }
  if (DTypeBits(dtype) != DTypeBits(DTypeOf(self))) {
    return c.Return(c.Unsupported("a view as a dtype of another size is not supported"));
  }
  c.Return(c.Op(ops::bitcast, {self}, {{"dtype", dtype}}));
}

void FlattenDims(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  const int first = c.Dim("start_dim", rank);
  const int last = c.Dim("end_dim", rank);
  if (first > last) {
    return c.Return(c.Fail("start_dim comes after end_dim"));
  }
  c.Return(Flatten(c, self, first, last));
}

void Ravel(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Flatten(c, self, 0, RankOf(self) - 1));
}

void Unflatten(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  SymInts size = DimsOf(self);
  if (size.empty()) return c.Return(c.Fail("self has no dims"));
  const SymInts inner = ResolveSize(c, size[dim], c.Syms("sizes"));
  size.erase(size.begin() + dim);
  size.insert(size.begin() + dim, inner.begin(), inner.end());
  c.Return(Reshape(c, self, size));
}

// --- Order of dims ----------------------------------------------------------------

void PermuteDims(AtenCall& c) {
  Value* self = c.T("self");
  Ints perm;
  for (int64_t d : c.Ints("dims")) perm.push_back(c.WrapDim(d, RankOf(self)));
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != AllDims(RankOf(self))) {
    return c.Return(c.Fail("dims are not a permutation"));
  }
  c.Return(Permute(c, self, perm));
}

Value* Swap(AtenCall& c, Value* self, int a, int b) {
  const int rank = RankOf(self);
  if (rank == 0) return self;
  Ints perm = AllDims(rank);
  std::swap(perm[a], perm[b]);
  return Permute(c, self, perm);
}

void Transpose(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  c.Return(Swap(c, self, c.Dim("dim0", rank), c.Dim("dim1", rank)));
}

void SwapAxes(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  c.Return(Swap(c, self, c.Dim("axis0", rank), c.Dim("axis1", rank)));
}

// Transposes rank 2; lower ranks are unchanged.
void Transpose2d(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(RankOf(self) == 2 ? Swap(c, self, 0, 1) : self);
}

// Reverses the order of dims.
void Reverse(AtenCall& c) {
  Value* self = c.T("self");
  Ints perm = AllDims(RankOf(self));
  std::reverse(perm.begin(), perm.end());
  c.Return(Permute(c, self, perm));
}

void Adjoint(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  c.Return(rank < 2 ? self : Swap(c, self, rank - 2, rank - 1));
}

void MoveDims(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  const Ints from = c.Ints("source");
  const Ints to = c.Ints("destination");
  if (from.size() != to.size()) {
    return c.Return(c.Fail("source and destination differ in length"));
  }
  Ints perm(rank, -1);
  Ints moved;
  for (size_t i = 0; i < from.size(); ++i) {
    const int at = c.WrapDim(to[i], rank);
    if (rank == 0) break;
    if (perm[at] >= 0) return c.Return(c.Fail("a destination appears twice"));
    perm[at] = c.WrapDim(from[i], rank);
    moved.push_back(perm[at]);
  }
  const Ints rest = OtherDims(rank, moved);
  size_t next = 0;
  for (int64_t& p : perm) {
    if (p < 0 && next < rest.size()) p = rest[next++];
  }
  c.Return(Permute(c, self, perm));
}

// --- Dims of size 1 -------------------------------------------------------------

Value* SqueezeAll(AtenCall& c, Value* self, const Ints& dims) {
  SymInts size;
  const SymInts have = DimsOf(self);
  for (size_t i = 0; i < have.size(); ++i) {
    const bool listed = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (!listed || !have[i].Is(1)) size.push_back(have[i]);
  }
  return Reshape(c, self, size);
}

void SqueezeDims(AtenCall& c) {
  Value* self = c.T("self");
  Ints dims = AllDims(RankOf(self));
  if (c.schema().Find("dim") >= 0) {
    dims.clear();
    for (int64_t d : c.Ints("dim")) {
      dims.push_back(c.WrapDim(d, RankOf(self)));
    }
  }
  c.Return(SqueezeAll(c, self, dims));
}

void UnsqueezeDim(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Unsqueeze(c, self, c.Dim("dim", RankOf(self) + 1)));
}

template <int rank>
SymInts SizeAtLeast(Value* self) {
  SymInts size = DimsOf(self);
  if (size.empty()) size.push_back(1);
  if (rank >= 2 && size.size() < 2) size.insert(size.begin(), 1);
  if (rank >= 3 && size.size() < 3) size.push_back(1);
  return size;
}

template <int rank>
void AtLeast(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Reshape(c, self, SizeAtLeast<rank>(self)));
}

template <int rank>
void AllAtLeast(AtenCall& c) {
  std::vector<Value*> values = c.Ts("tensors");
  for (Value*& v : values) v = Reshape(c, v, SizeAtLeast<rank>(v));
  c.ReturnList(values);
}

// --- Broadcasting ---------------------------------------------------------------

Value* ExpandTo(AtenCall& c, Value* self, SymInts size) {
  const SymInts have = DimsOf(self);
  const size_t grown = size.size() - std::min(size.size(), have.size());
  for (size_t i = grown; i < size.size(); ++i) {
    if (size[i].Is(-1)) size[i] = have[i - grown];
  }
  return Expand(c, self, size);
}

void ExpandSize(AtenCall& c) { c.Return(ExpandTo(c, c.T("self"), c.Syms("size"))); }

void ExpandAs(AtenCall& c) { c.Return(ExpandTo(c, c.T("self"), DimsOf(c.T("other")))); }

void BroadcastTo(AtenCall& c) { ExpandSize(c); }

void BroadcastTensors(AtenCall& c) {
  std::vector<Value*> values = c.Ts("tensors");
  SymInts size;
  for (Value* v : values) size = BroadcastDims(size, DimsOf(v));
  for (Value*& v : values) v = Expand(c, v, size);
  c.ReturnList(values);
}

// --- Parts ------------------------------------------------------------------------

void SelectInt(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  c.Return(Select(c, self, c.Dim("dim", RankOf(self)), c.Sym("index")));
}

void SliceTensor(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  constexpr int64_t kEnd = SymRange::kMax;
  c.Return(Slice(c, self, c.Dim("dim", RankOf(self)), c.Sym("start", 0), c.Sym("end", kEnd),
                 c.Sym("step")));
}

void Narrow(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  if (rank == 0) return c.Return(c.Fail("self has no dims"));
  const int dim = c.Dim("dim", rank);
  SymInt start = c.Sym("start");
  const SymInt n = DimOf(self, dim);
  if (start.is_constant() && start.value() < 0) start = n + start;
  c.Return(Slice(c, self, dim, start, start + c.Sym("length")));
}

std::vector<Value*> SplitInto(AtenCall& c, Value* self, int dim, const SymInts& sizes) {
  if (self == nullptr) return {};
  return c.Ops(ops::split_with_sizes, {self}, {{"split_sizes", sizes}, {"dim", dim}});
}

constexpr int64_t kMaxParts = 1 << 16;

// The number of parts of `size` in `n`. If that is symbolic, the file gives the number, and sizes
// with another number are refused.
int64_t NumParts(AtenCall& c, SymInt n, SymInt size) {
  const SymInt count = size.Is(0) ? SymInt(1) : CeilDiv(n, size);
  if (count.is_constant()) return std::max<int64_t>(count.value(), 1);
  const int64_t parts = c.list_size();
  if (parts < 1) c.Unsupported("the number of parts is not known");
  SymInt fits = LessEqual(n, size * parts);
  if (parts > 1) fits = And(fits, Less(size * (parts - 1), n));
  if (c.b().module().symbols().Assume(fits, "the number of parts") == Proof::kNo) {
    c.Fail(
        absl::StrCat(n.ToString(), " elements are never ", parts, " parts of ", size.ToString()));
  }
  return parts;
}

// Sizes of the parts; the last one may be smaller.
SymInts EqualParts(AtenCall& c, SymInt n, SymInt size) {
  const int64_t parts = NumParts(c, n, size);
  if (parts > kMaxParts) c.Unsupported("there are too many parts");
  SymInts sizes(parts, size);
  sizes.back() = n - size * (parts - 1);
  return sizes;
}

void SplitTensor(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  if (RankOf(self) == 0) return c.ReturnList({});
  c.ReturnList(SplitInto(c, self, dim, EqualParts(c, DimOf(self, dim), c.Sym("split_size"))));
}

void SplitSizes(AtenCall& c) {
  Value* self = c.T("self");
  const char* name = c.schema().Find("split_sizes") >= 0 ? "split_sizes" : "split_size";
  c.ReturnList(SplitInto(c, self, c.Dim("dim", RankOf(self)), c.Syms(name)));
}

void Chunk(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  const int64_t chunks = c.Int("chunks");
  if (RankOf(self) == 0 || chunks < 1) {
    c.Fail("chunks must be positive, and self must have dims");
    return c.ReturnList({});
  }
  const SymInt n = DimOf(self, dim);
  if (n.Is(0)) return c.ReturnList(SplitInto(c, self, dim, SymInts(chunks, SymInt(0))));
  // The requested number of parts, if the size is divisible.
  if (!n.is_constant() && c.b().module().symbols().IsMultipleOf(n, chunks)) {
    return c.ReturnList(SplitInto(c, self, dim, SymInts(chunks, FloorDiv(n, chunks))));
  }
  c.ReturnList(SplitInto(c, self, dim, EqualParts(c, n, CeilDiv(n, chunks))));
}

void TensorSplit(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  if (RankOf(self) == 0) return c.ReturnList({});
  const SymInt n = DimOf(self, dim);
  SymInts sizes;
  if (c.schema().Find("sections") >= 0) {
    const int64_t sections = c.Int("sections");
    if (sections < 1 || sections > kMaxParts) {
      c.Unsupported("there are no parts, or too many");
    }
    // The first n % sections parts have one more element.
    for (int64_t i = 0; i < sections; ++i) {
      sizes.push_back(FloorDiv(n + (sections - 1 - i), sections));
    }
  } else {
    SymInt at = 0;
    for (SymInt end : c.Syms("indices")) {
      if (end.is_constant() && end.value() < 0) end = n + end;
      end = Min(end, n);
      sizes.push_back(Max(end - at, 0));
      at = end;
    }
    sizes.push_back(Max(n - at, 0));
  }
  c.ReturnList(SplitInto(c, self, dim, sizes));
}

void Unbind(AtenCall& c) {
  constexpr int64_t kMaxParts = 1 << 16;
  Value* self = c.T("self");
  if (RankOf(self) == 0) {
    c.Fail("self has no dims");
    return c.ReturnList({});
  }
  const int dim = c.Dim("dim", RankOf(self));
  const SymInt n = DimOf(self, dim);
  if (!n.is_constant() || n.value() > kMaxParts) {
    c.Unsupported("the number of parts is not known, or is too large");
    return c.ReturnList({});
  }
  std::vector<Value*> parts;
  for (int64_t i = 0; i < n.value(); ++i) {
    parts.push_back(Select(c, self, dim, i));
  }
  c.ReturnList(parts);
}

void Diagonal(AtenCall& c) {
  Value* self = c.args()[0].value;  // Its name differs between overloads.
  const int rank = RankOf(self);
  c.Return(c.Op(
      ops::diagonal, {self},
      {{"offset", c.Int("offset")}, {"dim1", c.Dim("dim1", rank)}, {"dim2", c.Dim("dim2", rank)}}));
}

// --- Strides ----------------------------------------------------------------------

// True if dims in this order fill the storage row by row.
bool IsRowMajor(const AtenCall::Layout& layout, const SymInts& size, const Ints& order) {
  SymInt expected = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!size[*it].Is(1) && layout.strides[*it] != expected) return false;
    expected = expected * size[*it];
  }
  return true;
}

// The order of dims in memory if the tensor fills its storage without gaps, else nullopt. Symbolic
// sizes must be row-major or channels-last.
std::optional<Ints> DenseOrder(const AtenCall::Layout& layout, const SymInts& size) {
  if (!layout.offset.Is(0)) return std::nullopt;
  const int rank = static_cast<int>(size.size());
  const Ints plain = AllDims(rank);
  std::vector<Ints> orders = {plain};
  if (rank > 2) orders.push_back(MoveDim(rank, 1, rank - 1));
  if (AllConstant(layout.strides)) {
    Ints order = plain;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return layout.strides[a].value() > layout.strides[b].value();
    });
    orders.push_back(order);
  }
  for (const Ints& order : orders) {
    if (IsRowMajor(layout, size, order)) return order;
  }
  return std::nullopt;
}

// A view of elements of the storage, which must be known: that of a tensor without gaps.
void AsStrided(AtenCall& c) {
  Value* self = c.T("self");
  const auto layout = c.LayoutOf("self");
  Ints order = AllDims(RankOf(self));
  if (layout) {
    const auto dense = DenseOrder(*layout, DimsOf(self));
    if (!dense) {
      return c.Return(c.Unsupported("the storage of self has elements that self does not show"));
    }
    order = *dense;
  }
  c.Return(c.Op(ops::as_strided, {Permute(c, self, order)},
                {{"size", c.Syms("size")},
                 {"stride", c.Syms("stride")},
                 {"storage_offset", c.Sym("storage_offset", 0)}}));
}

void Unfold(AtenCall& c) {
  Value* self = c.T("self");
  // A scalar has one window, with its element or empty.
  if (RankOf(self) == 0) {
    self = Reshape(c, self, {SymInt(1)});
    return c.Return(Slice(c, self, 0, 0, c.Sym("size")));
  }
  c.Return(c.Op(ops::unfold, {self},
                {{"dimension", c.Dim("dimension", RankOf(self))},
                 {"size", c.Sym("size")},
                 {"step", c.Sym("step")}}));
}

constexpr AtenOp kTable[] = {
    {"_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> "
     "Tensor(a)",
     ViewSize},
    {"_unsafe_view(Tensor self, SymInt[] size) -> Tensor", ViewSize},
    {"adjoint(Tensor(a) self) -> Tensor(a)", Adjoint},
    {"alias(Tensor(a) self) -> Tensor(a)", Alias},
    {"alias_copy(Tensor self) -> Tensor", Alias},
    {"as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor(a)",
     AsStrided},
    {"as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     AsStrided},
    {"atleast_1d(Tensor self) -> Tensor", AtLeast<1>},
    {"atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", AllAtLeast<1>},
    {"atleast_2d(Tensor self) -> Tensor", AtLeast<2>},
    {"atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", AllAtLeast<2>},
    {"atleast_3d(Tensor self) -> Tensor", AtLeast<3>},
    {"atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", AllAtLeast<3>},
    {"broadcast_tensors(Tensor[] tensors) -> Tensor[]", BroadcastTensors},
    {"broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", BroadcastTo},
    {"chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", Chunk},
    {"detach(Tensor(a) self) -> Tensor(a)", Alias},
    {"detach_copy(Tensor self) -> Tensor", Alias},
    {"diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor(a)",
     Diagonal},
    {"diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor",
     Diagonal},
    {"expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> "
     "Tensor(a)",
     ExpandSize},
    {"expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", ExpandAs},
    {"expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> "
     "Tensor",
     ExpandSize},
    {"flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> "
     "Tensor(a)",
     FlattenDims},
    {"linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
     Diagonal},
    {"mT(Tensor(a) self) -> Tensor(a)", Adjoint},
    {"matrix_H(Tensor(a) self) -> Tensor(a)", Adjoint},
    {"moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", MoveDims},
    {"moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> "
     "Tensor(a)",
     MoveDims},
    {"movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", MoveDims},
    {"movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> "
     "Tensor(a)",
     MoveDims},
    {"narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> "
     "Tensor(a)",
     Narrow},
    {"narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", Narrow},
    {"numpy_T(Tensor(a) self) -> Tensor(a)", Reverse},
    {"permute(Tensor(a) self, int[] dims) -> Tensor(a)", PermuteDims},
    {"permute_copy(Tensor self, int[] dims) -> Tensor", PermuteDims},
    {"ravel(Tensor(a) self) -> Tensor(a)", Ravel},
    {"reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", ReshapeShape},
    {"reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", ReshapeAs},
    {"select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", SelectInt},
    {"select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", SelectInt},
    {"slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor(a)",
     SliceTensor},
    {"slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor",
     SliceTensor},
    {"split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> "
     "Tensor(a)[]",
     SplitTensor},
    {"split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> "
     "Tensor(a)[]",
     SplitSizes},
    {"split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", SplitTensor},
    {"split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) "
     "-> Tensor(a)[]",
     SplitSizes},
    {"split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> "
     "Tensor[]",
     SplitSizes},
    {"squeeze(Tensor(a) self) -> Tensor(a)", SqueezeDims},
    {"squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", SqueezeDims},
    {"squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", SqueezeDims},
    {"squeeze_copy(Tensor self) -> Tensor", SqueezeDims},
    {"squeeze_copy.dim(Tensor self, int dim) -> Tensor", SqueezeDims},
    {"squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", SqueezeDims},
    {"swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", SwapAxes},
    {"swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", Transpose},
    {"t(Tensor(a) self) -> Tensor(a)", Transpose2d},
    {"t_copy(Tensor self) -> Tensor", Transpose2d},
    {"tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) "
     "-> Tensor(a)[]",
     TensorSplit},
    {"tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) "
     "-> Tensor(a)[]",
     TensorSplit},
    {"transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", Transpose},
    {"transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", Transpose},
    {"unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", Unbind},
    {"unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", Unbind},
    {"unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", Unflatten},
    {"unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", Unfold},
    {"unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", Unfold},
    {"unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", Chunk},
    {"unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> "
     "Tensor[]",
     SplitTensor},
    {"unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> "
     "Tensor[]",
     SplitSizes},
    {"unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", UnsqueezeDim},
    {"unsqueeze_copy(Tensor self, int dim) -> Tensor", UnsqueezeDim},
    {"view(Tensor(a) self, SymInt[] size) -> Tensor(a)", ViewSize},
    {"view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", ViewDtype},
    {"view_as(Tensor(a) self, Tensor other) -> Tensor(a)", ReshapeAs},
    {"view_copy(Tensor self, SymInt[] size) -> Tensor", ViewSize},
};

}  // namespace

absl::Span<const AtenOp> ViewTable() { return kTable; }

}  // namespace weft::pt2
