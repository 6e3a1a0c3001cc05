// Reductions of tiles: into one accumulator (rows) or into one for each lane
// (columns); compiled once for each instruction set.
//
// Sums of f32 over rows are made in vector lanes over one tile and then in f64; the
// order depends on sizes alone.
#include <limits>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

template <typename T>
using Accumulator = typename std::conditional<std::is_same<T, float>::value, double, T>::type;

template <typename T>
inline T Lowest() {
  return kIsFloat<T> ? static_cast<T>(-__builtin_inf()) : std::numeric_limits<T>::lowest();
}
template <typename T>
inline T Highest() {
  return kIsFloat<T> ? static_cast<T>(__builtin_inf()) : std::numeric_limits<T>::max();
}

template <typename T>
struct Sum {
  static inline T f(T a, T b) {
    if constexpr (kIsInt<T>) {
      using U = UnsignedOf<T>;
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  }
  static inline T Start() { return 0; }
};
template <typename T>
struct Product {
  static inline T f(T a, T b) {
    if constexpr (kIsInt<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  static inline T Start() { return 1; }
};
template <typename T>
struct Maximum {
  static inline T f(T a, T b) { return LargerOf(a, b); }
  static inline T Start() { return Lowest<T>(); }
};
template <typename T>
struct Minimum {
  static inline T f(T a, T b) { return SmallerOf(a, b); }
  static inline T Start() { return Highest<T>(); }
};
template <typename T>
struct And {
  static inline T f(T a, T b) { return a & b; }
  static inline T Start() { return 1; }
};
template <typename T>
struct Or {
  static inline T f(T a, T b) { return a | b; }
  static inline T Start() { return 0; }
};

// Lanes: four vectors of them.
template <typename T, template <typename> class F>
void ReduceRow(void* acc, int64_t*, const void* values, int64_t n, int64_t, int64_t) {
  constexpr int64_t kLanes = 4 * WEFT_CPU_VECTOR_BYTES / sizeof(T);
  const T* v = static_cast<const T*>(values);
  using Acc = Accumulator<T>;
  Acc* to = static_cast<Acc*>(acc);
  T total = F<T>::Start();
  int64_t i = 0;
  if (n >= 2 * kLanes) {
    T lanes[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = v[k];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] = F<T>::f(lanes[k], v[i + k]);
    }
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t k = 0; k < width; ++k) lanes[k] = F<T>::f(lanes[k], lanes[k + width]);
    }
    total = lanes[0];
  }
  for (; i < n; ++i) total = F<T>::f(total, v[i]);
  *to = F<Acc>::f(*to, static_cast<Acc>(total));
}

template <typename T, template <typename> class F>
void ReduceColumn(void* acc, int64_t*, const void* values, int64_t n, int64_t, int64_t) {
  T* to = static_cast<T*>(acc);
  const T* v = static_cast<const T*>(values);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = F<T>::f(to[i], v[i]);
}

// Whether `v` at `pos` is to take the place of `best` at `at`: larger (smaller), NaN
// before all; of equals the one that stands first.
template <typename T, bool kLargest>
inline bool Beats(T v, int64_t pos, T best, int64_t at) {
  if (at < 0) return true;
  const bool nan = v != v;
  const bool best_nan = best != best;
  if (nan || best_nan) return nan && (!best_nan || pos < at);
  if (v == best) return pos < at;
  return kLargest ? v > best : v < best;
}

template <typename T, bool kLargest>
void ArgRow(void* acc, int64_t* at, const void* values, int64_t n, int64_t pos, int64_t step) {
  T best = *static_cast<T*>(acc);
  int64_t where = *at;
  const T* v = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) {
    if (!Beats<T, kLargest>(v[i], pos + i * step, best, where)) continue;
    best = v[i];
    where = pos + i * step;
  }
  *static_cast<T*>(acc) = best;
  *at = where;
}

template <typename T, bool kLargest>
void ArgColumn(void* acc, int64_t* at, const void* values, int64_t n, int64_t pos, int64_t) {
  T* best = static_cast<T*>(acc);
  const T* v = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) {
    if (!Beats<T, kLargest>(v[i], pos, best[i], at[i])) continue;
    best[i] = v[i];
    at[i] = pos;
  }
}

template <typename T>
void Fill(void* dst, const T value, int64_t n) {
  T* to = static_cast<T*>(dst);
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}
template <typename T, template <typename> class F>
void Start(void* dst, const void*, const void*, const void*, int64_t n) {
  Fill<T>(dst, F<T>::Start(), n);
}
template <typename T, template <typename> class F>
void StartRow(void* dst, const void*, const void*, const void*, int64_t) {
  using Acc = Accumulator<T>;
  Fill<Acc>(dst, F<Acc>::Start(), 1);
}
template <typename T>
void Zero(void* dst, const void*, const void*, const void*, int64_t n) {
  Fill<T>(dst, T{0}, n);
}
template <typename T>
void Narrow(void* dst, const void* a, const void*, const void*, int64_t) {
  *static_cast<T*>(dst) = static_cast<T>(*static_cast<const Accumulator<T>*>(a));
}

// Calls fn<F> for the op's function of type T.
template <typename R, typename T, template <typename, template <typename> class> class Make>
R PickReduction(ReduceOp op) {
  if constexpr (std::is_same<T, uint8_t>::value) {
    if (op == ReduceOp::kAnd) return Make<T, And>::fn;
    if (op == ReduceOp::kOr) return Make<T, Or>::fn;
  }
  switch (op) {
    case ReduceOp::kSum:
      return Make<T, Sum>::fn;
    case ReduceOp::kProduct:
      return Make<T, Product>::fn;
    case ReduceOp::kMaximum:
      return Make<T, Maximum>::fn;
    case ReduceOp::kMinimum:
      return Make<T, Minimum>::fn;
    default:
      return nullptr;
  }
}
template <typename T, template <typename> class F>
struct MakeRow {
  static constexpr ReduceFn fn = ReduceRow<T, F>;
};
template <typename T, template <typename> class F>
struct MakeColumn {
  static constexpr ReduceFn fn = ReduceColumn<T, F>;
};
template <typename T, template <typename> class F>
struct MakeStart {
  static constexpr TileFn fn = Start<T, F>;
};
template <typename T, template <typename> class F>
struct MakeStartRow {
  static constexpr TileFn fn = StartRow<T, F>;
};

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

// As VisitCompute, with bytes for bool, of which sums and products are made by
// kOr and kAnd.
template <typename R, typename Fn>
R VisitReduced(DType dtype, ReduceOp* op, Fn fn) {
  if (dtype == DType::kBool) {
    if (*op == ReduceOp::kSum || *op == ReduceOp::kMaximum) *op = ReduceOp::kOr;
    if (*op == ReduceOp::kProduct || *op == ReduceOp::kMinimum) *op = ReduceOp::kAnd;
  }
  return VisitCompute(dtype, R{}, [&](auto zero) -> R {
    using T = decltype(zero);
    if constexpr (kIsBool<T>) {
      return fn(uint8_t{});
    } else {
      return fn(T{});
    }
  });
}

}  // namespace

ReduceFn FindReduceRow(ReduceOp op, DType dtype) {
  return VisitReduced<ReduceFn>(dtype, &op, [&](auto zero) -> ReduceFn {
    using T = decltype(zero);
    if (op == ReduceOp::kArgMax) return ArgRow<T, true>;
    if (op == ReduceOp::kArgMin) return ArgRow<T, false>;
    return PickReduction<ReduceFn, T, MakeRow>(op);
  });
}

ReduceFn FindReduceColumn(ReduceOp op, DType dtype) {
  return VisitReduced<ReduceFn>(dtype, &op, [&](auto zero) -> ReduceFn {
    using T = decltype(zero);
    if (op == ReduceOp::kArgMax) return ArgColumn<T, true>;
    if (op == ReduceOp::kArgMin) return ArgColumn<T, false>;
    return PickReduction<ReduceFn, T, MakeColumn>(op);
  });
}

TileFn FindStartRow(ReduceOp op, DType dtype) {
  return VisitReduced<TileFn>(dtype, &op, [&](auto zero) -> TileFn {
    using T = decltype(zero);
    return IsArg(op) ? Zero<T> : PickReduction<TileFn, T, MakeStartRow>(op);
  });
}

TileFn FindStartColumn(ReduceOp op, DType dtype) {
  return VisitReduced<TileFn>(dtype, &op, [&](auto zero) -> TileFn {
    using T = decltype(zero);
    return IsArg(op) ? Zero<T> : PickReduction<TileFn, T, MakeStart>(op);
  });
}

TileFn FindFinishRow(ReduceOp op, DType dtype) {
  return VisitReduced<TileFn>(dtype, &op,
                              [](auto zero) -> TileFn { return Narrow<decltype(zero)>; });
}

}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu
