// Images and matrices of bytes as rows, and where the rows that a result reads lie.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_BYTE_TAPS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_BYTE_TAPS_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/threads/parallel.h"
#include "backends/runtime/run_view.h"

namespace weft::cpu {

// Rows of elements: one for each index of `dims`, in row-major order, of `depth` elements each.
struct ByteRows {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t depth = 0;
  int64_t step = 1;  // From element to element of a row.

  int64_t rows() const;
  // Elements lie side by side, and no row lies before the first one: offsets below 0 stand for
  // padding (ByteTaps).
  bool IsReadInPlace() const;
  // The element at which row `index` begins.
  int64_t OffsetOf(int64_t index) const;
};

// The rows of a matmul operand, or of its result: all dims but the last.
ByteRows RowsOf(const RunView& view);
// The points of an image, or of the result of a convolution: all dims but the channels.
ByteRows PointsOf(const RunView& view);

// Where the taps of a result lie: the row of x at index `at * stride + tap * dilation - before` of
// each dim of the image, which dim 0 (the batch) precedes. Empty vectors: a matmul.
struct ByteWindow {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> before;

  int64_t taps() const;
};

class ByteTaps {
 public:
  static constexpr int64_t kNoRow = -1;
  static constexpr int kMaxDims = 8;  // Of an image.

  // `copied_depth`: bytes from row to row of a copy of x, which is read instead; 0: x itself.
  ByteTaps(ByteRows x, ByteWindow window, std::vector<int64_t> y_dims, int64_t copied_depth);

  int64_t taps() const { return taps_; }
  // From result to result, if each reads one row and these lie at equal distances; else below 0.
  int64_t row_stride() const { return row_stride_; }
  // Offsets of the taps of results [row, row + rows), kNoRow for padding.
  void Fill(int64_t row, int64_t rows, int64_t* offsets) const;

  // The taps of a window in another order: lines of them along the last dim.
  int64_t lines() const { return taps_ / window_.kernel.back(); }
  // Bytes from point to point along the last dim.
  int64_t point_stride() const { return point_strides_.back(); }
  // For the results of the line that begins at `row`: offsets of the first point of the line of x
  // that each line of taps reads, kNoRow for padding.
  void FillLines(int64_t row, int64_t* offsets) const;

 private:
  // Results that lie one behind the other along the last dim.
  struct Line {
    int64_t first[kMaxDims] = {};  // Where the first one's window begins in each dim.
    int64_t base = 0;              // Its offset.
    bool inner = true;             // The window is inside of x in all dims but the last.
    int64_t results = 0;
  };

  void FindStrides(int64_t copied_depth);
  void FindRowStride();
  Line LineAt(int64_t row) const;
  void FillLine(Line line, int64_t* __restrict offsets) const;
  bool IsInside(const int64_t* first, int64_t tap) const;
  int64_t image_dims() const { return static_cast<int64_t>(window_.kernel.size()); }

  const ByteRows x_;
  const ByteWindow window_;
  const std::vector<int64_t> y_dims_;
  const int64_t copied_depth_;
  const int64_t taps_;
  // From point to point of x along each dim, and from the first tap of a window to each.
  std::vector<int64_t> point_strides_;
  std::vector<int64_t> tap_offsets_;
  // The same in points along each dim of the image, [taps, dims].
  std::vector<int64_t> tap_places_;
  int64_t row_stride_ = -1;
};

// How rows are copied one behind the other.
struct RowCopy {
  int64_t depth = 0;  // Bytes of a row of the copy; those behind the row's own are zeros.
  uint8_t flip = 0;   // Every byte is changed by an exclusive or with it.
  // Rows of `padding`, as a byte of the copy, before and behind each line of rows along the last
  // dim.
  int64_t left = 0;
  int64_t right = 0;
  uint8_t padding = 0;
};
void CopyRows(const uint8_t* x, const ByteRows& rows, const RowCopy& copy, int threads,
              uint8_t* to);

// Copies rows that lie one behind the other to their places.
template <typename T>
void CopyOut(const T* from, const ByteRows& rows, int threads, T* y) {
  const int64_t n = rows.rows();
  ForEach(n * rows.depth > 1 << 14 ? threads : 1, n, [&](int64_t i, const TeamMember&) {
    T* to = y + rows.OffsetOf(i);
    for (int64_t j = 0; j < rows.depth; ++j) to[j * rows.step] = from[i * rows.depth + j];
  });
}

// The same for elements of 1 or 4 bytes.
inline void CopyOut(const char* from, const ByteRows& rows, int64_t bytes, int threads, void* y) {
  if (bytes == 1) {
    CopyOut(from, rows, threads, static_cast<char*>(y));
  } else {
    CopyOut(reinterpret_cast<const int32_t*>(from), rows, threads, static_cast<int32_t*>(y));
  }
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_BYTE_TAPS_H_
