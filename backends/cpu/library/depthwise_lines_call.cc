#include "backends/cpu/library/depthwise_lines_call.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// Results of a share, in whole lines.
constexpr int64_t kShareResults = 64;

// Groups of the rows of a window with so many columns.
int64_t GroupsOf(int64_t columns) { return AlignUp(columns, kDepthwiseGroup) / kDepthwiseGroup; }

class DepthwiseLinesCall : public LibraryCall {
 public:
  DepthwiseLinesCall(const IntegerGemmShape& shape, std::vector<int8_t> weights,
                     std::vector<int32_t> sums, const DepthwiseLineTable& table, int threads,
                     bool has_zero_point)
      : shape_(shape),
        table_(table),
        threads_(threads),
        has_zero_point_(has_zero_point),
        channels_(shape_.x.depth),
        whole_(AlignUp(channels_, table.block)),
        width_(shape_.y.dims.back()),
        lines_(shape_.y.rows() / width_),
        copies_x_(!shape_.x.IsReadInPlace()),
        taps_(shape_.x, shape_.window, shape_.y.dims, copies_x_ ? channels_ : 0),
        groups_(GroupsOf(shape_.window.kernel.back())),
        weights_(std::move(weights)),
        sums_(std::move(sums)) {
    copies_y_ = shape_.y.step != 1 || !IsOneLoop(shape_.y.dims, shape_.y.strides, &y_row_);
    if (copies_y_) y_row_ = channels_;
    if (shape_.finish) y_bytes_ = ResultBytes(shape_.finish->finish.result);
    for (int64_t place = 0; place < whole_; place += 4) {
      order_.push_back(table.channel(place, channels_));
    }
    Reserve();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string name() const override { return "depthwise_integers"; }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    char* scratch = static_cast<char*>(memory.scratch);
    const uint8_t zero = has_zero_point_ ? *static_cast<const uint8_t*>(memory.args[2]) : 0;
    DepthwiseLine line;
    auto* padding = reinterpret_cast<uint8_t*>(scratch + padding_at_);
    std::fill(padding, padding + whole_, zero);
    line.padding = padding;
    line.x = static_cast<const uint8_t*>(memory.args[0]);
    if (copies_x_) {
      auto* copy = reinterpret_cast<uint8_t*>(scratch + x_at_);
      RowCopy rows;
      rows.depth = channels_;
      CopyRows(line.x, shape_.x, rows, threads_, copy);
      line.x = copy;
    }
    FillStart(memory, zero, scratch);
    line.start = reinterpret_cast<const int32_t*>(scratch + start_at_);
    if (shape_.finish) ReadFinish(memory, scratch, &line);
    auto* y = static_cast<char*>(copies_y_ ? scratch + y_at_ : memory.result);
    RunShares(line, y, scratch + own_at_);
    if (copies_y_) CopyOut(y, shape_.y, y_bytes_, threads_, memory.result);
    return absl::OkStatus();
  }

 private:
  void Reserve() {
    padding_at_ = scratch_.Place(whole_);
    start_at_ = scratch_.Place(whole_ * 4);
    if (shape_.finish) {
      finish_at_ = scratch_.Place(FoundFinish::ScratchFloats(whole_) * 4);
      ordered_at_ = scratch_.Place(2 * whole_ * 4);
    }
    natural_at_ = scratch_.Place(whole_ * 4);
    if (copies_x_) x_at_ = scratch_.Place(shape_.x.rows() * channels_);
    if (copies_y_) y_at_ = scratch_.Place(lines_ * width_ * channels_ * y_bytes_);
    // Each thread has sums, pointers and lines.
    pointers_at_ = AlignUp(kDepthwiseResults * whole_ * 4, kCacheLine);
    lines_at_ = pointers_at_ + AlignUp(table_.max_pointers * 8, kCacheLine);
    own_bytes_ = lines_at_ + AlignUp(groups_ * kDepthwiseGroup * 8, kCacheLine);
    own_at_ = scratch_.Place(own_bytes_ * threads_);
  }

  // Elements of the channels in the order of the kernel; channels that do not exist have zeros.
  // Four at a time stay together.
  template <typename T>
  void Order(const T* from, T* to) const {
    for (int64_t place = 0; place < whole_; place += 4, to += 4) {
      const int64_t channel = order_[place / 4];
      if (channel + 4 <= channels_) {
        std::memcpy(to, from + channel, 4 * sizeof(T));
        continue;
      }
      for (int64_t k = 0; k < 4; ++k) to[k] = channel + k < channels_ ? from[channel + k] : T{0};
    }
  }

  void FillStart(const CallMemory& memory, uint8_t zero, char* scratch) const {
    auto* start = reinterpret_cast<int32_t*>(scratch + natural_at_);
    for (int64_t c = 0; c < channels_; ++c) {
      start[c] = static_cast<int32_t>(0u - zero * static_cast<uint32_t>(sums_[c]));
    }
    if (shape_.finish) shape_.finish->AddTo(memory.args, channels_, start);
    Order(start, reinterpret_cast<int32_t*>(scratch + start_at_));
  }

