// Arithmetic, comparisons and selects on tiles; compiled once for each instruction set. The
// compiler vectorises the loops; semantics are those of graph/ops.
#include <cmath>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

// F is a function object: `static R f(T...)`.
template <typename R, typename T, typename F>
void Unary(void* dst, const void* a, const void*, const void*, int64_t n) {
  R* to = static_cast<R*>(dst);
  const T* x = static_cast<const T*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = F::f(x[i]);
}

template <typename R, typename T, typename F, unsigned kUniform>
void Binary(void* dst, const void* a, const void* b, const void*, int64_t n) {
  R* to = static_cast<R*>(dst);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T x0 = x[0];
  const T y0 = y[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = F::f(kUniform & 1 ? x0 : x[i], kUniform & 2 ? y0 : y[i]);
}

template <typename T>
void Fma(void* dst, const void* a, const void* b, const void* c, int64_t n) {
  T* to = static_cast<T*>(dst);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T* z = static_cast<const T*>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same<T, float>::value) {
      to[i] = __builtin_fmaf(x[i], y[i], z[i]);
    } else {
      to[i] = __builtin_fma(x[i], y[i], z[i]);
    }
  }
}

template <typename T>
void Select(void* dst, const void* a, const void* b, const void* c, int64_t n) {
  T* to = static_cast<T*>(dst);
  const uint8_t* choose = static_cast<const uint8_t*>(a);
  const T* x = static_cast<const T*>(b);
  const T* y = static_cast<const T*>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = choose[i] ? x[i] : y[i];
}

#define WEFT_FUNCTION(name, ...) \
  template <typename T>          \
  struct name {                  \
    static inline __VA_ARGS__    \
  }

// Integers wrap; the arithmetic is unsigned with at least 32 bits.
WEFT_FUNCTION(
    Add, T f(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); });
WEFT_FUNCTION(
    Sub, T f(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); });
WEFT_FUNCTION(
    Mul, T f(T a, T b) {
      if constexpr (sizeof(T) < 4) {
        return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
      } else {
        return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
      }
    });

// Integer division rounds toward zero; x / 0 is 0, and the least integer by -1 wraps.
template <typename T>
inline T Quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed<T>::value) {
    if (b == -1) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
  }
  return static_cast<T>(a / b);
}
// The remainder has the sign of `a`.
template <typename T>
inline T Rest(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed<T>::value) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
}
WEFT_FUNCTION(
    Div, T f(T a, T b) {
      if constexpr (kIsFloat<T>) {
        return a / b;
      } else {
        return Quotient(a, b);
      }
    });
WEFT_FUNCTION(
    TruncDiv, T f(T a, T b) {
      if constexpr (kIsFloat<T>) {
        return std::trunc(a / b);
      } else {
        return Quotient(a, b);
      }
    });
// Python's floor division in the dtype's arithmetic, as in ATen.
WEFT_FUNCTION(
    FloorDiv, T f(T a, T b) {
      if constexpr (kIsFloat<T>) {
        if (b == 0) return a / b;
        const T rest = std::fmod(a, b);
        T quotient = (a - rest) / b;
        if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
        if (quotient == 0) return std::copysign(T{0}, a / b);
        const T below = std::floor(quotient);
        return quotient - below > T{0.5} ? below + 1 : below;
      } else {
        const bool down = Rest(a, b) != 0 && (a < 0) != (b < 0);
        return static_cast<T>(Quotient(a, b) - down);
      }
    });
WEFT_FUNCTION(
    Fmod, T f(T a, T b) { return Rest(a, b); });
WEFT_FUNCTION(
    Remainder, T f(T a, T b) {
      const T rest = Rest(a, b);
      if (rest == 0 || (rest < 0) == (b < 0)) return rest;
      if constexpr (std::is_same<T, float>::value) {
        return static_cast<float>(static_cast<double>(rest) + static_cast<double>(b));
      } else {
        return static_cast<T>(rest + b);
      }
    });
WEFT_FUNCTION(
    IntPow, T f(T base, T exponent) {
      if (exponent < 0) {
        if (base == 1) return 1;
        if (base == static_cast<T>(-1)) return exponent % 2 != 0 ? base : T{1};
        return 0;
      }
      T power = 1;
      for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
        if (e & 1) power = Mul<T>::f(power, base);
        base = Mul<T>::f(base, base);
      }
      return power;
    });
WEFT_FUNCTION(
    Maximum, T f(T a, T b) { return LargerOf(a, b); });
WEFT_FUNCTION(
    Minimum, T f(T a, T b) { return SmallerOf(a, b); });

WEFT_FUNCTION(
    BitAnd, T f(T a, T b) { return static_cast<T>(a & b); });
WEFT_FUNCTION(
    BitOr, T f(T a, T b) { return static_cast<T>(a | b); });
WEFT_FUNCTION(
    BitXor, T f(T a, T b) { return static_cast<T>(a ^ b); });
WEFT_FUNCTION(
    BitNot, T f(T a) { return static_cast<T>(~a); });
