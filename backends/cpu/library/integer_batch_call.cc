#include "backends/cpu/library/integer_batch_call.h"

#include <emmintrin.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/cpu/library/integer_gemm_call.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Where the matrices of a batch begin, in elements.
std::vector<int64_t> MatrixOffsets(const ByteRows& rows) {
  const ByteRows batch = {{rows.dims.begin(), rows.dims.end() - 1},
                          {rows.strides.begin(), rows.strides.end() - 1}};
  std::vector<int64_t> offsets(batch.rows());
  for (size_t b = 0; b < offsets.size(); ++b) offsets[b] = batch.OffsetOf(static_cast<int64_t>(b));
  return offsets;
}

// The sum of `n` bytes; it wraps.
uint32_t SumOf(const uint8_t* bytes, int64_t n) {
  constexpr int64_t kStep = 16;
  __m128i sums = _mm_setzero_si128();
  int64_t k = 0;
  for (; k + kStep <= n; k += kStep) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + k));
    sums = _mm_add_epi64(sums, _mm_sad_epu8(some, _mm_setzero_si128()));
  }
  sums = _mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums));
  auto sum = static_cast<uint32_t>(_mm_cvtsi128_si32(sums));
  for (; k < n; ++k) sum += bytes[k];
  return sum;
}

// As bytes that are multiplied have it: u8 for the first operand, i8 for the second.
uint8_t ZeroPointOf(const void* zero_point, uint8_t flip) {
  const uint8_t given =
      zero_point == nullptr ? uint8_t{0} : *static_cast<const uint8_t*>(zero_point);
  return given ^ flip;
}

class IntegerBatchCall : public LibraryCall {
 public:
  IntegerBatchCall(IntegerBatch batch, const IntegerGemmTable& table, int threads)
      : b_(std::move(batch)),
        table_(table),
        threads_(threads),
        rows_(b_.x.dims.back()),
        columns_(b_.w.depth),
        depth_(b_.x.depth),
        whole_depth_(AlignUp(depth_, kIntegerGroup)),
        taps_(table.saturates ? 2 : 1),
        panel_columns_(table.lanes * table.vectors),
        panels_((columns_ + panel_columns_ - 1) / panel_columns_),
        w_at_(MatrixOffsets(b_.w)) {
    // Copied: i8, elements with gaps, rows whose last group would read beyond the tensor, and those
    // that lie before the first one, since offsets below 0 stand for padding.
    copies_x_ = b_.x_signed || b_.x.step != 1 || whole_depth_ != depth_ || b_.x.strides.back() < 0;
    copies_y_ = b_.y.step != 1;
    x_row_ = copies_x_ ? whole_depth_ : b_.x.strides.back();
    y_row_ = copies_y_ ? columns_ : b_.y.strides.back();
    x_at_ = copies_x_ ? Dense(rows_ * whole_depth_) : MatrixOffsets(b_.x);
    y_at_ = copies_y_ ? Dense(rows_ * columns_) : MatrixOffsets(b_.y);
    if (b_.finish) y_bytes_ = ResultBytes(b_.finish->finish.result);
    Reserve();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string name() const override { return "integer_batch"; }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    char* scratch = static_cast<char*>(memory.scratch);
    Job job;
    job.x = static_cast<const uint8_t*>(memory.args[0]);
    job.w = static_cast<const uint8_t*>(memory.args[1]);
    job.x_zero = ZeroPointOf(memory.args[2], b_.x_signed ? 0x80 : 0);
    job.w_zero = static_cast<int8_t>(ZeroPointOf(memory.args[3], WeightFlip()));
    if (b_.several_zero_points) {
      job.w_zeros = ReadZeroPoints(static_cast<const uint8_t*>(memory.args[3]),
                                   reinterpret_cast<int8_t*>(scratch + zeros_at_));
    }
    if (copies_x_) {
      auto* copy = reinterpret_cast<uint8_t*>(scratch + x_copy_at_);
      RowCopy rows;
      rows.depth = whole_depth_;
      rows.flip = b_.x_signed ? 0x80 : 0;
      CopyRows(job.x, b_.x, rows, threads_, copy);
      job.x = copy;
    }
    job.y = copies_y_ ? scratch + y_copy_at_ : static_cast<char*>(memory.result);
    auto* bias = reinterpret_cast<int32_t*>(scratch + bias_at_);
    std::fill(bias, bias + columns_, 0);
    job.bias = bias;
    if (b_.finish) {
      b_.finish->AddTo(memory.args, columns_, bias);
      job.finish = b_.finish->Read(memory.args, columns_, panels_ * panel_columns_,
                                   reinterpret_cast<float*>(scratch + finish_at_));
    }
    const auto matrices = static_cast<int64_t>(y_at_.size());
    ForEachNext(threads_, matrices * panels_, [&](int64_t item, const TeamMember& member) {
      RunPanel(job, item / panels_, item % panels_ * panel_columns_,
               scratch + own_at_ + member.index * own_.bytes());
    });
    if (copies_y_) CopyOut(job.y, b_.y, y_bytes_, threads_, memory.result);
    return absl::OkStatus();
  }

