#include "serialize/pt2/aten_call.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

using Kind = Arg::Kind;

// The dtype of a Python number.
DType DTypeOfNumber(const Arg& arg) {
  switch (arg.kind) {
    case Kind::kInt:
      return DType::kI64;
    case Kind::kFloat:
    case Kind::kFloatValue:
      return DType::kF32;
    case Kind::kComplex:
      return DType::kC64;
    default:
      return DType::kBool;
  }
}

bool IsComplexOrFloat(DType d) { return IsFloat(d) || IsComplex(d); }

DType ToComplex(DType d) {
  if (IsComplex(d)) return d;
  if (d == DType::kF64) return DType::kC128;
  return d == DType::kF16 ? DType::kC32 : DType::kC64;
}

DType RealOf(DType d) {
  if (d == DType::kC32) return DType::kF16;
  if (d == DType::kC64) return DType::kF32;
  return d == DType::kC128 ? DType::kF64 : d;
}

DType PromoteFloats(DType a, DType b) {
  if (a == b) return a;
  const int x = DTypeBits(a);
  const int y = DTypeBits(b);
  if (x != y) return x > y ? a : b;
  return DType::kF32;  // For f16 and bf16.
}

DType PromoteInts(DType a, DType b) {
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  const bool a_signed = IsSignedInt(a);
  if (a_signed == IsSignedInt(b)) return DTypeBits(a) >= DTypeBits(b) ? a : b;
  const DType s = a_signed ? a : b;
  const DType u = a_signed ? b : a;
  if (DTypeBits(s) > DTypeBits(u)) return s;
  if (DTypeBits(u) == 8) return DType::kI16;
  return DTypeBits(u) == 16 ? DType::kI32 : DType::kI64;
}

// Three classes of operands, in descending priority.
DType Combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower.value_or(DType::kF32);
  if (!lower) return *higher;
  if (IsComplex(*higher)) return *higher;
  if (IsFloat(*higher)) {
    return IsComplex(*lower) ? ToComplex(*higher) : *higher;
  }
  if (*higher == DType::kBool || IsComplexOrFloat(*lower)) {
    return PromoteTypes(*higher, *lower);
  }
  return *higher;
}

}  // namespace

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  if (IsComplex(a) || IsComplex(b)) {
    return ToComplex(PromoteTypes(RealOf(a), RealOf(b)));
  }
  if (IsFloat(a) && IsFloat(b)) return PromoteFloats(a, b);
  if (IsFloat(a)) return a;
  if (IsFloat(b)) return b;
  return PromoteInts(a, b);
}

Type TypeOf(const Value* v) { return v == nullptr ? Type::Scalar(DType::kF32) : v->type(); }

bool Arg::is_number() const {
  switch (kind) {
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kComplex:
    case Kind::kBool:
    case Kind::kFloatValue:
    case Kind::kRelation:
    case Kind::kBoolValue:
      return true;
    default:
      return false;
  }
}

std::optional<Rational> Arg::AsRational() const {
  if (is(Kind::kInt) || is(Kind::kBool)) return Rational{integer, 1};
  if (is(Kind::kFloatValue)) return exact;
  if (!is(Kind::kFloat)) return std::nullopt;
  const auto value = RationalOf(number);
  return value.ok() ? std::optional<Rational>(*value) : std::nullopt;
}

Arg Arg::Tensor(Value* value) {
  Arg a;
  a.kind = Kind::kTensor;
  a.value = value;
  return a;
}

Arg Arg::Int(SymInt value) {
  Arg a;
  a.kind = Kind::kInt;
  a.integer = value;
  return a;
}

Arg Arg::List(std::vector<Arg> items) {
  Arg a;
  a.kind = Kind::kList;
  a.items = std::move(items);
  return a;
}

// --- Errors -------------------------------------------------------------------

Value* AtenCall::Fail(absl::string_view message) {
  builder_.Fail(absl::InvalidArgumentError(message));
  throw Stop();
}

Value* AtenCall::Unsupported(absl::string_view message) {
  builder_.Fail(absl::UnimplementedError(message));
  throw Stop();
}

// --- Arguments ----------------------------------------------------------------

const Arg& AtenCall::arg(absl::string_view name) const {
  const int i = schema_.Find(name);
  WEFT_CHECK(i >= 0) << schema_.name << " has no argument " << name;
  return args_[i];
}

Value* AtenCall::T(absl::string_view name) {
  const Arg& a = arg(name);
  if (a.is(Kind::kTensor)) return a.value;
  if (a.is_number()) return As(a, DTypeOfNumber(a));
  return Fail(absl::StrCat("argument \"", name, "\" is no tensor"));
}

Value* AtenCall::OptT(absl::string_view name) { return Has(name) ? T(name) : nullptr; }

