// Operators that PyTorch composes of a few others.
#include <algorithm>
#include <limits>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// --- Stacks and splits ------------------------------------------------------------

// Gives each tensor at least `rank` dims: [n] becomes [n, 1], or, for three dims, [1, n, 1].
void StackColumns(AtenCall& c, int rank) {
  std::vector<Value*> values = c.Ts("tensors");
  DType dtype = values.empty() ? DType::kF32 : DTypeOf(values[0]);
  for (Value* v : values) dtype = PromoteTypes(dtype, DTypeOf(v));
  for (Value*& v : values) {
    v = Convert(c, v, dtype);
    if (RankOf(v) == 0) v = Reshape(c, v, {SymInt(1)});
    if (RankOf(v) == 1) v = Unsqueeze(c, v, rank == 3 ? 0 : 1);
    if (RankOf(v) == 2 && rank == 3) v = Unsqueeze(c, v, 2);
  }
  c.Return(Cat(c, values, rank - 1));
}

void ColumnStack(AtenCall& c) { StackColumns(c, 2); }
void DepthStack(AtenCall& c) { StackColumns(c, 3); }

// hsplit splits dim 1 (for vectors 0), vsplit 0, dsplit 2.
template <int wanted>
void SplitAlong(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  const int dim = wanted == 1 && rank == 1 ? 0 : wanted;
  if (dim >= rank) return c.Return(c.Fail("self has too few dims"));
  const SymInt n = DimOf(x, dim);
  SymInts ends;
  if (c.schema().Find("sections") >= 0) {
    const int64_t sections = c.Int("sections");
    constexpr int64_t kMaxSections = 1 << 20;
    if (sections < 1 || sections > kMaxSections) return c.Return(c.Fail("bad sections"));
    for (int64_t i = 1; i <= sections; ++i) ends.push_back(FloorDiv(n, sections) * i);
  } else {
    for (int64_t i : c.Ints("indices")) ends.push_back(i);
    ends.push_back(n);
  }
  std::vector<Value*> parts;
  SymInt start = 0;
  for (SymInt end : ends) {
    parts.push_back(Slice(c, x, dim, start, end));
    start = end;
  }
  c.ReturnList(parts);
}

void DiagFlat(AtenCall& c) {
  Value* x = c.T("self");
  x = Flatten(c, x, 0, std::max(RankOf(x), 1) - 1);
  const int64_t offset = c.Int("offset");
  const SymInt n = DimOf(x, 0);
  const SymInt size = n + std::abs(offset);
  Value* row = Unsqueeze(c, Iota(c, size), 1);
  Value* on =
      c.Op(ops::eq, {Unsqueeze(c, Iota(c, size), 0), Add(c, row, static_cast<double>(offset))});
  const Ints pad = offset > 0 ? Ints{0, offset} : Ints{-offset, 0};
  if (IsComplex(DTypeOf(x))) return c.Return(c.Unsupported("self is complex"));
  x = c.Op(ops::pad, {x, NumberLike(c, x, 0)}, {{"pad", pad}});
  c.Return(Where(c, on, Unsqueeze(c, x, 1), NumberLike(c, x, 0)));
}

// Pairs, triples, ...: constant positions in lexicographic order.
void Combinations(AtenCall& c) {
  constexpr size_t kMaxElements = 1 << 24;
  Value* x = c.T("self");
  const SymInt n = DimOf(x, 0);
  const int64_t r = c.Int("r");
  const bool repeats = c.Bool("with_replacement");
  if (RankOf(x) != 1 || !n.is_constant() || r < 1 || r > 16) {
    return c.Return(c.Unsupported("the size is not constant, or r is not 1 to 16"));
  }
  Ints at;
  Ints now(r);
  for (int64_t i = 0; i < r; ++i) now[i] = repeats ? 0 : i;
  const auto last = [&](int64_t i) { return repeats ? n.value() - 1 : n.value() - r + i; };
  while (n.value() > 0 && now[r - 1] <= last(r - 1)) {
    at.insert(at.end(), now.begin(), now.end());
    if (at.size() > kMaxElements) return c.Return(c.Unsupported("too many combinations"));
    int64_t i = r - 1;
    while (i > 0 && now[i] == last(i)) --i;
    ++now[i];
    for (int64_t j = i + 1; j < r; ++j) now[j] = now[j - 1] + (repeats ? 0 : 1);
  }
  const int64_t count = static_cast<int64_t>(at.size()) / r;
  Value* index = c.b().Constant(HostTensor::FromInts(DType::kI64, {count, r}, at));
  c.Return(c.Op(ops::index_select, {x, index}, {{"dim", 0}}));
}

// --- Arithmetic -------------------------------------------------------------------

void SumToSize(AtenCall& c) {
  Value* x = c.T("self");
  const SymInts size = c.Syms("size");
  const int rank = RankOf(x);
  const int extra = rank - static_cast<int>(size.size());
  if (extra < 0) return c.Return(c.Fail("self has too few dims"));
  Ints gone, kept;
  for (int i = 0; i < rank; ++i) {
    if (i < extra) {
      gone.push_back(i);
    } else if (size[i - extra].Is(1) && !DimOf(x, i).Is(1)) {
      kept.push_back(i);
    }
  }
  if (gone.empty() && kept.empty()) return c.Return(x);
  if (DTypeOf(x) == DType::kBool) x = Convert(c, x, DType::kI64);
  if (!kept.empty()) x = Reduce(c, ops::sum, x, kept, true);
  if (!gone.empty()) x = Reduce(c, ops::sum, x, gone, false);
  c.Return(x);
}

// self * 2^other
void Ldexp(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* x = c.As("self", dtype);
  const DType real = RealDType(dtype);
  Value* exponent = c.As("other", dtype);
  if (IsComplex(dtype)) return c.Return(c.Unsupported("self is complex"));
  c.Return(Mul(c, x, c.Op(ops::pow, {Number(c, real, 2), exponent})));
}

// The norm of the difference of two tensors.
void Dist(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* d = Sub(c, c.As("self", dtype), c.As("other", dtype));
  Value* a = IsComplex(dtype) ? ComplexModulus(c, d) : c.Op(ops::abs, {d});
  const DType real = DTypeOf(a);
  a = Convert(c, a, Wide(real));
  const Ints dims = AllDims(RankOf(a));
  const double p = c.Float("p");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* y = nullptr;
  if (p == kInfinity || p == -kInfinity) {
    y = Reduce(c, p > 0 ? ops::amax : ops::amin, a, dims, false);
  } else if (p == 0) {
    y = Reduce(c, ops::sum, Convert(c, Convert(c, a, DType::kBool), DTypeOf(a)), dims, false);
  } else if (p == 2) {
    y = c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, a, a), dims, false)});
  } else {
    y = Reduce(c, ops::sum, c.Op(ops::pow, {a, NumberLike(c, a, p)}), dims, false);
    y = c.Op(ops::pow, {y, NumberLike(c, y, 1 / p)});
  }
  c.Return(Convert(c, y, real));
}

void IsReal(AtenCall& c) {
  Value* x = c.T("self");
  if (!IsComplex(DTypeOf(x))) {
    Value* yes = c.b().Constant(HostTensor::ScalarInt(DType::kBool, 1));
    return c.Return(Full(c, DimsOf(x), yes));
  }
  Value* imag = PartsOf(c, x).imag;
  c.Return(c.Op(ops::eq, {imag, NumberLike(c, imag, 0)}));
}

// The product of three tensors, with dims of size 1 inserted, summed over `sumdim`.
void Trilinear(AtenCall& c) {
  const auto expanded = [&](absl::string_view name, absl::string_view at) {
    Value* v = c.T(name);
    Ints dims = c.Ints(at);
    std::sort(dims.begin(), dims.end());
    for (int64_t d : dims) v = Unsqueeze(c, v, static_cast<int>(d));
    return v;
  };
  Value* product = Mul(c, Mul(c, expanded("i1", "expand1"), expanded("i2", "expand2")),
                       expanded("i3", "expand3"));
  Ints dims;
  for (int64_t d : c.Ints("sumdim")) dims.push_back(c.WrapDim(d, RankOf(product)));
  c.Return(Reduce(c, ops::sum, product, dims, false));
}

// Columns x^0 to x^(N - 1), in descending order unless `increasing`.
void Vander(AtenCall& c) {
  Value* x = c.T("x");
  if (RankOf(x) != 1) return c.Return(c.Fail("x is no vector"));
  if (DTypeOf(x) == DType::kBool) x = Convert(c, x, DType::kI64);
  const SymInt n = c.Sym("N", DimOf(x, 0));
  Value* power = Iota(c, n);
  if (!c.Bool("increasing")) power = c.Op(ops::flip, {power}, {{"dims", Ints{0}}});
  if (IsComplex(DTypeOf(x))) return c.Return(c.Unsupported("x is complex"));
  c.Return(c.Op(ops::pow, {Unsqueeze(c, x, 1), Convert(c, power, DTypeOf(x))}));
}

constexpr AtenOp kTable[] = {
    {"_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, "
     "int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     Trilinear},
    {"column_stack(Tensor[] tensors) -> Tensor", ColumnStack},
    {"combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", Combinations},
    {"diagflat(Tensor self, int offset=0) -> Tensor", DiagFlat},
    {"dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", Dist},
    {"dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", SplitAlong<2>},
    {"dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", SplitAlong<2>},
    {"dstack(Tensor[] tensors) -> Tensor", DepthStack},
    {"hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", SplitAlong<1>},
    {"hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", SplitAlong<1>},
    {"isreal(Tensor self) -> Tensor", IsReal},
    {"ldexp.Tensor(Tensor self, Tensor other) -> Tensor", Ldexp},
    {"sum_to_size(Tensor self, SymInt[] size) -> Tensor", SumToSize},
    {"vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", Vander},
    {"vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", SplitAlong<0>},
    {"vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", SplitAlong<0>},
};

}  // namespace

absl::Span<const AtenOp> ComposeTable() { return kTable; }

}  // namespace weft::pt2