 private:
  // What a run reads and writes.
  struct Job {
    const uint8_t* x = nullptr;
    const uint8_t* w = nullptr;
    uint8_t x_zero = 0;
    int8_t w_zero = 0;
    const int8_t* w_zeros = nullptr;  // Of the columns, if there are several.
    const int32_t* bias = nullptr;    // Added to the sums of each column.
    IntegerFinish finish;
    char* y = nullptr;
  };

  uint8_t WeightFlip() const { return b_.w_signed ? 0 : 0x80; }

  const int8_t* ReadZeroPoints(const uint8_t* from, int8_t* zeros) const {
    for (int64_t j = 0; j < columns_; ++j) {
      zeros[j] = static_cast<int8_t>(from[j * b_.zero_stride] ^ WeightFlip());
    }
    return zeros;
  }

  std::vector<int64_t> Dense(int64_t matrix) const {
    std::vector<int64_t> offsets(w_at_.size());
    for (size_t m = 0; m < offsets.size(); ++m) offsets[m] = static_cast<int64_t>(m) * matrix;
    return offsets;
  }

  void Reserve() {
    bias_at_ = scratch_.Place(columns_ * 4);
    if (b_.several_zero_points) zeros_at_ = scratch_.Place(columns_);
    if (b_.finish) {
      finish_at_ = scratch_.Place(FoundFinish::ScratchFloats(panels_ * panel_columns_) * 4);
    }
    if (copies_x_) x_copy_at_ = scratch_.Place(b_.x.rows() * whole_depth_);
    if (copies_y_) y_copy_at_ = scratch_.Place(b_.y.rows() * columns_ * y_bytes_);
    weights_at_ = own_.Place(taps_ * whole_depth_ * panel_columns_);
    sums_at_ = own_.Place(panel_columns_ * 4);
    start_at_ = own_.Place(panel_columns_ * 4);
    row_start_at_ = own_.Place(rows_ * 4);
    offsets_at_ = own_.Place(rows_ * taps_ * 8);
    own_at_ = scratch_.Place(own_.bytes() * threads_);
  }

  // `own`: scratch of the thread.
  void RunPanel(const Job& job, int64_t matrix, int64_t first, char* own) const {
    IntegerPanel panel;
    panel.x = job.x + x_at_[matrix];
    panel.taps = taps_;
    panel.depth = whole_depth_;
    panel.rows = rows_;
    panel.columns = std::min(panel_columns_, columns_ - first);
    panel.vectors = static_cast<int>((panel.columns + table_.lanes - 1) / table_.lanes);
    auto* weights = reinterpret_cast<int8_t*>(own + weights_at_);
    auto* sums = reinterpret_cast<int32_t*>(own + sums_at_);
    table_.pack({job.w + w_at_[matrix] + first * b_.w.step, WeightFlip(), b_.w.strides.back(),
                 b_.w.step, depth_, panel.columns, panel.vectors, weights, sums});
    panel.weights = weights;
    panel.start = StartOf(job, first, panel, sums, reinterpret_cast<int32_t*>(own + start_at_));
    auto* row_start = reinterpret_cast<int32_t*>(own + row_start_at_);
    if (job.w_zeros != nullptr) {
      SumRows(panel.x, 1, row_start);
    } else if (job.w_zero != 0) {
      SumRows(panel.x, job.w_zero, row_start);
      panel.row_start = row_start;
    }
    auto* offsets = reinterpret_cast<int64_t*>(own + offsets_at_);
    for (int64_t i = 0; i < rows_; ++i) std::fill_n(offsets + i * taps_, taps_, i * x_row_);
    panel.offsets = offsets;
    const int64_t at = y_at_[matrix] + first;
    panel.finish = FinishAt(job.finish, at, first);
    panel.y = job.y + at * y_bytes_;
    panel.y_row = y_row_;
    table_.run(panel);
    if (job.w_zeros != nullptr) {
      AddToRows(row_start, job.w_zeros + first, panel.columns, reinterpret_cast<int32_t*>(panel.y));
    }
  }

  // Adds to each row of a panel its number of `row_start` times the zero points of the columns.
  void AddToRows(const int32_t* row_start, const int8_t* zeros, int64_t columns, int32_t* y) const {
    for (int64_t i = 0; i < rows_; ++i) {
      const auto start = static_cast<uint32_t>(row_start[i]);
      int32_t* row = y + i * y_row_;
      for (int64_t j = 0; j < columns; ++j) {
        row[j] = static_cast<int32_t>(static_cast<uint32_t>(row[j]) +
                                      start * static_cast<uint32_t>(zeros[j]));
      }
    }
  }

  // (x - a) (w - b) = x w - a w - b x + a b, summed over the depth.
  const int32_t* StartOf(const Job& job, int64_t first, const IntegerPanel& panel,
                         const int32_t* sums, int32_t* start) const {
    const auto a = static_cast<uint32_t>(job.x_zero);
    for (int64_t j = 0; j < panel.vectors * table_.lanes; ++j) {
      const bool exists = j < panel.columns;
      const int8_t b = exists && job.w_zeros != nullptr ? job.w_zeros[first + j] : job.w_zero;
      const auto ab = a * static_cast<uint32_t>(b) * static_cast<uint32_t>(depth_);
      const auto bias = exists ? static_cast<uint32_t>(job.bias[first + j]) : 0u;
      start[j] = static_cast<int32_t>(bias + ab - a * static_cast<uint32_t>(sums[j]));
    }
    return start;
  }

  void SumRows(const uint8_t* x, int8_t w_zero, int32_t* row_start) const {
    for (int64_t i = 0; i < rows_; ++i) {
      const uint32_t sum = SumOf(x + i * x_row_, depth_);
      row_start[i] = static_cast<int32_t>(0u - sum * static_cast<uint32_t>(w_zero));
    }
  }

  const IntegerBatch b_;
  const IntegerGemmTable& table_;
  const int threads_;
  const int64_t rows_;
  const int64_t columns_;
  const int64_t depth_;
  const int64_t whole_depth_;  // Whole groups.
  const int64_t taps_;
  const int64_t panel_columns_;  // Of a whole panel.
  const int64_t panels_;
  // By matrix of the batch, in elements.
  const std::vector<int64_t> w_at_;
  std::vector<int64_t> x_at_;
  std::vector<int64_t> y_at_;
  int64_t x_row_ = 0;
  int64_t y_row_ = 0;
  bool copies_x_ = false;
  bool copies_y_ = false;
  int64_t y_bytes_ = 4;  // Of an element.
  // Places in scratch.
  ScratchPlan scratch_;
  int64_t bias_at_ = 0;
  int64_t zeros_at_ = 0;
  int64_t finish_at_ = 0;
  int64_t x_copy_at_ = 0;
  int64_t y_copy_at_ = 0;
  int64_t own_at_ = 0;
  // In the part of a thread.
  ScratchPlan own_;
  int64_t weights_at_ = 0;
  int64_t sums_at_ = 0;
  int64_t start_at_ = 0;
  int64_t row_start_at_ = 0;
  int64_t offsets_at_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> MakeIntegerBatchCall(IntegerBatch batch, const IntegerGemmTable& table,
                                                  int threads) {
  return std::make_unique<IntegerBatchCall>(std::move(batch), table, threads);
}

}  // namespace weft::cpu