template <typename T>
inline bool ShiftsOut(T count) {
  return count < 0 || static_cast<uint64_t>(count) >= 8 * sizeof(T);
}
WEFT_FUNCTION(
    ShiftLeft,
    T f(T a, T b) { return ShiftsOut(b) ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << b); });
WEFT_FUNCTION(
    ShiftRight, T f(T a, T b) {
      return ShiftsOut(b) ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
    });

WEFT_FUNCTION(
    Neg, T f(T a) {
      if constexpr (kIsFloat<T>) {
        return -a;
      } else {
        return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
      }
    });
WEFT_FUNCTION(
    Abs, T f(T a) {
      if constexpr (kIsFloat<T>) {
        return std::abs(a);
      } else {
        return a < 0 ? Neg<T>::f(a) : a;
      }
    });
WEFT_FUNCTION(
    Sign, T f(T a) { return static_cast<T>((a > 0) - (a < 0)); });
WEFT_FUNCTION(
    Sqrt, T f(T a) { return std::sqrt(a); });
WEFT_FUNCTION(
    Rsqrt, T f(T a) { return 1 / std::sqrt(a); });
WEFT_FUNCTION(
    Reciprocal, T f(T a) { return 1 / a; });
WEFT_FUNCTION(
    Same, T f(T a) { return a; });
WEFT_FUNCTION(
    Floor, T f(T a) { return std::floor(a); });
WEFT_FUNCTION(
    Ceil, T f(T a) { return std::ceil(a); });
WEFT_FUNCTION(
    Trunc, T f(T a) { return std::trunc(a); });
WEFT_FUNCTION(
    RoundEven, T f(T a) { return std::rint(a); });

WEFT_FUNCTION(
    Eq, uint8_t f(T a, T b) { return a == b; });
WEFT_FUNCTION(
    Ne, uint8_t f(T a, T b) { return a != b; });
WEFT_FUNCTION(
    Lt, uint8_t f(T a, T b) { return a < b; });
WEFT_FUNCTION(
    Le, uint8_t f(T a, T b) { return a <= b; });
WEFT_FUNCTION(
    Gt, uint8_t f(T a, T b) { return a > b; });
WEFT_FUNCTION(
    Ge, uint8_t f(T a, T b) { return a >= b; });
WEFT_FUNCTION(
    IsNan, uint8_t f(T a) { return a != a; });
WEFT_FUNCTION(
    IsInf, uint8_t f(T a) {
      if constexpr (kIsFloat<T>) {
        return std::abs(a) == static_cast<T>(__builtin_inf());
      } else {
        return 0;
      }
    });
WEFT_FUNCTION(
    Not, uint8_t f(T a) { return a == 0; });
WEFT_FUNCTION(
    And, uint8_t f(T a, T b) { return (a != 0) & (b != 0); });
WEFT_FUNCTION(
    Or, uint8_t f(T a, T b) { return (a != 0) | (b != 0); });
WEFT_FUNCTION(
    Xor, uint8_t f(T a, T b) { return (a != 0) ^ (b != 0); });
#undef WEFT_FUNCTION

// Only f32 has variants for uniform operands.
template <typename R, typename T, template <typename> class F>
TileFn PickBinary(unsigned uniform) {
  if (uniform == 0) return Binary<R, T, F<T>, 0>;
  if constexpr (std::is_same<T, float>::value) {
    if (uniform == 1) return Binary<R, T, F<T>, 1>;
    if (uniform == 2) return Binary<R, T, F<T>, 2>;
  }
  return nullptr;
}
template <typename T, template <typename> class F>
TileFn Plain(unsigned uniform) {
  return uniform == 0 ? Binary<T, T, F<T>, 0> : nullptr;
}
template <typename R, typename T, template <typename> class F>
TileFn PickUnary(unsigned uniform) {
  return uniform == 0 ? Unary<R, T, F<T>> : nullptr;
}

template <typename T>
TileFn FindArithmetic(ScalarOp op, unsigned u) {
  using W = Wrapping<T>;
  switch (op) {
    case ScalarOp::kAdd:
      return PickBinary<W, W, Add>(u);
    case ScalarOp::kSub:
      return PickBinary<W, W, Sub>(u);
    case ScalarOp::kMul:
      return PickBinary<W, W, Mul>(u);
    case ScalarOp::kDiv:
      return PickBinary<T, T, Div>(u);
    case ScalarOp::kMinimum:
      return PickBinary<T, T, Minimum>(u);
    case ScalarOp::kMaximum:
      return PickBinary<T, T, Maximum>(u);
    case ScalarOp::kFloorDiv:
      return Plain<T, FloorDiv>(u);
    case ScalarOp::kTruncDiv:
      return Plain<T, TruncDiv>(u);
    case ScalarOp::kRemainder:
      return Plain<T, Remainder>(u);
    case ScalarOp::kFmod:
      return Plain<T, Fmod>(u);
    case ScalarOp::kNeg:
      return PickUnary<W, W, Neg>(u);
    case ScalarOp::kAbs:
      return PickUnary<T, T, Abs>(u);
    case ScalarOp::kSign:
      return PickUnary<T, T, Sign>(u);
    default:
      return nullptr;
  }
}

template <typename T>
TileFn FindFloat(ScalarOp op, unsigned u) {
  switch (op) {
    case ScalarOp::kFma:
      return u == 0 ? Fma<T> : nullptr;
    case ScalarOp::kSqrt:
      return PickUnary<T, T, Sqrt>(u);
    case ScalarOp::kRsqrt:
      return PickUnary<T, T, Rsqrt>(u);
    case ScalarOp::kReciprocal:
      return PickUnary<T, T, Reciprocal>(u);
    case ScalarOp::kFloor:
      return PickUnary<T, T, Floor>(u);
    case ScalarOp::kCeil:
      return PickUnary<T, T, Ceil>(u);
    case ScalarOp::kTrunc:
      return PickUnary<T, T, Trunc>(u);
    case ScalarOp::kRoundEven:
      return PickUnary<T, T, RoundEven>(u);
    default:
      return nullptr;
  }
}

template <typename T>
TileFn FindInt(ScalarOp op, unsigned u) {
  using W = Wrapping<T>;
  switch (op) {
    case ScalarOp::kPow:
      return Plain<T, IntPow>(u);
    case ScalarOp::kBitAnd:
      return Plain<W, BitAnd>(u);
    case ScalarOp::kBitOr:
      return Plain<W, BitOr>(u);
    case ScalarOp::kBitXor:
      return Plain<W, BitXor>(u);
    case ScalarOp::kBitNot:
      return PickUnary<W, W, BitNot>(u);
    case ScalarOp::kShiftLeft:
      return Plain<T, ShiftLeft>(u);
    case ScalarOp::kShiftRight:
      return Plain<T, ShiftRight>(u);
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRoundEven:
      return PickUnary<W, W, Same>(u);
    default:
      return nullptr;
  }
}

// Arithmetic on bool is logic.
TileFn FindBool(ScalarOp op, unsigned u) {
  using T = uint8_t;
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kMaximum:
    case ScalarOp::kBitOr:
      return Plain<T, Or>(u);
    case ScalarOp::kMul:
    case ScalarOp::kMinimum:
    case ScalarOp::kBitAnd:
      return Plain<T, And>(u);
    case ScalarOp::kSub:
    case ScalarOp::kBitXor:
      return Plain<T, Xor>(u);
    case ScalarOp::kBitNot:
      return PickUnary<T, T, Not>(u);
    default:
      return nullptr;
  }
}

template <typename T>
TileFn FindPredicate(ScalarOp op, unsigned u) {
  using W = Wrapping<T>;
  switch (op) {
    case ScalarOp::kEq:
      return PickBinary<uint8_t, W, Eq>(u);
    case ScalarOp::kNe:
      return PickBinary<uint8_t, W, Ne>(u);
    case ScalarOp::kLt:
      return PickBinary<uint8_t, T, Lt>(u);
    case ScalarOp::kLe:
      return PickBinary<uint8_t, T, Le>(u);
    case ScalarOp::kGt:
      return PickBinary<uint8_t, T, Gt>(u);
    case ScalarOp::kGe:
      return PickBinary<uint8_t, T, Ge>(u);
    case ScalarOp::kAnd:
      return PickBinary<uint8_t, W, And>(u);
    case ScalarOp::kOr:
      return PickBinary<uint8_t, W, Or>(u);
    case ScalarOp::kXor:
      return PickBinary<uint8_t, W, Xor>(u);
    case ScalarOp::kNot:
      return PickUnary<uint8_t, W, Not>(u);
    case ScalarOp::kIsNan:
      return PickUnary<uint8_t, W, IsNan>(u);
    case ScalarOp::kIsInf:
      return PickUnary<uint8_t, W, IsInf>(u);
    default:
      return nullptr;
  }
}

}  // namespace

TileFn FindCompute(ScalarOp op, DType dtype, DType operand, unsigned uniform) {
  if (op == ScalarOp::kSelect) {
    if (uniform != 0) return nullptr;
    return VisitCompute(dtype, TileFn{},
                        [](auto zero) -> TileFn { return Select<Wrapping<decltype(zero)>>; });
  }
  const TileFn predicate =
      dtype != DType::kBool ? nullptr : VisitCompute(operand, TileFn{}, [&](auto zero) -> TileFn {
        using T = decltype(zero);
        return FindPredicate<typename std::conditional<kIsBool<T>, uint8_t, T>::type>(op, uniform);
      });
  if (predicate != nullptr) return predicate;
  if (uniform == 0) {
    const TileFn function = FindFunction(op, dtype);
    if (function != nullptr) return function;
  }
  return VisitCompute(dtype, TileFn{}, [&](auto zero) -> TileFn {
    using T = decltype(zero);
    if constexpr (kIsBool<T>) {
      return FindBool(op, uniform);
    } else {
      const TileFn fn = FindArithmetic<T>(op, uniform);
      if (fn != nullptr) return fn;
      if constexpr (kIsFloat<T>) {
        return FindFloat<T>(op, uniform);
      } else {
        return FindInt<T>(op, uniform);
      }
    }
  });
}

}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu
