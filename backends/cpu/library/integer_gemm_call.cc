#include "backends/cpu/library/integer_gemm_call.h"

#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

constexpr int64_t kNoRow = -1;
// Rows of a share: their bytes stay in L2 while all panels pass.
constexpr int64_t kShareRows = 96;

// The element at which row `index` begins.
int64_t OffsetOf(const ByteRows& rows, int64_t index) {
  int64_t offset = 0;
  for (size_t d = rows.dims.size(); d-- > 0;) {
    offset += index % rows.dims[d] * rows.strides[d];
    index /= rows.dims[d];
  }
  return offset;
}

class IntegerGemmCall : public LibraryCall {
 public:
  IntegerGemmCall(IntegerGemmShape shape, IntegerOperand weights, const IntegerGemmTable& table,
                  int threads, bool has_zero_point)
      : shape_(std::move(shape)),
        weights_(std::move(weights)),
        packed_(weights_.packed),
        table_(table),
        threads_(threads),
        has_zero_point_(has_zero_point),
        columns_(AlignUp(weights_.view.columns, table.lanes)),
        rows_(shape_.y.rows()),
        depth_(AlignUp(shape_.x.depth, kIntegerGroup)) {
    // Copied: i8, elements with gaps, rows whose last group would read beyond the tensor, and those
    // that may lie before the first one, since offsets below 0 stand for padding.
    copies_x_ = shape_.is_signed || shape_.x.step != 1 || depth_ != shape_.x.depth ||
                std::any_of(shape_.x.strides.begin(), shape_.x.strides.end(),
                            [](int64_t stride) { return stride < 0; });
    copies_y_ = shape_.y.step != 1 || !IsOneLoop(shape_.y.dims, shape_.y.strides, &y_row_);
    if (copies_y_) y_row_ = shape_.y.depth;
    for (const int64_t k : shape_.window.kernel) taps_ *= k;
    FindStrides();
    Reserve();
  }

