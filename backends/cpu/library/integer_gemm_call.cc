#include "backends/cpu/library/integer_gemm_call.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// Rows of a share: their bytes stay in L2 while all panels pass. Short rows take less time, so more
// of them make a share.
constexpr int64_t kShareRows = 96;
constexpr int64_t kShareShortRows = 384;
constexpr int64_t kShortRow = 64;

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
        point_(AlignUp(shape_.x.depth, kIntegerGroup)),
        depth_(shape_.run > 0 ? shape_.run * point_ : point_) {
    // Copied: i8, elements with gaps, rows whose last group would read beyond the tensor, and those
    // that may lie before the first one, since offsets below 0 stand for padding.
    copies_x_ =
        shape_.is_signed || !shape_.x.IsReadInPlace() || depth_ != shape_.x.depth || shape_.run > 0;
    copies_y_ = shape_.y.step != 1 || !IsOneLoop(shape_.y.dims, shape_.y.strides, &y_row_);
    if (copies_y_) y_row_ = shape_.y.depth;
    if (shape_.finish) y_bytes_ = ResultBytes(shape_.finish->finish.result);
    ByteRows read = shape_.x;
    if (shape_.run > 0) read.dims.back() += shape_.left + shape_.right;
    copied_rows_ = read.rows();
    taps_.emplace(std::move(read), shape_.window, shape_.y.dims, copies_x_ ? point_ : 0);
    share_rows_ = taps_->taps() * depth_ <= kShortRow ? kShareShortRows : kShareRows;
    if (taps_->row_stride() >= 0) {
      offsets_.resize(share_rows_);
      taps_->Fill(0, share_rows_, offsets_.data());
    }
    Reserve();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
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
      CopyRows(x, shape_.x,
               {point_, static_cast<uint8_t>(shape_.is_signed ? 0x80 : 0), shape_.left,
                shape_.right, zero_point},
               threads_, copy);
      x = copy;
    }
    auto* y = static_cast<char*>(copies_y_ ? scratch + y_at_ : memory.result);
    IntegerPanel panel;
    panel.x = x;
    panel.taps = taps_->taps();
    panel.depth = depth_;
    panel.padding = padding;
    panel.pads_zeros = zero_point == 0;
    panel.y_row = y_row_;
    if (shape_.finish) {
      shape_.finish->AddTo(memory.args, weights_.view.columns, start);
      panel.finish = shape_.finish->Read(memory.args, weights_.view.columns, columns_,
                                         reinterpret_cast<float*>(scratch + finish_at_));
    }
    RunShares(panel, start, y, reinterpret_cast<int64_t*>(scratch + offsets_at_));
    if (copies_y_) CopyOut(y, shape_.y, y_bytes_, threads_, memory.result);
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
    padding_at_ = scratch_.Place(depth_);
    start_at_ = scratch_.Place(columns_ * 4);
    if (offsets_.empty()) {
      offsets_at_ = scratch_.Place(threads_ * share_rows_ * taps_->taps() * 8);
    }
    if (copies_x_) x_at_ = scratch_.Place(copied_rows_ * point_);
    if (copies_y_) y_at_ = scratch_.Place(rows_ * y_row_ * y_bytes_);
    if (shape_.finish) finish_at_ = scratch_.Place(FoundFinish::ScratchFloats(columns_) * 4);
  }

  // As a u8: 128 is added to i8 and to its zero point.
  uint8_t ZeroPoint(const CallMemory& memory) const {
    const uint8_t given =
        has_zero_point_ ? *static_cast<const uint8_t*>(memory.args[2]) : uint8_t{0};
    return shape_.is_signed ? given ^ 0x80 : given;
  }

  // Threads take shares of the rows and, where those are few, of the panels.
  void RunShares(const IntegerPanel& panel, const int32_t* start, char* y, int64_t* offsets) const {
    const int64_t shares = (rows_ + share_rows_ - 1) / share_rows_;
    const int64_t panels = static_cast<int64_t>(packed_->panels.size());
    const int64_t splits = shares >= 2 * threads_ ? 1 : std::min<int64_t>(panels, 2 * threads_);
    ForEachNext(threads_, shares * splits, [&](int64_t item, const TeamMember& member) {
      const int64_t s = item / splits, p = item % splits;
      const int64_t row = s * share_rows_;
      IntegerPanel part = panel;
      part.rows = std::min(share_rows_, rows_ - row);
      if (offsets_.empty()) {
        int64_t* own = offsets + member.index * share_rows_ * taps_->taps();
        taps_->Fill(row, part.rows, own);
        part.offsets = own;
      } else {
        part.x += row * taps_->row_stride();
        part.offsets = offsets_.data();
      }
      for (int64_t i = panels * p / splits; i < panels * (p + 1) / splits; ++i) {
        const PackedIntegerPanel& columns = packed_->panels[i];
        packed_->Describe(columns, &part);
        DescribeNext(i, s == 0, &part);
        part.start = start + columns.first;
        const int64_t at = row * y_row_ + columns.first;
        part.y = y + at * y_bytes_;
        part.finish = FinishAt(panel.finish, at, columns.first);
        table_.run(part);
      }
    });
  }

  // The weights of the panel behind panel `i`, which only the first rows find outside of L2.
  void DescribeNext(int64_t i, bool first, IntegerPanel* part) const {
    part->next = nullptr;
    part->next_bytes = 0;
    if (!first || i + 1 >= static_cast<int64_t>(packed_->panels.size())) return;
    const PackedIntegerPanel& next = packed_->panels[i + 1];
    part->next = packed_->weights(next);
    part->next_bytes = taps_->taps() * AlignUp(depth_, kIntegerGroup) * next.vectors * table_.lanes;
  }

  const IntegerGemmShape shape_;
  IntegerOperand weights_;
  std::shared_ptr<const PackedIntegers> packed_;
  const IntegerGemmTable& table_;
  const int threads_;
  const bool has_zero_point_;
  const int64_t columns_;  // Up to a whole vector.
  const int64_t rows_;
  const int64_t point_;  // Bytes of a point of x, in whole groups.
  const int64_t depth_;  // Of a tap.
  int64_t share_rows_ = 0;
  int64_t copied_rows_ = 0;
  std::optional<ByteTaps> taps_;
  // Offsets of the rows of a share, where all shares have the same; else they are filled in each
  // run.
  std::vector<int64_t> offsets_;
  bool copies_x_ = false;
  bool copies_y_ = false;
  int64_t y_row_ = 0;
  int64_t y_bytes_ = 4;  // Of an element.
  // Places in scratch.
  ScratchPlan scratch_;
  int64_t padding_at_ = 0;
  int64_t start_at_ = 0;
  int64_t offsets_at_ = 0;
  int64_t x_at_ = 0;
  int64_t y_at_ = 0;
  int64_t finish_at_ = 0;
};

}  // namespace

IntegerFinish FinishAt(IntegerFinish finish, int64_t result, int64_t column) {
  if (finish.result == IntegerResult::kI32) return finish;
  finish.scale += column;
  finish.bias += column;
  for (IntegerFinish::Middle& middle : finish.middle) {
    if (middle.late_bias != nullptr) middle.late_bias += column;
  }
  if (finish.addend != nullptr) {
    finish.addend =
        static_cast<const char*>(finish.addend) + result * ResultBytes(finish.addend_kind);
  }
  return finish;
}

std::unique_ptr<LibraryCall> MakeIntegerPanelCall(IntegerGemmShape shape, IntegerOperand weights,
                                                  const IntegerGemmTable& table, int threads,
                                                  bool has_zero_point) {
  return std::make_unique<IntegerGemmCall>(std::move(shape), std::move(weights), table, threads,
                                           has_zero_point);
}

}  // namespace weft::cpu