std::vector<Value*> AtenCall::Ts(absl::string_view name) {
  const Arg& a = arg(name);
  std::vector<Value*> values;
  if (!a.is(Kind::kList)) {
    Fail(absl::StrCat("argument \"", name, "\" is no list"));
    return values;
  }
  for (const Arg& item : a.items) {
    if (item.present() && !item.is(Kind::kTensor)) {
      Fail(absl::StrCat("argument \"", name, "\" is no list of tensors"));
    }
    values.push_back(item.value);
  }
  return values;
}

SymInt AtenCall::Sym(absl::string_view name) {
  const Arg& a = arg(name);
  if (a.is(Kind::kInt) || a.is(Kind::kBool)) return a.integer;
  Fail(absl::StrCat("argument \"", name, "\" is no integer"));
  return 0;
}

SymInt AtenCall::Sym(absl::string_view name, SymInt if_none) {
  return Has(name) ? Sym(name) : if_none;
}

std::vector<SymInt> AtenCall::Syms(absl::string_view name) {
  const Arg& a = arg(name);
  if (a.is(Kind::kInt)) return {a.integer};
  std::vector<SymInt> values;
  if (!a.present()) return values;
  for (const Arg& item : a.items) {
    if (!item.is(Kind::kInt)) {
      Fail(absl::StrCat("argument \"", name, "\" is no list of integers"));
      return {};
    }
    values.push_back(item.integer);
  }
  if (!a.is(Kind::kList)) {
    Fail(absl::StrCat("argument \"", name, "\" is no list of integers"));
  }
  return values;
}

int64_t AtenCall::Int(absl::string_view name) {
  const SymInt value = Sym(name);
  if (value.is_constant()) return value.value();
  Unsupported(
      absl::StrCat("argument \"", name, "\" is ", value.ToString(), "; it must be a constant"));
  return 0;
}

int64_t AtenCall::Int(absl::string_view name, int64_t if_none) {
  return Has(name) ? Int(name) : if_none;
}

std::vector<int64_t> AtenCall::Ints(absl::string_view name) {
  const std::vector<SymInt> values = Syms(name);
  if (auto constants = AllConstant(values)) return *std::move(constants);
  Unsupported(
      absl::StrCat("argument \"", name, "\" is ", ToString(values), "; it must be constant"));
  return std::vector<int64_t>(values.size(), 1);
}

bool AtenCall::Bool(absl::string_view name) { return Int(name) != 0; }

bool AtenCall::Bool(absl::string_view name, bool if_none) {
  return Has(name) ? Bool(name) : if_none;
}

double AtenCall::Float(absl::string_view name) {
  const Arg& a = arg(name);
  if (a.is(Kind::kFloat)) return a.number;
  if ((a.is(Kind::kInt) || a.is(Kind::kBool)) && a.integer.is_constant()) {
    return static_cast<double>(a.integer.value());
  }
  Unsupported(absl::StrCat("argument \"", name, "\" is no constant number"));
  return 0;
}

double AtenCall::Float(absl::string_view name, double if_none) {
  return Has(name) ? Float(name) : if_none;
}

std::vector<double> AtenCall::Floats(absl::string_view name) {
  const Arg& a = arg(name);
  std::vector<double> values;
  for (const Arg& item : a.items) {
    if (item.is(Kind::kFloat)) {
      values.push_back(item.number);
    } else if (item.is(Kind::kInt) && item.integer.is_constant()) {
      values.push_back(static_cast<double>(item.integer.value()));
    } else {
      Unsupported(absl::StrCat("argument \"", name, "\" is no list of constant numbers"));
      return {};
    }
  }
  return values;
}

std::vector<bool> AtenCall::Bools(absl::string_view name) {
  std::vector<bool> values;
  for (const Arg& item : arg(name).items) {
    values.push_back(item.is(Kind::kBool) && !item.integer.Is(0));
  }
  return values;
}

std::string AtenCall::Str(absl::string_view name) {
  const Arg& a = arg(name);
  if (a.is(Kind::kString)) return a.text;
  if (a.present()) Fail(absl::StrCat("argument \"", name, "\" is no string"));
  return "";
}

DType AtenCall::Dtype(absl::string_view name, DType if_none) {
  const Arg& a = arg(name);
  if (!a.present()) return if_none;
  if (a.is(Kind::kDType) && a.dtype) return *a.dtype;
  Unsupported(absl::StrCat("argument \"", name, "\" is a dtype that is not supported"));
  return if_none;
}

std::vector<int64_t> AtenCall::IntsFor(absl::string_view name, int n) {
  return IntsFor(name, n, std::vector<int64_t>(n, 1));
}

std::vector<int64_t> AtenCall::IntsFor(absl::string_view name, int n,
                                       std::vector<int64_t> if_empty) {
  std::vector<int64_t> values = Ints(name);
  if (values.empty()) return if_empty;
  if (values.size() == 1) values.resize(n, values[0]);
  if (static_cast<int>(values.size()) == n) return values;
  Fail(absl::StrCat("argument \"", name, "\" has ", values.size(), " values instead of ", n));
  return if_empty;
}

