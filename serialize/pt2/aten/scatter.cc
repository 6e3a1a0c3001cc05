// Writes of elements by their positions, made functional.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/index.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_range.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

Value* WithDim(AtenCall& c, Value* v) { return RankOf(v) == 0 ? Reshape(c, v, {SymInt(1)}) : v; }

// src may be larger than index; its leading part is used.
Value* ScatterInto(AtenCall& c, Value* self, int dim, Value* index, Value* src,
                   const char* reduce) {
  Value* x = WithDim(c, self);
  index = WithDim(c, index);
  src = WithDim(c, src);
  const SymInts have = DimsOf(src);
  const SymInts want = DimsOf(index);
  for (size_t d = 0; d < want.size() && d < have.size(); ++d) {
    if (have[d] != want[d]) {
      src = Slice(c, src, static_cast<int64_t>(d), 0, want[d]);
    }
  }
  Value* y = ops::BuildScatter(c, x, index, src, dim, reduce);
  return Reshape(c, y, DimsOf(self));
}

Value* SourceFor(AtenCall& c, absl::string_view name, Value* self, Value* index) {
  Value* src = c.As(name, DTypeOf(self));
  if (c.arg(name).is(Arg::Kind::kTensor)) return src;
  return Expand(c, src, DimsOf(index));
}

void Scatter(AtenCall& c) {
  Value* self = c.T("self");
  Value* index = c.T("index");
  const char* name = c.schema().Find("src") >= 0 ? "src" : "value";
  Value* src = SourceFor(c, name, self, index);
  const char* reduce = "none";
  if (c.schema().Find("reduce") >= 0) {
    reduce = c.Str("reduce") == "add" ? "add" : "mul";
  }
  c.Return(ScatterInto(c, self, c.Dim("dim", RankOf(self)), index, src, reduce));
}

void ScatterAdd(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(ScatterInto(c, self, c.Dim("dim", RankOf(self)), c.T("index"), c.T("src"), "add"));
}

double Neutral(const std::string& reduce, DType dtype) {
  if (reduce == "prod") return 1;
  if (reduce == "amax") {
    return IsFloat(dtype) ? -std::numeric_limits<double>::infinity()
                          : static_cast<double>(IntMin(dtype));
  }
  if (reduce == "amin") {
    return IsFloat(dtype) ? std::numeric_limits<double>::infinity()
                          : static_cast<double>(IntMax(dtype));
  }
  return 0;
}

// The number of elements scattered to each position, not counting self's.
Value* CountsFor(AtenCall& c, Value* self, int dim, Value* index) {
  const DType dtype = DTypeOf(self);
  Value* zeros = Zeros(c, DimsOf(self), dtype);
  Value* ones = Full(c, DimsOf(index), Number(c, dtype, 1));
  return ScatterInto(c, zeros, dim, index, ones, "add");
}

// sum, prod, mean, amax or amin of the elements scattered to a position, with or without self's
// element; other positions are unchanged.
Value* ScatterReduceInto(AtenCall& c, Value* self, int dim, Value* index, Value* src,
                         const std::string& reduce, bool include_self) {
  const DType dtype = DTypeOf(self);
  const char* mode = reduce == "prod"   ? "mul"
                     : reduce == "amax" ? "max"
                     : reduce == "amin" ? "min"
                                        : "add";
  if (reduce != "sum" && reduce != "mean" && mode[0] == 'a') {
    return c.Fail(absl::StrCat("unknown reduce \"", reduce, "\""));
  }
  Value* base = self;
  if (!include_self) {
    Value* ones = Full(c, DimsOf(index), Number(c, dtype, Neutral(reduce, dtype)));
    base = ScatterInto(c, self, dim, index, ones, "none");
  }
  Value* y = ScatterInto(c, base, dim, index, src, mode);
  if (reduce != "mean") return y;
  Value* counts = CountsFor(c, self, dim, index);
  if (include_self) counts = Add(c, counts, 1);
  counts = c.Op(ops::maximum, {counts, NumberLike(c, counts, 1)});
  if (IsFloat(dtype)) return Div(c, y, counts);
  return ops::BuildDiv(c, y, counts, "floor");
}

void ScatterReduce(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(ScatterReduceInto(c, self, c.Dim("dim", RankOf(self)), c.T("index"), c.T("src"),
                             c.Str("reduce"), c.Bool("include_self")));
}

// --- Whole slices, by an index vector ---------------------------------------------

// `index` along `dim`, expanded to the sizes of `source`.
Value* SpreadIndex(AtenCall& c, Value* index, Value* source, int dim) {
  const int rank = RankOf(source);
  Value* at = AlongDim(c, WithDim(c, index), dim, rank);
  return Expand(c, at, DimsOf(source));
}

void IndexCopy(AtenCall& c) {
  Value* self = c.T("self");
  Value* source = WithDim(c, c.T("source"));
  const int dim = c.Dim("dim", RankOf(self));
  Value* index = SpreadIndex(c, c.T("index"), source, dim);
  c.Return(ScatterInto(c, self, dim, index, source, "none"));
}

void IndexAdd(AtenCall& c) {
  Value* self = c.T("self");
  Value* source = WithDim(c, c.As("source", DTypeOf(self)));
  const int dim = c.Dim("dim", RankOf(self));
  const Arg& alpha = c.arg("alpha");
  if (!(alpha.is(Arg::Kind::kInt) && alpha.integer.Is(1))) {
    source = Mul(c, source, c.As("alpha", DTypeOf(self)));
  }
  Value* index = SpreadIndex(c, c.T("index"), source, dim);
  c.Return(ScatterInto(c, self, dim, index, source, "add"));
}

