#include "backends/cpu/library/byte_taps.h"

#include <algorithm>
#include <utility>

namespace weft::cpu {

int64_t ByteRows::rows() const {
  int64_t rows = 1;
  for (const int64_t d : dims) rows *= d;
  return rows;
}

int64_t ByteRows::OffsetOf(int64_t index) const {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    offset += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return offset;
}

ByteRows RowsOf(const RunView& view) {
  ByteRows rows;
  rows.dims.assign(view.dims.begin(), view.dims.end() - 1);
  rows.strides.assign(view.strides.begin(), view.strides.end() - 1);
  rows.depth = view.dims.back();
  rows.step = rows.depth == 1 ? 1 : view.strides.back();
  return rows;
}

ByteRows PointsOf(const RunView& view) {
  ByteRows rows;
  for (int d = 0; d < view.rank(); ++d) {
    if (d == 1) continue;
    rows.dims.push_back(view.dims[d]);
    rows.strides.push_back(view.strides[d]);
  }
  rows.depth = view.dims[1];
  rows.step = rows.depth == 1 ? 1 : view.strides[1];
  return rows;
}

int64_t ByteWindow::taps() const {
  int64_t taps = 1;
  for (const int64_t k : kernel) taps *= k;
  return taps;
}

ByteTaps::ByteTaps(ByteRows x, ByteWindow window, std::vector<int64_t> y_dims, int64_t copied_depth)
    : x_(std::move(x)),
      window_(std::move(window)),
      y_dims_(std::move(y_dims)),
      copied_depth_(copied_depth),
      taps_(window_.taps()) {
  FindStrides(copied_depth);
}

void ByteTaps::FindStrides(int64_t copied_depth) {
  point_strides_ = x_.strides;
  if (copied_depth > 0) {
    int64_t stride = copied_depth;
    for (size_t d = point_strides_.size(); d-- > 0;) {
      point_strides_[d] = stride;
      stride *= x_.dims[d];
    }
  }
  const ByteWindow& w = window_;
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

void ByteTaps::Fill(int64_t row, int64_t rows, int64_t* offsets) const {
  for (int64_t i = 0; i < rows; ++i) {
    if (window_.kernel.empty()) {
      offsets[i] = copied_depth_ > 0 ? (row + i) * copied_depth_ : x_.OffsetOf(row + i);
    } else {
      FillOne(row + i, offsets + i * taps_);
    }
  }
}

// The taps of an inner result lie at fixed distances from its first one.
void ByteTaps::FillOne(int64_t row, int64_t* offsets) const {
  const ByteWindow& w = window_;
  constexpr size_t kMaxDims = 8;
  int64_t first[kMaxDims] = {};  // Where the window begins in each dim.
  int64_t base = 0;
  bool inner = true;
  for (size_t d = w.kernel.size(); d-- > 0;) {
    const int64_t size = y_dims_[d + 1];
    first[d] = row % size * w.stride[d] - w.before[d];
    row /= size;
    base += first[d] * point_strides_[d + 1];
    inner = inner && first[d] >= 0 && first[d] + (w.kernel[d] - 1) * w.dilation[d] < x_.dims[d + 1];
  }
  base += row * point_strides_[0];
  for (int64_t tap = 0; tap < taps_; ++tap) {
    const bool inside = inner || IsInside(first, tap);
    offsets[tap] = inside ? base + tap_offsets_[tap] : kNoRow;
  }
}

bool ByteTaps::IsInside(const int64_t* first, int64_t tap) const {
  const ByteWindow& w = window_;
  for (size_t d = w.kernel.size(); d-- > 0;) {
    const int64_t place = first[d] + tap % w.kernel[d] * w.dilation[d];
    tap /= w.kernel[d];
    if (place < 0 || place >= x_.dims[d + 1]) return false;
  }
  return true;
}

void CopyRows(const uint8_t* x, const ByteRows& rows, uint8_t flip, int64_t depth, int threads,
              uint8_t* to) {
  const int64_t n = rows.rows();
#pragma omp parallel for num_threads(threads) if (n * depth > 1 << 14)
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t* from = x + rows.OffsetOf(i);
    uint8_t* row = to + i * depth;
    for (int64_t k = 0; k < rows.depth; ++k) row[k] = from[k * rows.step] ^ flip;
    std::fill(row + rows.depth, row + depth, uint8_t{0});
  }
}

}  // namespace weft::cpu
