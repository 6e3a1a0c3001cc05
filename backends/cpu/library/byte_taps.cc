#include "backends/cpu/library/byte_taps.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {

bool ByteRows::IsReadInPlace() const {
  return step == 1 &&
         std::none_of(strides.begin(), strides.end(), [](int64_t stride) { return stride < 0; });
}

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
  FindRowStride();
}

void ByteTaps::FindRowStride() {
  const auto all = [](const std::vector<int64_t>& numbers, int64_t n) {
    return std::all_of(numbers.begin(), numbers.end(), [n](int64_t k) { return k == n; });
  };
  if (taps_ != 1 || !all(window_.stride, 1) || !all(window_.before, 0) || x_.dims != y_dims_) {
    return;
  }
  int64_t stride = 0;
  if (copied_depth_ > 0) {
    row_stride_ = copied_depth_;
  } else if (IsOneLoop(x_.dims, x_.strides, &stride)) {
    row_stride_ = stride;
  }
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
    tap_places_.resize((tap + 1) * image_dims());
    for (size_t d = w.kernel.size(); d-- > 0;) {
      const int64_t place = left % w.kernel[d] * w.dilation[d];
      tap_places_[tap * image_dims() + static_cast<int64_t>(d)] = place;
      offset += place * point_strides_[d + 1];
      left /= w.kernel[d];
    }
    tap_offsets_.push_back(offset);
  }
}

void ByteTaps::Fill(int64_t row, int64_t rows, int64_t* offsets) const {
  if (row_stride_ >= 0) {
    for (int64_t i = 0; i < rows; ++i) offsets[i] = (row + i) * row_stride_;
    return;
  }
  if (window_.kernel.empty()) {
    for (int64_t i = 0; i < rows; ++i) {
      offsets[i] = copied_depth_ > 0 ? (row + i) * copied_depth_ : x_.OffsetOf(row + i);
    }
    return;
  }
  while (rows > 0) {
    Line line = LineAt(row);
    line.results = std::min(line.results, rows);
    FillLine(line, offsets);
    row += line.results;
    rows -= line.results;
    offsets += line.results * taps_;
  }
}

ByteTaps::Line ByteTaps::LineAt(int64_t row) const {
  const ByteWindow& w = window_;
  const size_t last = w.kernel.size() - 1;
  Line line;
  line.results = y_dims_[last + 1] - row % y_dims_[last + 1];
  for (size_t d = w.kernel.size(); d-- > 0;) {
    const int64_t size = y_dims_[d + 1];
    const int64_t first = row % size * w.stride[d] - w.before[d];
    row /= size;
    line.base += first * point_strides_[d + 1];
    line.first[d] = first;
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d];
    if (d < last) line.inner = line.inner && first >= 0 && first + reach < x_.dims[d + 1];
  }
  line.base += row * point_strides_[0];
  return line;
}

namespace {

// to[i] = from[i] + number
void AddToAll(const int64_t* from, int64_t count, int64_t number, int64_t* to) {
  const __m128i numbers = _mm_set1_epi64x(number);
  int64_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_add_epi64(two, numbers));
  }
  if (i < count) to[i] = from[i] + number;
}

}  // namespace

// The taps of an inner result lie at fixed distances from its first one.
void ByteTaps::FillLine(Line line, int64_t* __restrict offsets) const {
  const ByteWindow& w = window_;
  const size_t last = w.kernel.size() - 1;
  const int64_t inner_end = x_.dims[last + 1] - (w.kernel[last] - 1) * w.dilation[last];
  const int64_t step = w.stride[last] * point_strides_[last + 1];
  const int64_t* taps = tap_offsets_.data();
  const int64_t count = taps_;
  int64_t base = line.base;
  for (int64_t i = 0; i < line.results; ++i) {
    const int64_t place = line.first[last];
    if (line.inner && place >= 0 && place < inner_end) {
      AddToAll(taps, count, base, offsets);
    } else {
      for (int64_t tap = 0; tap < count; ++tap) {
        offsets[tap] = IsInside(line.first, tap) ? base + taps[tap] : kNoRow;
      }
    }
    line.first[last] = place + w.stride[last];
    base += step;
    offsets += count;
  }
}

void ByteTaps::FillLines(int64_t row, int64_t* offsets) const {
  const ByteWindow& w = window_;
  const size_t last = w.kernel.size() - 1;
  const Line line = LineAt(row);
  const int64_t base = line.base - line.first[last] * point_strides_[last + 1];
  for (int64_t i = 0; i < lines(); ++i) {
    int64_t left = i;
    int64_t offset = base;
    for (size_t d = last; d-- > 0;) {
      const int64_t tap = left % w.kernel[d] * w.dilation[d];
      const int64_t place = line.first[d] + tap;
      left /= w.kernel[d];
      if (place < 0 || place >= x_.dims[d + 1]) {
        offset = kNoRow;
        break;
      }
      offset += tap * point_strides_[d + 1];
    }
    offsets[i] = offset;
  }
}

bool ByteTaps::IsInside(const int64_t* first, int64_t tap) const {
  const int64_t* places = tap_places_.data() + tap * image_dims();
  for (int64_t d = 0; d < image_dims(); ++d) {
    const int64_t place = first[d] + places[d];
    if (place < 0 || place >= x_.dims[d + 1]) return false;
  }
  return true;
}

namespace {

// Rows of three elements that lie beside those of the next row, as rows of four.
void CopyThrees(const uint8_t* x, int64_t count, int64_t step, uint8_t flip, uint8_t* to) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto load = [&](const uint8_t* from) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), flips);
  };
  constexpr int64_t kStep = 16;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const __m128i a = load(x + i);
    const __m128i b = load(x + step + i);
    const __m128i c = load(x + 2 * step + i);
    const __m128i none = _mm_setzero_si128();
    const __m128i pairs[] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
    const __m128i ends[] = {_mm_unpacklo_epi8(c, none), _mm_unpackhi_epi8(c, none)};
    auto* place = reinterpret_cast<__m128i*>(to + i * 4);
    for (int k = 0; k < 2; ++k) {
      _mm_storeu_si128(place + 2 * k, _mm_unpacklo_epi16(pairs[k], ends[k]));
      _mm_storeu_si128(place + 2 * k + 1, _mm_unpackhi_epi16(pairs[k], ends[k]));
    }
  }
  for (; i < count; ++i) {
    for (int64_t k = 0; k < 3; ++k) to[i * 4 + k] = x[k * step + i] ^ flip;
    to[i * 4 + 3] = 0;
  }
}

// Copies `count` rows that lie `stride` apart.
void CopyLine(const uint8_t* x, int64_t count, int64_t stride, const ByteRows& rows,
              const RowCopy& copy, uint8_t* to) {
  const int64_t depth = copy.depth;
  std::memset(to, copy.padding, copy.left * depth);
  std::memset(to + (copy.left + count) * depth, copy.padding, copy.right * depth);
  to += copy.left * depth;
  if (stride == 1 && depth == 4 && rows.depth == 3) {
    return CopyThrees(x, count, rows.step, copy.flip, to);
  }
  if (depth > rows.depth) std::memset(to, 0, count * depth);
  if (stride == 1) {
    // Element by element: each lies beside that of the next row.
    for (int64_t k = 0; k < rows.depth; ++k) {
      const uint8_t* from = x + k * rows.step;
      for (int64_t i = 0; i < count; ++i) to[i * depth + k] = from[i] ^ copy.flip;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* from = x + i * stride;
      for (int64_t k = 0; k < rows.depth; ++k) {
        to[i * depth + k] = from[k * rows.step] ^ copy.flip;
      }
    }
  }
}

}  // namespace

void CopyRows(const uint8_t* x, const ByteRows& rows, const RowCopy& copy, int threads,
              uint8_t* to) {
  const int64_t line = rows.dims.empty() ? 1 : rows.dims.back();
  const int64_t stride = rows.dims.empty() ? 0 : rows.strides.back();
  if (line == 0) return;
  const int64_t lines = rows.rows() / line;
  const int64_t line_bytes = (copy.left + line + copy.right) * copy.depth;
  ForEach(lines * line_bytes > 1 << 14 ? threads : 1, lines, [&](int64_t i, const TeamMember&) {
    CopyLine(x + rows.OffsetOf(i * line), line, stride, rows, copy, to + i * line_bytes);
  });
}

}  // namespace weft::cpu