  void ReadFinish(const CallMemory& memory, char* scratch, DepthwiseLine* line) const {
    IntegerFinish& finish = line->finish;
    finish = shape_.finish->Read(memory.args, channels_, whole_,
                                 reinterpret_cast<float*>(scratch + finish_at_));
    const bool plain = finish.unit.fits && y_bytes_ == 1 && finish.middles == 0 &&
                       finish.addend_kind == IntegerResult::kI32;
    if (!plain) return;
    auto* ordered = reinterpret_cast<float*>(scratch + ordered_at_);
    Order(finish.scale, ordered);
    Order(finish.bias, ordered + whole_);
    line->scale = ordered;
    line->bias = ordered + whole_;
  }

  void RunShares(const DepthwiseLine& given, char* y, char* own) const {
    const int64_t share = std::max<int64_t>(1, kShareResults / width_);
    const int64_t shares = (lines_ + share - 1) / share;
    const ByteWindow& window = shape_.window;
    ForEachNext(threads_, shares, [&](int64_t s, const TeamMember& member) {
      char* mine = own + member.index * own_bytes_;
      auto* lines = reinterpret_cast<int64_t*>(mine + lines_at_);
      std::fill_n(lines, groups_ * kDepthwiseGroup, ByteTaps::kNoRow);
      DepthwiseLine line = given;
      line.lines = lines;
      line.rows = taps_.lines();
      line.columns = static_cast<int>(window.kernel.back());
      line.stride = static_cast<int>(window.stride.back());
      line.point = taps_.point_stride();
      line.width = shape_.x.dims.back();
      line.first = -window.before.back();
      line.results = width_;
      line.channels = channels_;
      line.weights = weights_.data();
      line.y_row = y_row_;
      line.sums = reinterpret_cast<int32_t*>(mine);
      line.pointers = reinterpret_cast<const uint8_t**>(mine + pointers_at_);
      for (int64_t l = s * share; l < std::min(lines_, (s + 1) * share); ++l) {
        const int64_t at = l * width_ * y_row_;
        taps_.FillLines(l * width_, lines);
        line.finish = FinishAt(given.finish, at, 0);
        line.y = y + at * y_bytes_;
        table_.run(line);
      }
    });
  }

  const IntegerGemmShape shape_;
  const DepthwiseLineTable& table_;
  const int threads_;
  const bool has_zero_point_;
  const int64_t channels_;
  const int64_t whole_;  // Whole blocks of channels.
  const int64_t width_;  // Results of a line.
  const int64_t lines_;
  const bool copies_x_;
  const ByteTaps taps_;
  const int64_t groups_;
  const std::vector<int8_t> weights_;
  const std::vector<int32_t> sums_;  // Of the weights of each channel.
  std::vector<int64_t> order_;       // The channel of every fourth place.
  bool copies_y_ = false;
  int64_t y_row_ = 0;
  int64_t y_bytes_ = 4;  // Of an element.
  // Places in scratch.
  ScratchPlan scratch_;
  int64_t padding_at_ = 0;
  int64_t start_at_ = 0;
  int64_t natural_at_ = 0;
  int64_t finish_at_ = 0;
  int64_t ordered_at_ = 0;
  int64_t x_at_ = 0;
  int64_t y_at_ = 0;
  int64_t own_at_ = 0;
  // In the part of a thread.
  int64_t own_bytes_ = 0;
  int64_t pointers_at_ = 0;
  int64_t lines_at_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> MakeDepthwiseLinesCall(
    const IntegerGemmShape& shape, const IntegerWeightView& weights,
    const DepthwiseLineTable& table, int threads, bool has_zero_point) {
  const ByteWindow& window = shape.window;
  const int64_t columns = window.kernel.back();
  const int64_t stride = window.stride.back();
  const int64_t lines = window.taps() / columns;
  const bool fits = (columns == 3 || columns == 5) && lines <= columns &&
                    (stride == 1 || stride == 2) && window.dilation.back() == 1;
  if (shape.is_signed || !fits) {
    return absl::UnimplementedError("a window that is not read along lines");
  }
  // [blocks, groups of rows, columns, places of a block, 4]
  const int64_t channels = shape.x.depth;
  const int64_t whole = AlignUp(channels, table.block);
  const int64_t groups = GroupsOf(columns);
  std::vector<int8_t> packed(whole * groups * columns * 4, 0);
  std::vector<int32_t> sums(channels, 0);
  for (int64_t place = 0; place < whole; ++place) {
    const int64_t channel = table.channel(place, channels);
    if (channel >= channels) continue;
    sums[channel] = 0;
    for (int64_t tap = 0; tap < window.taps(); ++tap) {
      const int32_t w = weights.At(channel, tap, 0);
      if (w < -128 || w > 127) return absl::UnimplementedError("weights that do not fit in i8");
      sums[channel] += w;
      const int64_t row = tap / columns;
      const int64_t at =
          (place / table.block * groups + row / kDepthwiseGroup) * columns + tap % columns;
      packed[(at * table.block + place % table.block) * 4 + row % kDepthwiseGroup] =
          static_cast<int8_t>(w);
    }
  }
  return std::make_unique<DepthwiseLinesCall>(shape, std::move(packed), std::move(sums), table,
                                              threads, has_zero_point);
}

}  // namespace weft::cpu
