#include "backends/cpu/library/depthwise_call.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Rows of a share.
constexpr int64_t kShareRows = 64;

class DepthwiseCall : public LibraryCall {
 public:
  DepthwiseCall(IntegerGemmShape shape, const IntegerWeightView& weights,
                const DepthwiseTable& table, int threads, bool has_zero_point)
      : shape_(std::move(shape)),
        table_(table),
        threads_(threads),
        has_zero_point_(has_zero_point),
        channels_(shape_.x.depth),
        whole_(AlignUp(channels_, table.block)),
        rows_(shape_.y.rows()),
        copies_x_(!shape_.x.IsReadInPlace()),
        taps_(shape_.x, shape_.window, shape_.y.dims, copies_x_ ? channels_ : 0) {
    copies_y_ = shape_.y.step != 1 || !IsOneLoop(shape_.y.dims, shape_.y.strides, &y_row_);
    if (copies_y_) y_row_ = channels_;
    if (shape_.finish) y_bytes_ = ResultBytes(shape_.finish->finish.result);
    Pack(weights);
    Reserve();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string name() const override { return "depthwise_integers"; }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    char* scratch = static_cast<char*>(memory.scratch);
    const uint8_t zero = has_zero_point_ ? *static_cast<const uint8_t*>(memory.args[2]) : 0;
    DepthwisePanel panel;
    auto* padding = reinterpret_cast<uint8_t*>(scratch + padding_at_);
    std::fill(padding, padding + whole_, zero);
    auto* start = reinterpret_cast<int32_t*>(scratch + start_at_);
    FillStart(shape_.is_signed ? static_cast<int8_t>(zero) : zero, start);
    panel.x = static_cast<const uint8_t*>(memory.args[0]);
    if (copies_x_) {
      auto* copy = reinterpret_cast<uint8_t*>(scratch + x_at_);
      RowCopy rows;
      rows.depth = channels_;
      CopyRows(panel.x, shape_.x, rows, threads_, copy);
      panel.x = copy;
    }
    if (shape_.finish) {
      shape_.finish->AddTo(memory.args, channels_, start);
      panel.finish = shape_.finish->Read(memory.args, channels_, whole_,
                                         reinterpret_cast<float*>(scratch + finish_at_));
    }
    panel.padding = padding;
    panel.start = start;
    auto* y = static_cast<char*>(copies_y_ ? scratch + y_at_ : memory.result);
    RunShares(panel, y, scratch + own_at_);
    if (copies_y_) CopyOut(y, shape_.y, y_bytes_, threads_, memory.result);
    return absl::OkStatus();
  }

 private:
  void Pack(const IntegerWeightView& view) {
    const int64_t taps = taps_.taps();
    std::vector<int16_t> centered(taps * channels_);
    sums_.assign(whole_, 0);
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < channels_; ++c) {
        const int32_t w = view.At(c, t, 0);
        centered[t * channels_ + c] = static_cast<int16_t>(w);
        sums_[c] += w;
      }
    }
    weights_.resize(whole_ * AlignUp(taps, 2));
    table_.pack({centered.data(), taps, channels_, weights_.data()});
  }

  void Reserve() {
    padding_at_ = scratch_.Place(whole_);
    start_at_ = scratch_.Place(whole_ * 4);
    if (shape_.finish) finish_at_ = scratch_.Place(FoundFinish::ScratchFloats(whole_) * 4);
    if (copies_x_) x_at_ = scratch_.Place(shape_.x.rows() * channels_);
    if (copies_y_) y_at_ = scratch_.Place(rows_ * channels_ * y_bytes_);
    // Of each thread: sums, pointers, offsets.
    const int64_t taps = taps_.taps();
    pointers_at_ = AlignUp(kDepthwiseRows * whole_ * 4, kCacheLine);
    offsets_at_ = pointers_at_ + AlignUp((taps + 1) * 8, kCacheLine);
    own_bytes_ = offsets_at_ + AlignUp(kShareRows * taps * 8, kCacheLine);
    own_at_ = scratch_.Place(own_bytes_ * threads_);
  }

  void FillStart(int32_t zero_point, int32_t* start) const {
    for (int64_t c = 0; c < whole_; ++c) {
      start[c] = static_cast<int32_t>(0u - static_cast<uint32_t>(zero_point) *
                                               static_cast<uint32_t>(sums_[c]));
    }
  }

  void RunShares(const DepthwisePanel& panel, char* y, char* own) const {
    const int64_t shares = (rows_ + kShareRows - 1) / kShareRows;
    ForEachNext(threads_, shares, [&](int64_t s, const TeamMember& member) {
      char* mine = own + member.index * own_bytes_;
      auto* offsets = reinterpret_cast<int64_t*>(mine + offsets_at_);
      const int64_t row = s * kShareRows;
      DepthwisePanel part = panel;
      part.is_signed = shape_.is_signed;
      part.offsets = offsets;
      part.taps = taps_.taps();
      part.rows = std::min(kShareRows, rows_ - row);
      part.channels = channels_;
      part.weights = weights_.data();
      part.finish = FinishAt(panel.finish, row * y_row_, 0);
      part.y = y + row * y_row_ * y_bytes_;
      part.y_row = y_row_;
      part.sums = reinterpret_cast<int32_t*>(mine);
      part.pointers = reinterpret_cast<const uint8_t**>(mine + pointers_at_);
      taps_.Fill(row, part.rows, offsets);
      table_.run(part);
    });
  }

  const IntegerGemmShape shape_;
  const DepthwiseTable& table_;
  const int threads_;
  const bool has_zero_point_;
  const int64_t channels_;
  const int64_t whole_;  // Whole blocks of channels.
  const int64_t rows_;
  const bool copies_x_;
  const ByteTaps taps_;
  bool copies_y_ = false;
  int64_t y_row_ = 0;
  int64_t y_bytes_ = 4;  // Of an element.
  std::vector<int16_t> weights_;
  std::vector<int32_t> sums_;  // Of the weights of each channel.
  // Places in scratch.
  ScratchPlan scratch_;
  int64_t padding_at_ = 0;
  int64_t start_at_ = 0;
  int64_t finish_at_ = 0;
  int64_t x_at_ = 0;
  int64_t y_at_ = 0;
  int64_t own_at_ = 0;
  // In the part of a thread.
  int64_t own_bytes_ = 0;
  int64_t pointers_at_ = 0;
  int64_t offsets_at_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> MakeDepthwiseCall(IntegerGemmShape shape,
                                               const IntegerWeightView& weights,
                                               const DepthwiseTable& table, int threads,
                                               bool has_zero_point) {
  return std::make_unique<DepthwiseCall>(std::move(shape), weights, table, threads, has_zero_point);
}

}  // namespace weft::cpu
