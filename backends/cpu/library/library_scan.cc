// cumsum and cumprod. A line is scanned in its order, as the op defines it, so that results do not
// depend on the number of threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/lines.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// Lines that lie side by side and are scanned together.
constexpr int kBeside = 64;

// Floats are added up in f64; integers wrap.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

struct ScanShape {
  Lines lines;
  bool exclusive = false;
  bool reverse = false;
};

// `v` or the f32 beside it whose last bit is set: rounded once more, it gives what `v` does.
float RoundToOdd(double v) {
  const auto f = static_cast<float>(v);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const auto differs = static_cast<uint32_t>(f < v || f > v);
  bits += (differs & ~bits & 1u) * (std::abs(f) < std::abs(v) ? 1u : ~0u);
  float odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// `width` lines at most; their combinations stay in registers if it is 1.
template <typename T, typename Result, bool product, int width>
void ScanLines(const ScanShape& s, const T* x, Result* y, int64_t count) {
  Wide<T> all[width];
  const int64_t step = s.reverse ? -s.lines.inner : s.lines.inner;
  int64_t at = s.reverse ? (s.lines.size - 1) * s.lines.inner : 0;
  for (int64_t j = 0; j < count; ++j) {
    all[j] = static_cast<Wide<T>>(x[at + j]);
    y[at + j] = s.exclusive ? Result(product) : x[at + j];
  }
  for (int64_t k = 1; k < s.lines.size; ++k) {
    at += step;
    for (int64_t j = 0; j < count; ++j) {
      const auto v = static_cast<Wide<T>>(x[at + j]);
      const Wide<T> before = all[j];
      all[j] = product ? before * v : before + v;
      y[at + j] = static_cast<Result>(s.exclusive ? before : all[j]);
    }
  }
}

template <typename T, typename Result, bool product>
class ScanCall : public LibraryCall {
 public:
  ScanCall(const ScanShape& shape, int threads)
      : s_(shape),
        groups_((s_.lines.inner + kBeside - 1) / kBeside),
        threads_(ThreadsOfLines(s_.lines, s_.lines.outer * groups_, threads)) {}

  std::string name() const override { return "scan"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const auto* x = static_cast<const T*>(memory.args[0]);
    auto* y = static_cast<Result*>(memory.result);
    ForEach(threads_, s_.lines.outer * groups_, [&](int64_t task, const TeamMember&) {
      const int64_t beside = task % groups_ * kBeside;
      const int64_t begin = task / groups_ * s_.lines.size * s_.lines.inner + beside;
      if (s_.lines.inner == 1) {
        ScanLines<T, Result, product, 1>(s_, x + begin, y + begin, 1);
      } else {
        ScanLines<T, Result, product, kBeside>(s_, x + begin, y + begin,
                                               std::min<int64_t>(kBeside, s_.lines.inner - beside));
      }
    });
    return absl::OkStatus();
  }

 private:
  const ScanShape s_;
  const int64_t groups_;  // Of lines that are scanned together.
  const int threads_;
};

template <typename T, typename Result = T>
std::unique_ptr<LibraryCall> MakeScan(const ScanShape& shape, bool product, int threads) {
  if (product) return std::make_unique<ScanCall<T, Result, true>>(shape, threads);
  return std::make_unique<ScanCall<T, Result, false>>(shape, threads);
}

// Scans narrow floats as f32 into f64, and rounds once.
class NarrowScanCall : public LibraryCall {
 public:
  NarrowScanCall(std::unique_ptr<LibraryCall> scan, const RunView& x, MoveFn load, MoveFn store,
                 int threads)
      : scan_(std::move(scan)),
        numel_(x.numel()),
        bytes_(DTypeBits(x.dtype) / 8),
        load_(load),
        store_(store),
        threads_(numel_ < 4 * kChunk ? 1 : threads) {
    x_at_ = scratch_.Place(numel_ * static_cast<int64_t>(sizeof(float)));
    y_at_ = scratch_.Place(numel_ * static_cast<int64_t>(sizeof(double)));
  }

  std::string name() const override { return scan_->name(); }
  int64_t scratch_bytes() const override { return scratch_.bytes(); }

  absl::Status Run(const CallMemory& memory) override {
    char* const scratch = static_cast<char*>(memory.scratch);
    auto* x = reinterpret_cast<float*>(scratch + x_at_);
    auto* y = reinterpret_cast<double*>(scratch + y_at_);
    ForChunks([&](int64_t begin, int64_t count) {
      load_(x + begin, static_cast<const char*>(memory.args[0]) + begin * bytes_, 1, count);
    });
    void* const arg = x;
    CallMemory wide;
    wide.args = absl::MakeConstSpan(&arg, 1);
    wide.result = y;
    WEFT_RETURN_IF_ERROR(scan_->Run(wide));
    ForChunks([&](int64_t begin, int64_t count) {
#pragma omp simd
      for (int64_t i = begin; i < begin + count; ++i) x[i] = RoundToOdd(y[i]);
      store_(static_cast<char*>(memory.result) + begin * bytes_, x + begin, 1, count);
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kChunk = 1 << 12;

  template <typename Fn>
  void ForChunks(Fn fn) const {
    ForEach(threads_, (numel_ + kChunk - 1) / kChunk, [&](int64_t chunk, const TeamMember&) {
      fn(chunk * kChunk, std::min(kChunk, numel_ - chunk * kChunk));
    });
  }

  const std::unique_ptr<LibraryCall> scan_;
  const int64_t numel_;
  const int64_t bytes_;
  const MoveFn load_, store_;
  const int threads_;
  ScratchPlan scratch_;
  int64_t x_at_ = 0, y_at_ = 0;
};

}  // namespace

LibraryCallOr MakeScanCall(const LibraryStep& step, const LibraryContext& context) {
  const ScanAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  ScanShape shape;
  if (!step.epilogue.empty() || !x.dense() || !step.result.dense() || x.dims != step.result.dims ||
      x.dtype != step.result.dtype || x.numel() == 0 || !FindLines(x, attrs.dim(), &shape.lines)) {
    return absl::UnimplementedError("such a scan");
  }
  shape.exclusive = attrs.exclusive();
  shape.reverse = attrs.reverse();
  const bool product = step.op == RoutineOp::kCumprod;
  switch (x.dtype) {
    case DType::kF16:
    case DType::kBF16:
      return std::make_unique<NarrowScanCall>(
          MakeScan<float, double>(shape, product, context.threads), x, context.table->load(x.dtype),
          context.table->store(x.dtype), context.threads);
    case DType::kF32:
      return MakeScan<float>(shape, product, context.threads);
    case DType::kF64:
      return MakeScan<double>(shape, product, context.threads);
    case DType::kI32:
      return MakeScan<int32_t>(shape, product, context.threads);
    case DType::kI64:
      return MakeScan<int64_t>(shape, product, context.threads);
    default:
      return absl::UnimplementedError("scans of such elements");
  }
}

}  // namespace weft::cpu
