// Tensors made from sizes and numbers.
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// The default dtype of torch.full.
DType DTypeOfFill(const Arg& value) {
  switch (value.kind) {
    case Arg::Kind::kInt:
      return DType::kI64;
    case Arg::Kind::kBool:
    case Arg::Kind::kRelation:
    case Arg::Kind::kBoolValue:
      return DType::kBool;
    case Arg::Kind::kComplex:
      return DType::kC64;
    default:
      return DType::kF32;
  }
}

template <int value>
void Constant(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DType::kF32);
  c.Return(Full(c, c.Syms("size"), Number(c, dtype, value)));
}

template <int value>
void ConstantLike(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = c.Dtype("dtype", DTypeOf(self));
  c.Return(Full(c, DimsOf(self), Number(c, dtype, value)));
}

template <int value>
void NewConstant(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DTypeOf(c.T("self")));
  c.Return(Full(c, c.Syms("size"), Number(c, dtype, value)));
}

void FullSize(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DTypeOfFill(c.arg("fill_value")));
  c.Return(Full(c, c.Syms("size"), c.As("fill_value", dtype)));
}

void FullLike(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = c.Dtype("dtype", DTypeOf(self));
  c.Return(Full(c, DimsOf(self), c.As("fill_value", dtype)));
}

void NewFull(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DTypeOf(c.T("self")));
  c.Return(Full(c, c.Syms("size"), c.As("fill_value", dtype)));
}

void ScalarTensor(AtenCall& c) { c.Return(c.As("s", c.Dtype("dtype", DType::kF32))); }

// --- Ranges -----------------------------------------------------------------------

const Arg& IntArg(int64_t value) {
  static const Arg& zero = *new Arg(Arg::Int(0));
  static const Arg& one = *new Arg(Arg::Int(1));
  return value == 0 ? zero : one;
}

bool IsWhole(const Arg& a) { return a.is(Arg::Kind::kInt) || a.is(Arg::Kind::kBool); }

bool IsNumber(const Arg& a) {
  return (IsWhole(a) && a.integer.is_constant()) || a.is(Arg::Kind::kFloat);
}

double NumberOf(const Arg& a) {
  return a.is(Arg::Kind::kFloat) ? a.number : static_cast<double>(a.integer.value());
}

// A number as an integer, rounded toward zero; with `exact`, only a float that is whole.
std::optional<SymInt> AsWhole(const Arg& a, bool exact) {
  if (IsWhole(a)) return a.integer;
  if (!a.is(Arg::Kind::kFloat) || !(std::abs(a.number) < 1e15)) return std::nullopt;
  if (exact && a.number != std::trunc(a.number)) return std::nullopt;
  return SymInt(static_cast<int64_t>(a.number));
}

// The length of a range of floats: ceil((end - start) / step). It is an expression of sizes if the
// three are fractions of sizes, and else computed.
SymInt FloatCount(AtenCall& c, const Arg& start, const Arg& end, const Arg& step) {
  if (IsNumber(start) && IsNumber(end) && IsNumber(step)) {
    const double count = std::ceil((NumberOf(end) - NumberOf(start)) / NumberOf(step));
    if (!(count >= 0 && count < 1e9)) c.Fail("the range goes the wrong way, or is too long");
    return static_cast<int64_t>(count);
  }
  SymbolTable& symbols = c.b().module().symbols();
  const auto first = start.AsRational();
  const auto last = end.AsRational();
  const auto by = step.AsRational();
  if (first && last && by && by->numerator.is_constant()) {
    const bool down = by->numerator.value() < 0;
    auto steps = down ? Plus(*first, Negated(*last)) : Plus(*last, Negated(*first));
    if (steps.ok()) {
      steps->is_float = true;
      steps = Quotient(*steps, down ? Negated(*by) : *by);
    }
    if (steps.ok()) return symbols.Simplify(Max(ToInt(*steps, Rounding::kCeil), 0));
  }
  Value* span = Sub(c, c.As(end, DType::kF64), c.As(start, DType::kF64));
  Value* count = c.Op(ops::ceil, {Div(c, span, c.As(step, DType::kF64))});
  const SymInt n = c.Op(ops::item, {Convert(c, count, DType::kI64)})->type().symint();
  SymbolInfo info;
  info.symbol = n;
  info.unbacked = true;
  if (n.is_symbol()) symbols.Declare(info);
  return n;
}

