// Maxima of windows of 8-bit integers, by byte_max.h.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/kernels/byte_max.h"
#include "backends/cpu/library/byte_taps.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Rows of a share.
constexpr int64_t kShareRows = 64;

class BytePoolingCall : public LibraryCall {
 public:
  BytePoolingCall(const LibraryStep& step, ByteWindow window, ByteMaxFn run, int threads)
      : x_(PointsOf(step.args[0])),
        y_(PointsOf(step.result)),
        is_signed_(step.result.dtype == DType::kI8),
        run_(run),
        threads_(threads),
        copies_x_(!x_.IsReadInPlace()),
        taps_(x_, std::move(window), y_.dims, copies_x_ ? x_.depth : 0) {
    copies_y_ = y_.step != 1 || !IsOneLoop(y_.dims, y_.strides, &y_row_);
    if (copies_y_) y_row_ = y_.depth;
    x_at_ = AlignUp(threads_ * kShareRows * taps_.taps() * 8, kCacheLine);
    y_at_ = x_at_ + (copies_x_ ? AlignUp(x_.rows() * x_.depth, kCacheLine) : 0);
    bytes_ = y_at_ + (copies_y_ ? AlignUp(y_.rows() * y_.depth, kCacheLine) : 0);
  }

  int64_t scratch_bytes() const override { return bytes_; }
  std::string name() const override { return "byte_max_pooling"; }

  absl::Status Run(const CallMemory& memory) override {
    auto* scratch = static_cast<uint8_t*>(memory.scratch);
    ByteMaxPanel panel;
    panel.x = static_cast<const uint8_t*>(memory.args[0]);
    panel.is_signed = is_signed_;
    panel.taps = taps_.taps();
    panel.channels = y_.depth;
    panel.y_row = y_row_;
    if (copies_x_) {
      RowCopy rows;
      rows.depth = x_.depth;
      CopyRows(panel.x, x_, rows, threads_, scratch + x_at_);
      panel.x = scratch + x_at_;
    }
    auto* y = copies_y_ ? scratch + y_at_ : static_cast<uint8_t*>(memory.result);
    const int64_t rows = y_.rows();
    const int64_t shares = (rows + kShareRows - 1) / kShareRows;
    ForEachNext(threads_, shares, [&](int64_t s, const TeamMember& member) {
      auto* offsets = reinterpret_cast<int64_t*>(scratch) + member.index * kShareRows * panel.taps;
      const int64_t row = s * kShareRows;
      ByteMaxPanel part = panel;
      part.offsets = offsets;
      part.rows = std::min(kShareRows, rows - row);
      part.y = y + row * y_row_;
      taps_.Fill(row, part.rows, offsets);
      run_(part);
    });
    if (copies_y_) CopyOut(y, y_, threads_, static_cast<uint8_t*>(memory.result));
    return absl::OkStatus();
  }

 private:
  const ByteRows x_;
  const ByteRows y_;
  const bool is_signed_;
  const ByteMaxFn run_;
  const int threads_;
  const bool copies_x_;
  const ByteTaps taps_;
  bool copies_y_ = false;
  int64_t y_row_ = 0;
  // Places in scratch, which begins with the offsets of each thread.
  int64_t x_at_ = 0;
  int64_t y_at_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

LibraryCallOr MakeBytePoolingCall(const LibraryStep& step, const LibraryContext& context) {
  if (step.op != RoutineOp::kMaxPool || step.result.numel() == 0 || step.args[0].numel() == 0 ||
      !step.epilogue.empty()) {
    return absl::UnimplementedError("such a pooling");
  }
  const PoolAttrs pool(step.schema, step.attrs);
  ByteWindow window;
  window.kernel = pool.kernel_size();
  window.stride = pool.stride();
  window.dilation = pool.dilation();
  window.before = pool.padding();
  const size_t n = static_cast<size_t>(step.result.rank()) - 2;
  if (window.kernel.size() != n || window.stride.size() != n || window.dilation.size() != n ||
      window.before.size() < n) {
    return absl::UnimplementedError("other sizes than those of the image");
  }
  window.before.resize(n);
  return std::make_unique<BytePoolingCall>(
      step, std::move(window), ForIsa(context.isa, Avx512ByteMax, Avx2ByteMax), context.threads);
}

}  // namespace weft::cpu