std::vector<SymInt> AtenCall::SymsFor(absl::string_view name, int n) {
  std::vector<SymInt> values = Syms(name);
  if (values.size() == 1) values.resize(n, values[0]);
  if (static_cast<int>(values.size()) != n) {
    Fail(absl::StrCat("argument \"", name, "\" has ", values.size(), " values instead of ", n));
    values.resize(n, SymInt(1));
  }
  return values;
}

int AtenCall::WrapDim(int64_t dim, int rank) {
  const int n = std::max(rank, 1);
  if (dim >= -n && dim < n) return static_cast<int>(dim < 0 ? dim + n : dim);
  Fail(absl::StrCat("dim ", dim, " is out of range for rank ", rank));
  return 0;
}

int AtenCall::Dim(absl::string_view name, int rank) { return WrapDim(Int(name), rank); }

std::vector<int64_t> AtenCall::Dims(absl::string_view name, int rank) {
  std::vector<int64_t> dims;
  if (Has(name)) {
    for (int64_t d : Ints(name)) dims.push_back(WrapDim(d, rank));
  }
  if (rank == 0) return {};
  if (dims.empty()) {
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  }
  return dims;
}

std::optional<AtenCall::Layout> AtenCall::LayoutOf(absl::string_view name) const {
  const int i = schema_.Find(name);
  WEFT_CHECK(i >= 0) << schema_.name << " has no argument " << name;
  if (i >= static_cast<int>(layouts_.size())) return std::nullopt;
  return layouts_[i];
}

// --- Dtypes ---------------------------------------------------------------------

DType AtenCall::Promoted(std::initializer_list<absl::string_view> names) {
  std::optional<DType> with_dims, scalars, numbers;
  const auto join = [](std::optional<DType>* to, DType d) {
    *to = *to ? PromoteTypes(**to, d) : d;
  };
  for (absl::string_view name : names) {
    const Arg& a = arg(name);
    if (a.is(Kind::kTensor)) {
      const Type type = TypeOf(a.value);
      join(type.rank() > 0 ? &with_dims : &scalars, type.dtype());
    } else if (a.is_number()) {
      join(&numbers, DTypeOfNumber(a));
    }
  }
  if (!with_dims && !scalars) return numbers.value_or(DType::kF32);
  std::optional<DType> lower = scalars;
  if (numbers) lower = Combine(scalars, numbers);
  return Combine(with_dims, lower);
}

DType AtenCall::PromotedFloat(std::initializer_list<absl::string_view> names) {
  const DType d = Promoted(names);
  return IsComplexOrFloat(d) ? d : DType::kF32;
}

Value* AtenCall::As(absl::string_view name, DType dtype) {
  const Arg& a = arg(name);
  if (a.is(Kind::kTensor) || a.is_number()) return As(a, dtype);
  return Fail(absl::StrCat("argument \"", name, "\" is no tensor or number"));
}

Value* AtenCall::As(const Arg& a, DType dtype) {
  const auto converted = [&](Value* v) {
    if (v == nullptr || v->type().dtype() == dtype) return v;
    return Convert(*this, v, dtype);
  };
  switch (a.kind) {
    case Kind::kTensor:
    case Kind::kFloatValue:
    case Kind::kBoolValue:
      return converted(a.value);
    case Kind::kFloat:
      return Number(*this, dtype, a.number);
    case Kind::kComplex:
      if (!IsComplex(dtype)) return Fail("a complex number stands for a real one");
      return ComplexNumber(*this, dtype, a.number, a.imaginary);
    case Kind::kBool:
      if (IsComplex(dtype)) return Number(*this, dtype, a.integer.Is(0) ? 0 : 1);
      return b().Constant(HostTensor::ScalarInt(dtype, a.integer.value()));
    case Kind::kInt:
      if (a.integer.is_constant()) {
        if (IsComplex(dtype)) {
          return Number(*this, dtype, static_cast<double>(a.integer.value()));
        }
        return b().Constant(HostTensor::ScalarInt(dtype, a.integer.value()));
      }
      return converted(
          Op(ops::sym_constant, {},
             {{"values", std::vector<SymInt>{a.integer}}, {"size", std::vector<SymInt>{}}}));
    case Kind::kRelation: {
      const auto side = [&](SymInt s) { return As(Arg::Int(s), DType::kI64); };
      static const OpDef* const kOps[] = {&ops::eq, &ops::ne, &ops::lt,
                                          &ops::le, &ops::gt, &ops::ge};
      return converted(Op(*kOps[static_cast<int>(a.relation)], {side(a.integer), side(a.other)}));
    }
    default:
      return Unsupported("a number of this kind is not supported here");
  }
}

void AtenCall::Write(absl::string_view name, Value* v) {
  const int i = schema_.Find(name);
  WEFT_CHECK(i >= 0) << schema_.name << " has no argument " << name;
  writes_.emplace_back(i, v);
}

void AtenCall::ReturnList(absl::Span<Value* const> values) {
  std::vector<Arg> items;
  for (Value* v : values) items.push_back(Arg::Tensor(v));
  results_.push_back(Arg::List(std::move(items)));
}

}  // namespace weft::pt2
