// Sizes as numbers, and assertions on them.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
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

// By the strides in the file; row-major if the file has none.
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

// A condition on sizes as a bool: a constant if the facts decide it, else a value.
void ReturnTruth(AtenCall& c, SymInt condition) {
  Arg result;
  condition = c.b().module().symbols().Simplify(condition);
  if (condition.is_constant()) {
    result.kind = Arg::Kind::kBool;
    result.integer = condition;
  } else {
    result.kind = Arg::Kind::kBoolValue;
    result.value = SymScalar(c, condition, DType::kBool);
  }
  c.ReturnArg(std::move(result));
}

void IsSameSize(AtenCall& c) {
  const SymInts a = DimsOf(c.T("self"));
  const SymInts b = DimsOf(c.T("other"));
  SymInt same = SymInt(a.size() == b.size());
  for (size_t i = 0; i < a.size() && !same.Is(0); ++i) same = And(same, Equal(a[i], b[i]));
  ReturnTruth(c, same);
}

// The number of elements of the storage, looking through views.
SymInt StorageNumel(const Value* v) {
  while (const Value* base = ViewedBy(v)) v = base;
  return v->type().numel();
}

void HasSameStorageNumel(AtenCall& c) {
  ReturnTruth(c, Equal(StorageNumel(c.T("self")), StorageNumel(c.T("other"))));
}

// Ints become symbols; bools and floats become values.
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

// No effect: the properties that the file gives for a tensor are compared with inferred ones
// anyway.
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

std::string MessageOf(AtenCall& c) {
  return c.schema().Find("assert_msg") >= 0 ? c.Str("assert_msg") : "the condition is false";
}

// Asserts that a tensor of one element is not 0.
void AssertValue(AtenCall& c, Value* condition) {
  if (DTypeOf(condition) != DType::kBool) {
    condition = c.Op(ops::ne, {condition, NumberLike(c, condition, 0)});
  }
  c.Ops(ops::runtime_assert, {Reshape(c, condition, {})}, {{"message", MessageOf(c)}});
}

void AssertTensor(AtenCall& c) { AssertValue(c, c.T("self")); }

SymInt ConditionOf(const Arg& a) {
  switch (a.relation) {
    case Arg::Relation::kEq:
      return Equal(a.integer, a.other);
    case Arg::Relation::kNe:
      return NotEqual(a.integer, a.other);
    case Arg::Relation::kLt:
      return Less(a.integer, a.other);
    case Arg::Relation::kLe:
      return LessEqual(a.integer, a.other);
    case Arg::Relation::kGt:
      return Less(a.other, a.integer);
    case Arg::Relation::kGe:
      return LessEqual(a.other, a.integer);
  }
  return 1;
}

// A condition on sizes becomes a fact that executors check as soon as its symbols have values. A
// condition on data becomes a node that checks it.
void AssertScalar(AtenCall& c) {
  const Arg& a = c.arg("self");
  switch (a.kind) {
    case Arg::Kind::kRelation:
      if (c.b().module().symbols().Assume(ConditionOf(a), MessageOf(c)) == Proof::kNo) {
        c.Fail(absl::StrCat("it never holds: ", MessageOf(c)));
      }
      return;
    case Arg::Kind::kBool:
      if (a.integer.Is(0)) c.Fail(absl::StrCat("it never holds: ", MessageOf(c)));
      return;
    case Arg::Kind::kBoolValue:
    case Arg::Kind::kFloatValue:
      return AssertValue(c, a.value);
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

// In functional programs a check returns a token for the next one.
template <AtenFn check>
void WithToken(AtenCall& c) {
  check(c);
  c.Return(c.T("dep_token"));
}

constexpr AtenOp kTable[] = {
    {"_assert_async(Tensor self) -> ()", AssertTensor},
    {"_assert_async.msg(Tensor self, str assert_msg) -> ()", AssertTensor},
    {"_assert_scalar(Scalar self, str assert_msg) -> ()", AssertScalar},
    {"_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? "
     "stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? "
     "layout=None) -> ()",
     Nothing},
    {"_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
     WithToken<AssertTensor>},
    {"_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
     WithToken<AssertScalar>},
    {"_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
     WithToken<ConstrainRange>},
    {"_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) "
     "-> Tensor",
     WithToken<ConstrainRange>},
    {"_has_same_storage_numel(Tensor self, Tensor other) -> bool", HasSameStorageNumel},
    {"_local_scalar_dense(Tensor self) -> Scalar", Item},
    {"is_same_size(Tensor self, Tensor other) -> bool", IsSameSize},
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
