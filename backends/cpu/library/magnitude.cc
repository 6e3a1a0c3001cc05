#include "backends/cpu/library/magnitude.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/magnitude_tile.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// Sums in f32 below this have no intermediate that overflows, in any order of additions: rounding
// adds far less than the factor of 3 up to the largest f32.
constexpr double kLargestSum = 1e38;

// As MagnitudeFn. As integers, the bits of magnitudes have the order of the magnitudes.
float MagnitudeOfBf16(const uint16_t* data, int64_t stride, int64_t n) {
  constexpr uint16_t kMagnitudeBits = 0x7fff, kInfinityBits = 0x7f80;
  uint16_t most = 0;
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < n; ++i) {
    most = std::max<uint16_t>(most, data[i * stride] & kMagnitudeBits);
  }
  const uint32_t bits = uint32_t{std::min(most, kInfinityBits)} << 16;
  float magnitude;
  std::memcpy(&magnitude, &bits, sizeof magnitude);
  return magnitude;
}

}  // namespace

MagnitudeScan::MagnitudeScan(const RunView& view) : dtype_(view.dtype) {
  std::vector<Loop> loops;
  for (int d = 0; d < view.rank(); ++d) {
    empty_ = empty_ || view.dims[d] == 0;
    if (view.strides[d] < 0) first_ += (view.dims[d] - 1) * view.strides[d];
    // The scan may visit elements in any order and repeatedly.
    if (view.dims[d] != 1 && view.strides[d] != 0) {
      loops.push_back({view.dims[d], std::abs(view.strides[d])});
    }
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.stride > b.stride; });
  for (const Loop& loop : loops) {
    if (!loops_.empty() && loops_.back().stride == loop.size * loop.stride) {
      loops_.back() = {loops_.back().size * loop.size, loop.stride};
    } else {
      loops_.push_back(loop);
    }
  }
  if (loops_.empty()) loops_.push_back({1, 1});
}

float MagnitudeScan::Run(const void* data, Isa isa, int threads) const {
  if (empty_) return 0;
  const MagnitudeFn scan = ForIsa(isa, Avx512Magnitude, Avx2Magnitude);
  const Loop inner = loops_.back();
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < loops_.size(); ++i) rows *= loops_[i].size;
  constexpr int64_t kChunk = 1 << 14;
  const int64_t chunks = (inner.size + kChunk - 1) / kChunk;
  const int64_t items = rows * chunks;
  const bool parallel = threads > 1 && rows * inner.size > 8 * kChunk;
  std::atomic<float> most{0};
  ForEach(parallel ? threads : 1, items, [&](int64_t item, const TeamMember&) {
    int64_t row = item / chunks;
    const int64_t from = item % chunks * kChunk;
    int64_t offset = from * inner.stride;
    for (size_t i = loops_.size() - 1; i-- > 0;) {
      offset += row % loops_[i].size * loops_[i].stride;
      row /= loops_[i].size;
    }
    const int64_t count = std::min(kChunk, inner.size - from);
    const float found =
        dtype_ == DType::kBF16
            ? MagnitudeOfBf16(static_cast<const uint16_t*>(data) + first_ + offset, inner.stride,
                              count)
            : scan(static_cast<const float*>(data) + first_ + offset, inner.stride, count);
    float before = most;
    while (before < found && !most.compare_exchange_weak(before, found)) {
    }
  });
  return most;
}

bool KeepsNan(const DnnPostOp& op) {
  switch (op.function) {
    case DnnFunction::kRelu:
      return op.alpha != 0;
    case DnnFunction::kSigmoid:
    case DnnFunction::kExp:
    case DnnFunction::kClip:
    case DnnFunction::kMaximum:
    case DnnFunction::kMinimum:
      return false;
    default:
      return true;
  }
}

namespace {

// An upper bound of the function's results for operands up to `x`; infinite if it may give NaN.
double After(const DnnPostOp& op, double x, double operand) {
  switch (op.function) {
    case DnnFunction::kRelu:
      return x * std::max(1.0f, std::abs(op.alpha));
    case DnnFunction::kTanh:
    case DnnFunction::kSigmoid:
      return 1;
    case DnnFunction::kGeluErf:
    case DnnFunction::kGeluTanh:
    case DnnFunction::kHardSwish:
    case DnnFunction::kAbs:
      return x;
    case DnnFunction::kSwish:
      return op.alpha == 1 ? x : kUnbounded;
    case DnnFunction::kExp:
      return x < 80 ? std::exp(x) : kUnbounded;
    case DnnFunction::kClip:
      return std::max(std::isinf(op.alpha) ? x : std::abs(op.alpha),
                      std::isinf(op.beta) ? x : std::abs(op.beta));
    case DnnFunction::kLinear:
      return x * std::abs(op.alpha) + std::abs(op.beta);
    case DnnFunction::kAccumulate:
    case DnnFunction::kAdd:
    case DnnFunction::kSub:
      return x + operand;
    case DnnFunction::kMul:
      return x * operand;
    case DnnFunction::kMaximum:
    case DnnFunction::kMinimum:
      return std::max(x, operand);
    default:
      return kUnbounded;
  }
}

bool TakesOperand(const DnnPostOp& op) { return op.function >= DnnFunction::kAccumulate; }

}  // namespace

bool KeepsNan(const std::vector<DnnPostOp>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const DnnPostOp& op) { return KeepsNan(op); });
}

MagnitudeBound BoundOf(double length, const std::vector<DnnPostOp>& post_ops, float x,
                       float weights, float bias, const std::vector<float>& operands) {
  // False for NaN, which infinity times 0 gives.
  const auto fits = [](double bound) { return bound < kLargestSum; };
  MagnitudeBound found;
  double bound = length * x * weights + bias;
  size_t next = 0;
  for (const DnnPostOp& op : post_ops) {
    const double operand = TakesOperand(op) ? operands[next++] : 0;
    if (!KeepsNan(op) && !(fits(bound) && fits(operand))) found.finite = false;
    bound = fits(bound) && fits(operand) ? After(op, bound, operand) : kUnbounded;
  }
  if (found.finite && fits(bound)) found.results = static_cast<float>(bound);
  return found;
}

bool HasBounds(const std::vector<DnnPostOp>& post_ops) {
  return BoundOf(1, post_ops, 1, 1, 1, std::vector<float>(post_ops.size(), 1)).finite;
}

}  // namespace weft::cpu