  int64_t scratch_bytes() const override { return bytes_; }
  std::string name() const override { return "integer_gemm"; }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    if (weights_.packed == nullptr) WEFT_RETURN_IF_ERROR(Pack(memory));
    char* scratch = static_cast<char*>(memory.scratch);
    const auto* x = static_cast<const uint8_t*>(memory.args[0]);
    const uint8_t zero_point = ZeroPoint(memory);
    auto* padding = reinterpret_cast<uint8_t*>(scratch + padding_at_);
    std::fill(padding, padding + depth_, zero_point);
    auto* start = reinterpret_cast<int32_t*>(scratch + start_at_);
    for (int64_t j = 0; j < columns_; ++j) {
      start[j] = static_cast<int32_t>(0u - zero_point * static_cast<uint32_t>(packed_->sums[j]));
    }
    if (copies_x_) {
      auto* copy = reinterpret_cast<uint8_t*>(scratch + x_at_);
      CopyIn(x, copy);
      x = copy;
    }
    auto* y = static_cast<int32_t*>(copies_y_ ? scratch + y_at_ : memory.result);
    IntegerPanel panel;
    panel.x = x;
    panel.taps = taps_;
    panel.depth = depth_;
    panel.padding = padding;
    panel.y_row = y_row_;
    RunShares(panel, start, y, reinterpret_cast<int64_t*>(scratch + offsets_at_));
    if (copies_y_) CopyOut(y, static_cast<int32_t*>(memory.result));
    return absl::OkStatus();
  }

 private:
  absl::Status Pack(const CallMemory& memory) {
    weights_.view.data = static_cast<const uint8_t*>(memory.args[1]);
    weights_.view.ReadZeroPoints(memory.args[3], weights_.zero_points, weights_.zero_stride);
    WEFT_ASSIGN_OR_RETURN(packed_, PackIntegers(weights_.view, table_, threads_));
    return absl::OkStatus();
  }

  void Reserve() {
    const auto place = [this](int64_t bytes) {
      const int64_t at = bytes_;
      bytes_ += AlignUp(bytes, kCacheLine);
      return at;
    };
    padding_at_ = place(depth_);
    start_at_ = place(columns_ * 4);
    offsets_at_ = place(threads_ * kShareRows * taps_ * 8);
    if (copies_x_) x_at_ = place(shape_.x.rows() * depth_);
    if (copies_y_) y_at_ = place(rows_ * y_row_ * 4);
  }

  // As a u8: 128 is added to i8 and to its zero point.
  uint8_t ZeroPoint(const CallMemory& memory) const {
    const uint8_t given =
        has_zero_point_ ? *static_cast<const uint8_t*>(memory.args[2]) : uint8_t{0};
    return shape_.is_signed ? given ^ 0x80 : given;
  }

  void CopyIn(const uint8_t* x, uint8_t* to) const {
    const ByteRows& rows = shape_.x;
    const uint8_t flip = shape_.is_signed ? 0x80 : 0;
    const int64_t n = rows.rows();
#pragma omp parallel for num_threads(threads_) if (n * depth_ > 1 << 14)
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t* from = x + OffsetOf(rows, i);
      uint8_t* row = to + i * depth_;
      for (int64_t k = 0; k < rows.depth; ++k) row[k] = from[k * rows.step] ^ flip;
      std::fill(row + rows.depth, row + depth_, uint8_t{0});
    }
  }

  void CopyOut(const int32_t* from, int32_t* y) const {
    const ByteRows& rows = shape_.y;
#pragma omp parallel for num_threads(threads_) if (rows_ * rows.depth > 1 << 14)
    for (int64_t i = 0; i < rows_; ++i) {
      int32_t* to = y + OffsetOf(rows, i);
      for (int64_t j = 0; j < rows.depth; ++j) to[j * rows.step] = from[i * y_row_ + j];
    }
  }

  int64_t OffsetOfRow(int64_t row) const {
    return copies_x_ ? row * depth_ : OffsetOf(shape_.x, row);
  }

  // Offsets of the taps of results [row, row + rows).
  void FillOffsets(int64_t row, int64_t rows, int64_t* offsets) const {
    for (int64_t i = 0; i < rows; ++i) {
      if (shape_.window.kernel.empty()) {
        offsets[i] = OffsetOfRow(row + i);
      } else {
        FillTaps(row + i, offsets + i * taps_);
      }
    }
  }

  // The taps of an inner result lie at fixed distances from its first one.
  void FillTaps(int64_t row, int64_t* offsets) const {
    const ByteWindow& w = shape_.window;
    constexpr size_t kMaxDims = 8;
    const size_t n = w.kernel.size();
    int64_t first[kMaxDims] = {};  // Where the window begins in each dim.
    int64_t base = 0;
    bool inner = true;
    for (size_t d = n; d-- > 0;) {
      const int64_t size = shape_.y.dims[d + 1];
      first[d] = row % size * w.stride[d] - w.before[d];
      row /= size;
      base += first[d] * point_strides_[d + 1];
      inner = inner && first[d] >= 0 &&
              first[d] + (w.kernel[d] - 1) * w.dilation[d] < shape_.x.dims[d + 1];
    }
    base += row * point_strides_[0];
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const bool inside = inner || IsInside(first, tap);
      offsets[tap] = inside ? base + tap_offsets_[tap] : kNoRow;
    }
  }

  bool IsInside(const int64_t* first, int64_t tap) const {
    const ByteWindow& w = shape_.window;
    for (size_t d = w.kernel.size(); d-- > 0;) {
      const int64_t place = first[d] + tap % w.kernel[d] * w.dilation[d];
      tap /= w.kernel[d];
      if (place < 0 || place >= shape_.x.dims[d + 1]) return false;
    }
    return true;
  }

  // Bytes from point to point of x along each dim, and from the first tap to each of a window.
  void FindStrides() {
    point_strides_ = shape_.x.strides;
    if (copies_x_) {
      int64_t stride = depth_;
      for (size_t d = point_strides_.size(); d-- > 0;) {
        point_strides_[d] = stride;
        stride *= shape_.x.dims[d];
      }
    }
    const ByteWindow& w = shape_.window;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      int64_t left = tap;
      int64_t offset = 0;
      for (size_t d = w.kernel.size(); d-- > 0;) {
        offset += left % w.kernel[d] * w.dilation[d] * point_strides_[d + 1];
        left /= w.kernel[d];
      }
      tap_offsets_.push_back(offset);
    }
  }

  // Threads take shares of the rows and, where those are few, of the panels.
  void RunShares(const IntegerPanel& panel, const int32_t* start, int32_t* y,
                 int64_t* offsets) const {
    const int64_t shares = (rows_ + kShareRows - 1) / kShareRows;
    const int64_t panels = static_cast<int64_t>(packed_->panels.size());
    const int64_t splits = shares >= 2 * threads_ ? 1 : std::min<int64_t>(panels, 2 * threads_);
#pragma omp parallel for collapse(2) num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
    for (int64_t s = 0; s < shares; ++s) {
      for (int64_t p = 0; p < splits; ++p) {
        int64_t* own = offsets + omp_get_thread_num() * kShareRows * taps_;
        const int64_t row = s * kShareRows;
        IntegerPanel part = panel;
        part.rows = std::min(kShareRows, rows_ - row);
        part.offsets = own;
        FillOffsets(row, part.rows, own);
        for (int64_t i = panels * p / splits; i < panels * (p + 1) / splits; ++i) {
          const PackedIntegerPanel& columns = packed_->panels[i];
          packed_->Describe(columns, &part);
          part.start = start + columns.first;
          part.y = y + row * y_row_ + columns.first;
          table_.run(part);
        }
      }
    }
  }

  const IntegerGemmShape shape_;
  IntegerOperand weights_;
  std::shared_ptr<const PackedIntegers> packed_;
  const IntegerGemmTable& table_;
  const int threads_;
  const bool has_zero_point_;
  const int64_t columns_;  // Up to a whole vector.
  const int64_t rows_;
  const int64_t depth_;
  int64_t taps_ = 1;
  std::vector<int64_t> point_strides_;
  std::vector<int64_t> tap_offsets_;
  bool copies_x_ = false;
  bool copies_y_ = false;
  int64_t y_row_ = 0;
  // Places in scratch.
  int64_t bytes_ = 0;
  int64_t padding_at_ = 0;
  int64_t start_at_ = 0;
  int64_t offsets_at_ = 0;
  int64_t x_at_ = 0;
  int64_t y_at_ = 0;
};

}  // namespace

int64_t ByteRows::rows() const {
  int64_t rows = 1;
  for (const int64_t d : dims) rows *= d;
  return rows;
}

std::unique_ptr<LibraryCall> MakeIntegerPanelCall(IntegerGemmShape shape, IntegerOperand weights,
                                                  const IntegerGemmTable& table, int threads,
                                                  bool has_zero_point) {
  return std::make_unique<IntegerGemmCall>(std::move(shape), std::move(weights), table, threads,
                                           has_zero_point);
}

}  // namespace weft::cpu