// Floats: start + i * step, in f64. For integers the length is computed in the same way, and then
// start and step are truncated to integers.
void FloatRange(AtenCall& c, const Arg& start, const Arg& end, const Arg& step, DType dtype) {
  if (IsNumber(step) && NumberOf(step) == 0) return c.Return(c.Fail("the step is 0"));
  const auto bound = [&](const Arg& a) {
    Value* v = c.As(a, DType::kF64);
    return IsFloat(dtype) ? v : c.Op(ops::trunc, {v});
  };
  Value* i = Iota(c, FloatCount(c, start, end, step), DType::kF64);
  c.Return(Convert(c, Add(c, Mul(c, i, bound(step)), bound(start)), dtype));
}

void Range(AtenCall& c, const Arg& start, const Arg& end, const Arg& step) {
  const bool integers = IsWhole(start) && IsWhole(end) && IsWhole(step);
  const DType dtype = c.Dtype("dtype", integers ? DType::kI64 : DType::kF32);
  // PyTorch truncates the ends of ranges of i64, but not of other integers.
  const bool exact = dtype != DType::kI64;
  const auto first = AsWhole(start, exact);
  const auto last = AsWhole(end, exact);
  const auto by = AsWhole(step, exact);
  if (!first || !last || !by) return FloatRange(c, start, end, step, dtype);
  Value* i = c.Op(ops::arange, {}, {{"start", *first}, {"end", *last}, {"step", *by}});
  c.Return(Convert(c, i, dtype));
}

void Arange(AtenCall& c) {
  const bool has_start = c.schema().Find("start") >= 0;
  const bool has_step = c.schema().Find("step") >= 0;
  Range(c, has_start ? c.arg("start") : IntArg(0), c.arg("end"),
        has_step ? c.arg("step") : IntArg(1));
}

// `steps` values from start to end inclusive, in f64, computed from the nearer end as PyTorch does.
// For integers the ends are truncated first.
Value* LinSpace(AtenCall& c, DType dtype) {
  const SymInt steps = c.Sym("steps");
  const auto bound = [&](absl::string_view name) {
    Value* v = c.As(name, DType::kF64);
    if (!IsFloat(dtype)) v = c.Op(ops::trunc, {v});
    return RankOf(v) == 0 ? v : Reshape(c, v, {});
  };
  Value* start = bound("start");
  Value* end = bound("end");
  Value* i = Iota(c, steps, DType::kF64);
  if (steps.Is(1)) return Add(c, Mul(c, i, 0.0), start);
  Value* last = SymScalar(c, steps - 1, DType::kF64);
  Value* by = Div(c, Sub(c, end, start), last);
  Value* up = Add(c, Mul(c, i, by), start);
  Value* down = Sub(c, end, Mul(c, Sub(c, last, i), by));
  Value* near = c.Op(ops::lt, {i, Mul(c, SymScalar(c, steps, DType::kF64), 0.5)});
  return Where(c, near, up, down);
}

void LinSpaceTensor(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DType::kF32);
  c.Return(Convert(c, LinSpace(c, dtype), dtype));
}

void LogSpace(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DType::kF32);
  Value* exponent = LinSpace(c, dtype);
  Value* y = c.Op(ops::pow, {NumberLike(c, exponent, c.Float("base")), exponent});
  c.Return(Convert(c, y, dtype));
}

void Eye(AtenCall& c) {
  const SymInt n = c.Sym("n");
  const SymInt m = c.schema().Find("m") >= 0 ? c.Sym("m") : n;
  c.Return(c.Op(ops::eye, {}, {{"n", n}, {"m", m}, {"dtype", c.Dtype("dtype", DType::kF32)}}));
}

// [2, count]: the indices of the elements on one side of a diagonal.
template <bool lower>
void TriangleIndices(AtenCall& c) {
  const int64_t rows = c.Int("row");
  const int64_t cols = c.Int("col");
  const int64_t offset = c.Int("offset");
  constexpr int64_t kMaxElements = 1 << 24;
  Ints i, j;
  if (rows < 0 || cols < 0 || rows > kMaxElements || cols > kMaxElements ||
      rows * cols > kMaxElements) {
    return c.Return(c.Fail("the triangle is too large"));
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < cols; ++k) {
      if (lower ? k - r > offset : k - r < offset) continue;
      i.push_back(r);
      j.push_back(k);
    }
  }
  const int64_t n = static_cast<int64_t>(i.size());
  i.insert(i.end(), j.begin(), j.end());
  c.Return(c.b().Constant(HostTensor::FromInts(c.Dtype("dtype", DType::kI64), {2, n}, i)));
}

// Window functions of `n` points; periodic ones have n + 1 points without the last.
Value* WindowAngle(AtenCall& c, bool periodic) {
  const SymInt n = c.Sym("window_length");
  Value* points = SymScalar(c, periodic ? n : n - 1, DType::kF64);
  return Div(c, Mul(c, Iota(c, n, DType::kF64), 6.283185307179586), points);
}

Value* CosineWindow(AtenCall& c, double a, double b) {
  const bool periodic = c.schema().Find("periodic") < 0 || c.Bool("periodic");
  Value* angle = WindowAngle(c, periodic);
  Value* y = Sub(c, Number(c, DType::kF64, a), Mul(c, c.Op(ops::cos, {angle}), b));
  return Convert(c, y, c.Dtype("dtype", DType::kF32));
}

void HannWindow(AtenCall& c) { c.Return(CosineWindow(c, 0.5, 0.5)); }
void HammingWindow(AtenCall& c) { c.Return(CosineWindow(c, 0.54, 0.46)); }

constexpr AtenOp kTable[] = {
    {"_efficientzerotensor(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     Constant<0>},
    {"arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     Arange},
    {"arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     Arange},
    {"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     Arange},
    {"empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     Constant<0>},
    {"empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     ConstantLike<0>},
    {"empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     Constant<0>},
    {"empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     Constant<0>},
    {"eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     Eye},
    {"eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     Eye},
    {"full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     FullSize},
    {"full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor",
     FullLike},
    {"hamming_window(int window_length, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     HammingWindow},
    {"hamming_window.periodic(int window_length, bool periodic, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     HammingWindow},
    {"hann_window(int window_length, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     HannWindow},
    {"hann_window.periodic(int window_length, bool periodic, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     HannWindow},
    {"linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     LinSpaceTensor},
    {"linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     LinSpaceTensor},
    {"linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     LinSpaceTensor},
    {"linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     LinSpaceTensor},
    {"logspace(Scalar start, Scalar end, int steps, float base=10., *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     LogSpace},
    {"logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float "
     "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     LogSpace},
    {"logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float "
     "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     LogSpace},
    {"logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float "
     "base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     LogSpace},
    {"new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     NewConstant<0>},
    {"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     NewConstant<0>},
    {"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     NewFull},
    {"new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     NewConstant<1>},
    {"new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     NewConstant<0>},
    {"ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     Constant<1>},
    {"ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     ConstantLike<1>},
    {"scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     ScalarTensor},
    {"tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     TriangleIndices<true>},
    {"triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     TriangleIndices<false>},
    {"zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     Constant<0>},
    {"zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     ConstantLike<0>},
};

}  // namespace

absl::Span<const AtenOp> CreateTable() { return kTable; }

}  // namespace weft::pt2
