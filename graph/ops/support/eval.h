// Evaluation by plain loops that are written once per op, not once per dtype.
//
// Elements are computed in a wide domain: all floats in double, rounded once when stored (for + - *
// / and sqrt this is the correctly rounded result in every narrower format), u64 in uint64_t, all
// other integers and bool in int64_t; stores to integers keep the low bits. Complex dtypes have no
// domain: the functions here return Unimplemented, so Infer should refuse them.
//
//   absl::Status Eval(EvalContext& c) {
//     return EvalBinary(c, [](auto a, auto b) { return a < b ? b : a; });
//   }
//
// Code in namespace weft::ops must write std::exp, std::abs and so on, because ops of these names
// hide the functions.
#ifndef WEFT_GRAPH_OPS_SUPPORT_EVAL_H_
#define WEFT_GRAPH_OPS_SUPPORT_EVAL_H_

#include <array>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "graph/ir/op_eval.h"
#include "graph/tensor/tensor.h"

namespace weft::ops {

// --- Domains ----------------------------------------------------------------

enum class Domain { kFloat, kInt, kUnsigned, kNone };
Domain DomainOf(DType dtype);
absl::Status NoDomain(DType dtype);  // The Unimplemented error.

// Calls `fn` with a zero of the domain's type; it returns absl::Status.
template <typename Fn>
absl::Status VisitDomain(DType dtype, Fn fn) {
  switch (DomainOf(dtype)) {
    case Domain::kFloat:
      return fn(double{});
    case Domain::kInt:
      return fn(int64_t{});
    case Domain::kUnsigned:
      return fn(uint64_t{});
    case Domain::kNone:
      break;
  }
  return NoDomain(dtype);
}

// All elements in row-major order, as double, int64_t or uint64_t.
template <typename T>
std::vector<T> Read(const HostTensor& t);
template <>
std::vector<double> Read(const HostTensor& t);
template <>
std::vector<int64_t> Read(const HostTensor& t);
template <>
std::vector<uint64_t> Read(const HostTensor& t);

// Overwrites all elements, converting to the tensor's dtype.
void Write(const std::vector<double>& values, HostTensor* t);
void Write(const std::vector<int64_t>& values, HostTensor* t);
void Write(const std::vector<uint64_t>& values, HostTensor* t);

// Supports any dtype; the imaginary part of a real number is 0, and is dropped when a complex
// number is written to a real dtype.
std::vector<std::complex<double>> ReadComplex(const HostTensor& t);
void WriteComplex(const std::vector<std::complex<double>>& values, HostTensor* t);

// A float attribute with the precision of the op's arithmetic: ATen computes f64 operands in double
// and all narrower floats in float.
double FloatAttr(const EvalContext& c, absl::string_view name);

// The type in which results of type R are collected: int64_t for bool.
template <typename R>
using Stored =
    std::conditional_t<std::is_floating_point_v<R>, double,
                       std::conditional_t<std::is_same_v<R, uint64_t>, uint64_t, int64_t>>;

// Wrapping arithmetic for the domains, where signed overflow must not trap.
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
bool IsNan(T v) {
  return v != v;
}

// --- Indices ----------------------------------------------------------------

int64_t Numel(absl::Span<const int64_t> dims);
// Row-major strides of `dims`, aligned at the last dims of `out_dims`; 0 for a broadcast size of 1
// and for dims that `dims` lacks.
std::vector<int64_t> BroadcastStrides(absl::Span<const int64_t> dims,
                                      absl::Span<const int64_t> out_dims);

// Calls `fn(index)` for every index in row-major order; the span is reused.
template <typename Fn>
void ForEachIndex(absl::Span<const int64_t> dims, Fn fn) {
  if (Numel(dims) == 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    fn(absl::Span<const int64_t>(index));
    int i = static_cast<int>(dims.size()) - 1;
    for (; i >= 0; --i) {
      if (++index[i] < dims[i]) break;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

// Calls `fn(linear, offsets)` for every index in row-major order, where
// offsets[k] = dot(index, strides[k]).
template <size_t N, typename Fn>
void ForEachOffset(absl::Span<const int64_t> dims,
                   const std::array<std::vector<int64_t>, N>& strides, Fn fn) {
  if (Numel(dims) == 0) return;
  std::array<int64_t, N> at{};
  int64_t linear = 0;
  if (dims.empty()) return fn(linear, at);
  const int last = static_cast<int>(dims.size()) - 1;
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    std::array<int64_t, N> inner = at;
    for (int64_t j = 0; j < dims[last]; ++j) {
      fn(linear++, inner);
      for (size_t k = 0; k < N; ++k) inner[k] += strides[k][last];
    }
    int i = last - 1;
    for (; i >= 0; --i) {
      const bool carry = ++index[i] == dims[i];
      for (size_t k = 0; k < N; ++k) {
        at[k] += carry ? strides[k][i] * (1 - dims[i]) : strides[k][i];
      }
      if (!carry) break;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

// Runs `fn(i)` for i in [0, n), on several threads if `n` is large. Calls must be independent.
void ParallelFor(int64_t n, absl::FunctionRef<void(int64_t)> fn);
// The same in contiguous chunks of about `grain`: `fn(begin, end)`.
void ParallelChunks(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn);

// --- Moving elements --------------------------------------------------------
// These functions support any dtype, complex and 4-bit ones included, and keep bits.

// out[i] = in[source[i]], both by row-major index; -1 leaves out[i] alone.
void Gather(const HostTensor& in, absl::Span<const int64_t> source, HostTensor* out);
// out[target[i]] = in[i]; -1 drops in[i], and the last write wins.
void Scatter(const HostTensor& in, absl::Span<const int64_t> target, HostTensor* out);

// --- Whole ops --------------------------------------------------------------

// out(0)[i] = f(in(0)[i]) in the domain of the operand.
template <typename Fn>
absl::Status EvalUnary(EvalContext& c, Fn f) {
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(c.in(0));
    std::vector<Stored<decltype(f(zero))>> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

// The same in double for any dtype of the operand, for functions of floats.
template <typename Fn>
absl::Status EvalUnaryFloat(EvalContext& c, Fn f) {
  std::vector<double> x = Read<double>(c.in(0));
  for (double& v : x) v = f(v);
  Write(x, &c.out(0));
  return absl::OkStatus();
}
inline absl::Status EvalUnaryFloat(EvalContext& c, double (*f)(double)) {
  return EvalUnaryFloat<double (*)(double)>(c, f);
}

// EvalBinary in the domain of T, for any dtypes of the operands.
template <typename T, typename Fn>
void EvalBinaryIn(EvalContext& c, Fn f) {
  const std::vector<T> a = Read<T>(c.in(0));
  const std::vector<T> b = Read<T>(c.in(1));
  HostTensor& out = c.out(0);
  std::vector<Stored<decltype(f(T{}, T{}))>> y(out.numel());
  if (c.in(0).dims() == c.in(1).dims()) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(a[i], b[i]);
  } else {
    ForEachOffset<2>(
        out.dims(),
        {BroadcastStrides(c.in(0).dims(), out.dims()),
         BroadcastStrides(c.in(1).dims(), out.dims())},
        [&](int64_t i, const std::array<int64_t, 2>& at) { y[i] = f(a[at[0]], b[at[1]]); });
  }
  Write(y, &out);
}

// out(0) = f(in(0), in(1)) with NumPy broadcasting, in the domain of operand 0.
template <typename Fn>
absl::Status EvalBinary(EvalContext& c, Fn f) {
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    EvalBinaryIn<decltype(zero)>(c, f);
    return absl::OkStatus();
  });
}

// EvalBinary of a predicate; the result is bool.
template <typename Fn>
absl::Status EvalCompare(EvalContext& c, Fn f) {
  return EvalBinary(c, [f](auto a, auto b) -> bool { return f(a, b); });
}

// out(0) = f(in(0), in(1)) in double.
template <typename Fn>
absl::Status EvalBinaryFloat(EvalContext& c, Fn f) {
  EvalBinaryIn<double>(c, f);
  return absl::OkStatus();
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_EVAL_H_
