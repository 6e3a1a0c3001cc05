// Reductions of tiles: into partial results (rows) or into one accumulator per lane (columns), in
// the order of kernel_schedule.h; compiled once for each instruction set.
#include <limits>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

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

// Accumulates one value into each of `n` accumulators.
template <typename T, template <typename> class F>
inline void Accumulate(T* acc, const T* v, int64_t n) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) acc[k] = F<T>::f(acc[k], v[k]);
}

// The same where it is rarely called: one copy of the code serves.
template <typename T, template <typename> class F>
__attribute__((noinline)) void AccumulateSome(T* acc, const T* v, int64_t n) {
  Accumulate<T, F>(acc, v, n);
}

// From element `i` on, which is the first for accumulator 0, by `lanes` accumulators.
template <typename T, template <typename> class F>
void ReduceRest(T* acc, const T* v, int64_t i, int64_t n, int64_t lanes) {
  for (; i < n; i += lanes) AccumulateSome<T, F>(acc, v + i, n - i < lanes ? n - i : lanes);
}

// For any numbers of lanes and copies.
template <typename T, template <typename> class F>
void ReduceRowAny(T* acc, const T* v, int64_t n, int64_t lanes, int64_t copies) {
  const int64_t all = lanes * copies;
  int64_t i = 0;
  for (; i + all <= n; i += all) Accumulate<T, F>(acc, v + i, all);
  ReduceRest<T, F>(acc, v, i, n, lanes);
}

// For numbers known at compile time, so that accumulators stay in registers.
template <typename T, template <typename> class F, int64_t kLanes, int64_t kCopies>
void ReduceRowOf(T* to, const T* v, int64_t n) {
  constexpr int64_t kAll = kLanes * kCopies;
  constexpr int64_t kVector = WEFT_CPU_VECTOR_BYTES / sizeof(T);
  constexpr int64_t kPart = kVector < kAll ? kVector : kAll;
  T acc[kAll];
  for (int64_t k = 0; k < kAll; ++k) acc[k] = to[k];
  int64_t i = 0;
  for (; i + kAll <= n; i += kAll) {
#pragma GCC unroll 8
    for (int64_t part = 0; part < kAll; part += kPart) {
      for (int64_t k = part; k < part + kPart; ++k) acc[k] = F<T>::f(acc[k], v[i + k]);
    }
  }
  for (int64_t k = 0; k < kAll; ++k) to[k] = acc[k];
  ReduceRest<T, F>(to, v, i, n, kLanes);
}

template <typename T, template <typename> class F>
void ReduceRow(void* acc, const void* values, int64_t n, int64_t lanes, int64_t copies) {
  constexpr int64_t kLanes = WEFT_CPU_VECTOR_BYTES / 4;
  T* to = static_cast<T*>(acc);
  const T* v = static_cast<const T*>(values);
  if (lanes == kLanes && copies == 4) return ReduceRowOf<T, F, kLanes, 4>(to, v, n);
  ReduceRowAny<T, F>(to, v, n, lanes, copies);
}

template <typename T, template <typename> class F>
void FinishRow(void* result, void* acc, int64_t lanes, int64_t copies) {
  T* v = static_cast<T*>(acc);
  for (int64_t c = 1; c < copies; ++c) AccumulateSome<T, F>(v, v + c * lanes, lanes);
  for (int64_t width = lanes / 2; width > 0; width /= 2) AccumulateSome<T, F>(v, v + width, width);
  *static_cast<T*>(result) = v[0];
}

template <typename T, template <typename> class F>
void ReduceColumn(void* acc, int64_t*, const void* values, int64_t n, int64_t, int64_t) {
  T* to = static_cast<T*>(acc);
  const T* v = static_cast<const T*>(values);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = F<T>::f(to[i], v[i]);
}

// True if `v` at `pos` replaces `best` at `at`: it is larger (smaller), NaN above all; of equal
// values the first one wins.
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
template <typename T>
void Zero(void* dst, const void*, const void*, const void*, int64_t n) {
  Fill<T>(dst, T{0}, n);
}
// Calls fn<F> with the op's function F on type T.
template <typename R, typename T, template <typename, template <typename> class> class Make>
R PickReduction(ReduceOp op) {
  if constexpr (std::is_same<T, uint8_t>::value) {
    if (op == ReduceOp::kAnd) return Make<T, And>::fn;
    if (op == ReduceOp::kOr) return Make<T, Or>::fn;
  }
  switch (op) {
    case ReduceOp::kSum:
      return Make<Wrapping<T>, Sum>::fn;
    case ReduceOp::kProduct:
      return Make<Wrapping<T>, Product>::fn;
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
  static constexpr RowFn fn = ReduceRow<T, F>;
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
struct MakeFinish {
  static constexpr RowEndFn fn = FinishRow<T, F>;
};

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

// As VisitCompute, with bool as bytes, whose sums and products are kOr and kAnd.
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

RowFn FindReduceRow(ReduceOp op, DType dtype) {
  return VisitReduced<RowFn>(dtype, &op, [&](auto zero) -> RowFn {
    return PickReduction<RowFn, decltype(zero), MakeRow>(op);
  });
}

ReduceFn FindArgRow(ReduceOp op, DType dtype) {
  return VisitReduced<ReduceFn>(dtype, &op, [&](auto zero) -> ReduceFn {
    using T = decltype(zero);
    return op == ReduceOp::kArgMax ? ArgRow<T, true> : ArgRow<T, false>;
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

TileFn FindStart(ReduceOp op, DType dtype) {
  return VisitReduced<TileFn>(dtype, &op, [&](auto zero) -> TileFn {
    using T = decltype(zero);
    return IsArg(op) ? Zero<T> : PickReduction<TileFn, T, MakeStart>(op);
  });
}

RowEndFn FindFinishRow(ReduceOp op, DType dtype) {
  return VisitReduced<RowEndFn>(dtype, &op, [&](auto zero) -> RowEndFn {
    return PickReduction<RowEndFn, decltype(zero), MakeFinish>(op);
  });
}

}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu
