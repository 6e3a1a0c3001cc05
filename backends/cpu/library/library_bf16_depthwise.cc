// Depthwise convolutions of bf16 with constant weights, and maxima of windows of bf16, by
// bf16_depthwise_tile.h.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/bf16_depthwise_tile.h"
#include "backends/cpu/library/byte_taps.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

constexpr uint16_t kLowest = 0xff80;  // -infinity as bf16.
// Rows of a share.
constexpr int64_t kShareRows = 64;

struct Bf16DepthwiseShape {
  ByteRows x;  // In elements.
  ByteWindow window;
  std::vector<int64_t> y_dims;
  int64_t y_row = 0;
  int64_t channels = 0;
  bool is_maximum = false;
  bool has_bias = false;
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

class Bf16DepthwiseCall : public LibraryCall {
 public:
  // `weights`: [taps, channels]; none for maxima.
  Bf16DepthwiseCall(Bf16DepthwiseShape shape, std::vector<uint16_t> weights, std::vector<int> slots,
                    int threads)
      : shape_(std::move(shape)),
        slots_(std::move(slots)),
        threads_(threads),
        table_(Avx512Bf16Depthwise()),
        taps_(shape_.x, shape_.window, shape_.y_dims, 0),
        zeros_(shape_.channels, shape_.is_maximum ? kLowest : uint16_t{0}) {
    const int64_t whole = AlignUp(shape_.channels, kBf16DepthwiseBlock);
    bias_.resize(whole);
    if (!shape_.is_maximum) {
      weights_.resize(whole * AlignUp(taps_.taps(), 2));
      table_.pack({weights.data(), taps_.taps(), shape_.channels, weights_.data()});
    }
    for (const int64_t d : shape_.y_dims) rows_ *= d;
    own_bytes_ = AlignUp(kShareRows * taps_.taps() * 8, kCacheLine);
    own_at_ = scratch_.Place(2 * own_bytes_ * threads);
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string name() const override {
    return shape_.is_maximum ? "bf16_maximum" : "bf16_depthwise";
  }

  absl::Status Run(const CallMemory& memory) override {
    if (shape_.has_bias) {
      table_.pack_bias(static_cast<const uint16_t*>(memory.args[slots_[kDnnBias]]), shape_.channels,
                       bias_.data());
    }
    Bf16DepthwisePanel panel;
    panel.x = static_cast<const uint16_t*>(memory.args[slots_[kDnnSource]]);
    panel.taps = taps_.taps();
    panel.zeros = zeros_.data();
    panel.channels = shape_.channels;
    panel.weights = weights_.data();
    panel.bias = bias_.data();
    panel.least = shape_.least;
    panel.most = shape_.most;
    panel.y_row = shape_.y_row;
    char* const own = static_cast<char*>(memory.scratch) + own_at_;
    const int64_t shares = (rows_ + kShareRows - 1) / kShareRows;
    ForEachNext(threads_, shares, [&](int64_t s, const TeamMember& member) {
      char* const mine = own + 2 * own_bytes_ * member.index;
      auto* const offsets = reinterpret_cast<int64_t*>(mine);
      Bf16DepthwisePanel part = panel;
      const int64_t row = s * kShareRows;
      part.rows = std::min(kShareRows, rows_ - row);
      taps_.Fill(row, part.rows, offsets);
      part.offsets = offsets;
      part.pointers = reinterpret_cast<const uint16_t**>(mine + own_bytes_);
      part.y = static_cast<uint16_t*>(memory.result) + row * part.y_row;
      shape_.is_maximum ? table_.run_maximum(part) : table_.run(part);
    });
    return absl::OkStatus();
  }

 private:
  const Bf16DepthwiseShape shape_;
  const std::vector<int> slots_;
  const int threads_;
  const Bf16DepthwiseTable& table_;
  const ByteTaps taps_;
  const std::vector<uint16_t> zeros_;
  std::vector<uint16_t> weights_;
  std::vector<float> bias_;
  int64_t rows_ = 1;
  ScratchPlan scratch_;
  int64_t own_at_ = 0;
  int64_t own_bytes_ = 0;
};

// The same with windows of three by three, a line of results at a time.
class Bf16DepthwiseLinesCall : public LibraryCall {
 public:
  // `weights`: [3, 3, channels].
  Bf16DepthwiseLinesCall(Bf16DepthwiseShape shape, const std::vector<uint16_t>& weights,
                         std::vector<int> slots, int threads)
      : shape_(std::move(shape)),
        slots_(std::move(slots)),
        threads_(threads),
        zeros_(shape_.channels),
        bias_(AlignUp(shape_.channels, kBf16DepthwiseBlock)),
        weights_(bias_.size() * kTaps) {
    Pack(weights);
    ChooseShares();
  }

  int64_t scratch_bytes() const override { return 0; }
  std::string name() const override { return "bf16_depthwise"; }

  static bool Takes(const ByteWindow& w) {
    return w.kernel == std::vector<int64_t>{kSize, kSize} &&
           w.dilation == std::vector<int64_t>{1, 1} && w.stride[1] <= 2;
  }

  absl::Status Run(const CallMemory& memory) override {
    if (shape_.has_bias) {
      table_.pack_bias(static_cast<const uint16_t*>(memory.args[slots_[kDnnBias]]), shape_.channels,
                       bias_.data());
    }
    Bf16DepthwiseLine line;
    line.width = shape_.x.dims[2];
    line.before = shape_.window.before[1];
    line.stride = shape_.window.stride[1];
    line.results = shape_.y_dims[2];
    line.weights = weights_.data();
    line.bias = bias_.data();
    line.least = shape_.least;
    line.most = shape_.most;
    line.y_row = shape_.y_row;
    const auto* const x = static_cast<const uint16_t*>(memory.args[slots_[kDnnSource]]);
    auto* const y = static_cast<uint16_t*>(memory.result);
    const int64_t lines = shape_.y_dims[0] * shape_.y_dims[1];
    ForEachNext(threads_, lines * splits_, [&](int64_t item, const TeamMember&) {
      Bf16DepthwiseLine part = line;
      FindLines(x, item % lines, &part);
      part.first = item / lines * split_channels_;
      part.end = std::min(shape_.channels, part.first + split_channels_);
      part.y = y + item % lines * line.results * line.y_row;
      table_.run_line(part);
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kSize = Bf16DepthwiseLine::kSize;
  static constexpr int64_t kTaps = kSize * 4;  // With those of zeros.

  void Pack(const std::vector<uint16_t>& given) {
    std::vector<uint16_t> columns(kTaps * shape_.channels);
    for (int64_t column = 0; column < kSize; ++column) {
      for (int64_t line = 0; line < kSize; ++line) {
        std::copy_n(given.begin() + (line * kSize + column) * shape_.channels, shape_.channels,
                    columns.begin() + (column * 4 + line) * shape_.channels);
      }
    }
    table_.pack({columns.data(), kTaps, shape_.channels, weights_.data()});
  }

  // Where lines are few, threads take some of the channels, as in matmuls of few rows.
  void ChooseShares() {
    constexpr int64_t kItemsOfThread = 8;
    const int64_t lines = shape_.y_dims[0] * shape_.y_dims[1];
    const int64_t blocks = static_cast<int64_t>(bias_.size()) / kBf16DepthwiseBlock;
    const int64_t wanted = (kItemsOfThread * threads_ + lines - 1) / lines;
    const int64_t splits =
        threads_ == 1 || wanted == 1 ? 1 : std::min(blocks, AlignUp(wanted, threads_));
    const int64_t of_split = (blocks + splits - 1) / splits;
    split_channels_ = of_split * kBf16DepthwiseBlock;
    splits_ = (blocks + of_split - 1) / of_split;
  }

  // The lines of x that result line `index` reads.
  void FindLines(const uint16_t* x, int64_t index, Bf16DepthwiseLine* line) const {
    const ByteRows& rows = shape_.x;
    const int64_t image = index / shape_.y_dims[1];
    const int64_t first =
        index % shape_.y_dims[1] * shape_.window.stride[0] - shape_.window.before[0];
    for (int64_t k = 0; k < kSize; ++k) {
      const bool inside = first + k >= 0 && first + k < rows.dims[1];
      line->x[k] =
          inside ? x + image * rows.strides[0] + (first + k) * rows.strides[1] : zeros_.data();
      line->step[k] = inside ? rows.strides[2] : 0;
    }
  }

  const Bf16DepthwiseShape shape_;
  const std::vector<int> slots_;
  const int threads_;
  const Bf16DepthwiseTable& table_ = Avx512Bf16Depthwise();
  const std::vector<uint16_t> zeros_;
  std::vector<float> bias_;
  std::vector<uint16_t> weights_;
  int64_t splits_ = 1;
  int64_t split_channels_ = 0;
};

bool IsDepthwise(const DnnConvolution& c) {
  const size_t rank = c.x.dims.size();
  return c.weights.dims.size() == rank + 1 && c.weights.dims[1] == 1 && c.weights.dims[2] == 1 &&
         c.weights.dims[0] == c.x.dims[1];
}

bool AllBf16(const DnnConvolution& c) {
  return c.x.dtype == DType::kBF16 && c.weights.dtype == DType::kBF16 &&
         c.y.dtype == DType::kBF16 && (c.bias.dims.empty() || c.bias.dtype == DType::kBF16);
}

// The clamp that a single function is; false for others.
bool IsClamp(const std::vector<DnnPostOp>& post_ops, Bf16DepthwiseShape* shape) {
  if (post_ops.empty()) return true;
  const DnnPostOp& op = post_ops[0];
  if (post_ops.size() > 1) return false;
  if (op.function == DnnFunction::kRelu && op.alpha == 0) {
    shape->least = 0;
    return true;
  }
  if (op.function != DnnFunction::kClip) return false;
  shape->least = op.alpha;
  shape->most = op.beta;
  return true;
}

// False for channels that lie apart, and results in no rows.
bool DescribeImages(const DnnTensor& x, const DnnTensor& y, Bf16DepthwiseShape* shape) {
  shape->channels = shape->x.depth = x.dims[1];
  std::vector<int64_t> y_strides;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d == 1) continue;
    shape->x.dims.push_back(x.dims[d]);
    shape->x.strides.push_back(x.strides[d]);
    shape->y_dims.push_back(y.dims[d]);
    y_strides.push_back(y.strides[d]);
  }
  return x.strides[1] == 1 && y.strides[1] == 1 &&
         IsOneLoop(shape->y_dims, y_strides, &shape->y_row);
}

// As [taps, channels].
std::vector<uint16_t> WeightsOf(const DnnConvolution& c, const uint16_t* data) {
  const size_t first = 3;  // Groups, and two dims of size 1.
  int64_t taps = 1;
  for (size_t d = first; d < c.weights.dims.size(); ++d) taps *= c.weights.dims[d];
  std::vector<uint16_t> weights;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t left = tap;
    int64_t offset = 0;
    for (size_t d = c.weights.dims.size(); d-- > first;) {
      offset += left % c.weights.dims[d] * c.weights.strides[d];
      left /= c.weights.dims[d];
    }
    for (int64_t k = 0; k < c.weights.dims[0]; ++k) {
      weights.push_back(data[offset + k * c.weights.strides[0]]);
    }
  }
  return weights;
}

}  // namespace

LibraryCallOr MakeBf16DepthwiseCall(const DnnConvolution& c, const std::vector<int>& slots,
                                    const DnnConstant& constant, const LibraryContext& context) {
  const auto none = [] { return absl::UnimplementedError("such a depthwise convolution"); };
  if (!HasBf16Kernels(context) || constant.data == nullptr || c.transposed || !IsDepthwise(c) ||
      !AllBf16(c)) {
    return none();
  }
  Bf16DepthwiseShape shape;
  if (!IsClamp(c.post_ops, &shape) || !DescribeImages(c.x, c.y, &shape)) return none();
  shape.has_bias = !c.bias.dims.empty();
  shape.window = {
      {c.weights.dims.begin() + 3, c.weights.dims.end()}, c.stride, c.dilation, c.before};
  std::vector<uint16_t> weights = WeightsOf(c, static_cast<const uint16_t*>(constant.data));
  if (Bf16DepthwiseLinesCall::Takes(shape.window)) {
    return std::make_unique<Bf16DepthwiseLinesCall>(std::move(shape), weights, slots,
                                                    context.threads);
  }
  return std::make_unique<Bf16DepthwiseCall>(std::move(shape), std::move(weights), slots,
                                             context.threads);
}

LibraryCallOr MakeBf16MaximumCall(const DnnPooling& p, const LibraryContext& context) {
  Bf16DepthwiseShape shape;
  if (!HasBf16Kernels(context) || p.x.dtype != DType::kBF16 || !DescribeImages(p.x, p.y, &shape)) {
    return absl::UnimplementedError("such maxima");
  }
  shape.is_maximum = true;
  shape.window = {p.kernel, p.stride, std::vector<int64_t>(p.kernel.size(), 1), p.before};
  return std::make_unique<Bf16DepthwiseCall>(std::move(shape), std::vector<uint16_t>(),
                                             std::vector<int>{0, -1, -1, -1}, context.threads);
}

}  // namespace weft::cpu