void IndexFill(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  Value* index = WithDim(c, c.T("index"));
  SymInts size = DimsOf(WithDim(c, self));
  size[dim] = TypeOf(index).numel();
  Value* source = Full(c, size, c.As("value", DTypeOf(self)));
  c.Return(ScatterInto(c, self, dim, SpreadIndex(c, index, source, dim), source, "none"));
}

void IndexReduce(AtenCall& c) {
  Value* self = c.T("self");
  Value* source = WithDim(c, c.T("source"));
  const int dim = c.Dim("dim", RankOf(self));
  Value* index = SpreadIndex(c, c.T("index"), source, dim);
  c.Return(ScatterReduceInto(c, self, dim, index, source, c.Str("reduce"), c.Bool("include_self")));
}

// --- Writes to views ----------------------------------------------------------------

// src in self's dtype, broadcast to the replaced elements.
Value* SourceLike(AtenCall& c, Value* self, Value* part) {
  return Expand(c, c.As("src", DTypeOf(self)), DimsOf(part));
}

void SliceScatter(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  const int dim = c.Dim("dim", RankOf(self));
  const SymInt start = c.Sym("start", 0);
  const SymInt end = c.Sym("end", SymRange::kMax);
  const SymInt step = c.Sym("step");
  Value* part = Slice(c, self, dim, start, end, step);
  c.Return(ops::BuildSliceScatter(c, self, SourceLike(c, self, part), dim, start, end, step));
}

void SelectScatter(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  const int dim = c.Dim("dim", RankOf(self));
  const SymInt index = c.Sym("index");
  Value* part = Select(c, self, dim, index);
  c.Return(ops::BuildSelectScatter(c, self, SourceLike(c, self, part), dim, index));
}

void DiagonalScatter(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  c.Return(c.Op(
      ops::diagonal_scatter, {self, c.As("src", DTypeOf(self))},
      {{"offset", c.Int("offset")}, {"dim1", c.Dim("dim1", rank)}, {"dim2", c.Dim("dim2", rank)}}));
}

void AsStridedScatter(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(c.Op(ops::as_strided_scatter, {self, c.As("src", DTypeOf(self))},
                {{"size", c.Syms("size")},
                 {"stride", c.Syms("stride")},
                 {"storage_offset", c.Sym("storage_offset", 0)}}));
}

// The elements of source, in order, at positions where the mask is true.
void MaskedScatter(AtenCall& c) {
  Value* self = c.T("self");
  const SymInts size = BroadcastDims(DimsOf(self), DimsOf(c.T("mask")));
  Value* x = Expand(c, self, size);
  Value* mask = Expand(c, c.T("mask"), size);
  Value* source = c.T("source");
  const int last = static_cast<int>(size.size()) - 1;
  Value* flat = Flatten(c, mask, 0, last);
  Value* order = ops::BuildCumsum(c, Convert(c, flat, DType::kI64), 0, /*exclusive=*/true);
  Value* values = Flatten(c, source, 0, RankOf(source) - 1);
  // Limits positions, which are unused past the last true element of the mask.
  Value* most = SymScalar(c, TypeOf(values).numel() - 1, DType::kI64);
  order = c.Op(ops::minimum, {order, most});
  Value* picked = ops::BuildIndexSelect(c, values, order, 0);
  c.Return(Where(c, mask, Reshape(c, picked, size), x));
}

void Put(AtenCall& c) {
  Value* self = c.T("self");
  Value* index = c.T("index");
  Value* source = c.As("source", DTypeOf(self));
  Value* flat = Flatten(c, self, 0, RankOf(self) - 1);
  index = Flatten(c, index, 0, RankOf(index) - 1);
  source = Flatten(c, source, 0, RankOf(source) - 1);
  Value* y = ops::BuildScatter(c, flat, index, source, 0, c.Bool("accumulate") ? "add" : "none");
  c.Return(Reshape(c, y, DimsOf(self)));
}

constexpr AtenOp kTable[] = {
    {"as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] "
     "stride, SymInt? storage_offset=None) -> Tensor",
     AsStridedScatter},
    {"diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int "
     "dim2=1) -> Tensor",
     DiagonalScatter},
    {"index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar "
     "alpha=1) -> Tensor",
     IndexAdd},
    {"index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", IndexCopy},
    {"index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) "
     "-> Tensor",
     IndexFill},
    {"index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) "
     "-> Tensor",
     IndexFill},
    {"index_reduce(Tensor self, int dim, Tensor index, Tensor source, str "
     "reduce, *, bool include_self=True) -> Tensor",
     IndexReduce},
    {"masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", MaskedScatter},
    {"put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> "
     "Tensor",
     Put},
    {"scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str "
     "reduce) -> Tensor",
     Scatter},
    {"scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", Scatter},
    {"scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> "
     "Tensor",
     Scatter},
    {"scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, "
     "*, str reduce) -> Tensor",
     Scatter},
    {"scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", ScatterAdd},
    {"scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str "
     "reduce, *, bool include_self=True) -> Tensor",
     ScatterReduce},
    {"select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", SelectScatter},
    {"slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "
     "SymInt? end=None, SymInt step=1) -> Tensor",
     SliceScatter},
};

}  // namespace

absl::Span<const AtenOp> ScatterTable() { return kTable; }

}  // namespace weft::pt2
