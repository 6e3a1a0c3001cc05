#include "backends/cpu/library/plain_convolution.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/integer_line.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// Results of a line that are added up together.
constexpr int64_t kResults = 64;
// Products that are worth a second thread.
constexpr int64_t kShare = 1 << 15;

// A dim of the window.
struct WindowDim {
  int64_t results = 1, pixels = 1, taps = 1;  // Sizes.
  int64_t stride = 1, dilation = 1, before = 0;
  int64_t y = 0, x = 0, weight = 0;  // Strides in memory.

  // The results of [first, first + count) whose pixel for the tap exists.
  std::pair<int64_t, int64_t> Inside(int64_t tap, int64_t first, int64_t count) const {
    const int64_t shift = before - tap * dilation;  // The result's pixel is i * stride - shift.
    const auto at_least = [&](int64_t pixel) {
      const int64_t place = pixel + shift;
      return place <= 0 ? 0 : (place + stride - 1) / stride;
    };
    const int64_t end = std::min(at_least(pixels), first + count);
    return {std::min(std::max(at_least(0), first), end), end};
  }
};

struct PlainConvolution {
  int64_t batches = 0, channels = 0;  // Of the result.
  int64_t depth = 0;                  // Channels of a group of x.
  int64_t group_channels = 0;         // Channels of a group of the result.
  int64_t y_batch = 0, y_channel = 0, x_batch = 0, x_channel = 0, w_channel = 0, w_depth = 0;
  WindowDim line;                // The dim with most results.
  std::vector<WindowDim> outer;  // The others.
  AddLineFn add = nullptr;
};

class PlainConvolutionCall : public LibraryCall {
 public:
  PlainConvolutionCall(PlainConvolution convolution, int threads) : c_(std::move(convolution)) {
    for (const WindowDim& d : c_.outer) lines_ *= d.results;
    parts_ = (c_.line.results + kResults - 1) / kResults;
    int64_t products = c_.depth * c_.line.taps;
    for (const WindowDim& d : c_.outer) products *= d.taps;
    threads_ = tasks() * kResults > kShare / std::max<int64_t>(products, 1) ? threads : 1;
  }

  int64_t scratch_bytes() const override { return 0; }
  std::string name() const override { return "plain_integers"; }
  bool narrows_integers() const override { return false; }

  absl::Status Run(const CallMemory& memory) override {
    const auto* x = static_cast<const int32_t*>(memory.args[0]);
    const auto* w = static_cast<const int32_t*>(memory.args[1]);
    auto* y = static_cast<int32_t*>(memory.result);
    ForEach(threads_, tasks(), [&](int64_t task, const TeamMember&) {
      const int64_t part = task % parts_;
      const int64_t line = task / parts_ % lines_;
      const int64_t channel = task / parts_ / lines_ % c_.channels;
      const int64_t batch = task / parts_ / lines_ / c_.channels;
      RunPart(x + batch * c_.x_batch + channel / c_.group_channels * c_.depth * c_.x_channel,
              w + channel * c_.w_channel, line, part * kResults,
              y + batch * c_.y_batch + channel * c_.y_channel);
    });
    return absl::OkStatus();
  }

 private:
  int64_t tasks() const { return c_.batches * c_.channels * lines_ * parts_; }

  // Results [first, first + kResults) of a line. `x` and `w` are those of a group and of a channel.
  void RunPart(const int32_t* x, const int32_t* w, int64_t line, int64_t first, int32_t* y) const {
    int32_t sums[kResults] = {};
    const int64_t count = std::min(kResults, c_.line.results - first);
    AddTaps(c_.outer.size(), x, w, line, first, count, sums);
    for (size_t d = c_.outer.size(); d-- > 0; line /= c_.outer[d].results) {
      y += line % c_.outer[d].results * c_.outer[d].y;
    }
    for (int64_t i = 0; i < count; ++i) y[(first + i) * c_.line.y] = sums[i];
  }

  // Adds the taps of the first `dims` of the outer dims, of which `line` counts the results.
  void AddTaps(size_t dims, const int32_t* x, const int32_t* w, int64_t line, int64_t first,
               int64_t count, int32_t* sums) const {
    if (dims == 0) return AddLines(x, w, first, count, sums);
    const WindowDim& d = c_.outer[dims - 1];
    const int64_t start = line % d.results * d.stride - d.before;
    for (int64_t tap = 0; tap < d.taps; ++tap) {
      const int64_t pixel = start + tap * d.dilation;
      if (pixel < 0 || pixel >= d.pixels) continue;
      AddTaps(dims - 1, x + pixel * d.x, w + tap * d.weight, line / d.results, first, count, sums);
    }
  }

  void AddLines(const int32_t* x, const int32_t* w, int64_t first, int64_t count,
                int32_t* sums) const {
    const WindowDim& d = c_.line;
    for (int64_t tap = 0; tap < d.taps; ++tap) {
      const auto [begin, end] = d.Inside(tap, first, count);
      if (begin >= end) continue;
      const int64_t pixel = begin * d.stride + tap * d.dilation - d.before;
      for (int64_t k = 0; k < c_.depth; ++k) {
        c_.add(x + k * c_.x_channel + pixel * d.x, d.stride * d.x,
               w[k * c_.w_depth + tap * d.weight], end - begin, sums + (begin - first));
      }
    }
  }

  const PlainConvolution c_;
  int64_t lines_ = 1;  // Lines of a channel.
  int64_t parts_ = 1;  // Parts of a line.
  int threads_ = 1;
};

}  // namespace

LibraryCallOr MakePlainConvolutionCall(const LibraryStep& step, const LibraryContext& context) {
  const ConvolutionAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& w = step.args[1];
  const RunView& y = step.result;
  const int64_t groups = attrs.groups().value();
  const auto sizes = static_cast<size_t>(y.rank()) - 2;
  const bool fits = x.rank() == y.rank() && w.rank() == y.rank() && x.dims[0] == y.dims[0] &&
                    w.dims[0] == y.dims[1] && groups > 0 && x.dims[1] == groups * w.dims[1] &&
                    y.dims[1] % groups == 0 && attrs.stride().size() == sizes &&
                    attrs.dilation().size() == sizes && attrs.padding().size() >= sizes;
  const bool integers = x.dtype == DType::kI32 && w.dtype == DType::kI32 && y.dtype == DType::kI32;
  const auto positive = [](absl::Span<const SymInt> numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](SymInt n) { return n.value() > 0; });
  };
  if (attrs.transposed() || !positive(attrs.stride()) || !positive(attrs.dilation()) ||
      step.args[2].present() || !step.epilogue.empty() || !fits || !integers || y.numel() == 0) {
    return absl::UnimplementedError("such a convolution of integers");
  }
  PlainConvolution c;
  c.batches = y.dims[0];
  c.channels = y.dims[1];
  c.depth = w.dims[1];
  c.group_channels = c.channels / groups;
  c.y_batch = y.strides[0];
  c.y_channel = y.strides[1];
  c.x_batch = x.strides[0];
  c.x_channel = x.strides[1];
  c.w_channel = w.strides[0];
  c.w_depth = w.strides[1];
  for (size_t i = 0; i < sizes; ++i) {
    WindowDim d;
    d.results = y.dims[i + 2];
    d.pixels = x.dims[i + 2];
    d.taps = w.dims[i + 2];
    d.stride = attrs.stride()[i].value();
    d.dilation = attrs.dilation()[i].value();
    d.before = attrs.padding()[i].value();
    d.y = y.strides[i + 2];
    d.x = x.strides[i + 2];
    d.weight = w.strides[i + 2];
    c.outer.push_back(d);
  }
  const auto most = std::max_element(
      c.outer.begin(), c.outer.end(),
      [](const WindowDim& a, const WindowDim& b) { return a.results < b.results; });
  c.line = *most;
  c.outer.erase(most);
  c.add = ForIsa(context.isa, Avx512AddLine, Avx2AddLine);
  return std::make_unique<PlainConvolutionCall>(std::move(c), context.threads);
}

}  // namespace weft::cpu
