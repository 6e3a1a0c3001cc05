// Sizes as numbers, and what is asserted of them.
#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

void SymSize(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  c.Return(DimOf(self, c.Dim("dim", RankOf(self))));
}

void SymNumel(AtenCall& c) { c.Return(TypeOf(c.T("self")).numel()); }

void SymStride(AtenCall& c) {
  Value* self = c.T("self");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  const int dim = c.Dim("dim", RankOf(self));
  const auto layout = c.LayoutOf("self");
  if (layout) return c.Return(layout->strides[dim]);
  SymInt stride = 1;
  for (int i = dim + 1; i < RankOf(self); ++i) {
    stride = stride * DimOf(self, i);
  }
  c.Return(stride);
}

void SymStorageOffset(AtenCall& c) {
  const auto layout = c.LayoutOf("self");
  c.Return(layout ? layout->offset : SymInt(0));
}

// By the strides in the file; what it does not say is row-major.
void SymIsContiguous(AtenCall& c) {
  Value* self = c.T("self");
  const auto layout = c.LayoutOf("self");
  bool contiguous = true;
  SymInt stride = 1;
  for (int i = RankOf(self) - 1; i >= 0 && layout; --i) {
    const SymInt size = DimOf(self, i);
    contiguous &= size.Is(1) || layout->strides[i] == stride;
    stride = stride * size;
  }
  Arg result;
  result.kind = Arg::Kind::kBool;
  result.integer = contiguous ? 1 : 0;
  c.ReturnArg(std::move(result));
}

// Ints become symbols, bools and floats values.
void Item(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = DTypeOf(self);
  if (IsInt(dtype)) {
    Value* item = c.Op(ops::item, {self});
    return c.Return(item == nullptr ? SymInt(0) : item->type().symint());
  }
  Arg arg;
  arg.kind = dtype == DType::kBool ? Arg::Kind::kBoolValue : Arg::Kind::kFloatValue;
  arg.value = Reshape(c, self, {});
  if (IsFloat(dtype)) arg.value = Convert(c, arg.value, DType::kF64);
  if (IsComplex(dtype)) c.Unsupported("a complex number as a scalar");
  c.ReturnArg(std::move(arg));
}

// Conditions on data change nothing: a program that violates them has no
// meaning.
void Nothing(AtenCall& c) {}

void Narrow(AtenCall& c, SymInt symbol, SymRange range) {
  SymbolTable& symbols = c.b().module().symbols();
  const SymbolInfo* known = symbols.Find(symbol);
  if (!symbol.is_symbol() || known == nullptr) return;
  SymbolInfo info;
  info.symbol = symbol;
  info.unbacked = known->unbacked;
  info.range = range;
  symbols.Declare(info);
}

// A bound of a symbol becomes its range, which executors check.
void AssertScalar(AtenCall& c) {
  const Arg& a = c.arg("self");
  if (!a.is(Arg::Kind::kRelation)) return;
  const auto bound = a.other.constant();
  if (!bound) return;
  switch (a.relation) {
    case Arg::Relation::kGe:
      return Narrow(c, a.integer, {*bound, SymRange::kMax});
    case Arg::Relation::kLe:
      return Narrow(c, a.integer, {SymRange::kMin, *bound});
    case Arg::Relation::kGt:
      if (*bound == SymRange::kMax) return;
      return Narrow(c, a.integer, {*bound + 1, SymRange::kMax});
    case Arg::Relation::kLt:
      if (*bound == SymRange::kMin) return;
      return Narrow(c, a.integer, {SymRange::kMin, *bound - 1});
    default:
      return;
  }
}

void ConstrainRange(AtenCall& c) {
  const Arg& size = c.arg("size");
  if (!size.is(Arg::Kind::kInt)) return;
  const bool is_size = c.schema().name.find("for_size") != std::string::npos;
  Narrow(c, size.integer,
         {c.Int("min", is_size ? 0 : SymRange::kMin), c.Int("max", SymRange::kMax)});
}

// The first argument, which the check stands for.
void TokenOf(AtenCall& c) { c.Return(c.T("dep_token")); }

constexpr AtenOp kTable[] = {
    {"_assert_async(Tensor self) -> ()", Nothing},
    {"_assert_async.msg(Tensor self, str assert_msg) -> ()", Nothing},
    {"_assert_scalar(Scalar self, str assert_msg) -> ()", AssertScalar},
    {"_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? "
     "stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? "
     "layout=None) -> ()",
     Nothing},
    {"_functional_assert_async.msg(Tensor self, str assert_msg, Tensor "
     "dep_token) -> Tensor",
     TokenOf},
    {"_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) "
     "-> Tensor",
     TokenOf},
    {"_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor "
     "dep_token) -> Tensor",
     TokenOf},
    {"_functional_sym_constrain_range_for_size(Scalar size, int? min, int? "
     "max, Tensor dep_token) -> Tensor",
     TokenOf},
    {"_local_scalar_dense(Tensor self) -> Scalar", Item},
    {"item(Tensor self) -> Scalar", Item},
    {"sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", ConstrainRange},
    {"sym_constrain_range_for_size(Scalar size, *, int? min=None, int? "
     "max=None) -> ()",
     ConstrainRange},
    {"sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", SymIsContiguous},
    {"sym_numel(Tensor self) -> SymInt", SymNumel},
    {"sym_size.int(Tensor self, int dim) -> SymInt", SymSize},
    {"sym_storage_offset(Tensor self) -> SymInt", SymStorageOffset},
    {"sym_stride.int(Tensor self, int dim) -> SymInt", SymStride},
};

}  // namespace

absl::Span<const AtenOp> SymbolicTable() { return kTable; }

}  // namespace weft::pt2
