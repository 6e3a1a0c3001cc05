// Matmuls and convolutions of 8-bit integers in plain loops: what routines that cannot refuse fall
// back to.
#include <memory>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// Elements of an operand less their zero points.
class Bytes {
 public:
  Bytes(const RunView& view, const RunView& zero_point)
      : is_signed_(view.dtype == DType::kI8),
        zeros_(zero_point.present() ? zero_point.numel() : 0),
        zero_stride_(zero_point.rank() == 0 ? 0 : zero_point.strides[0]) {}

  void Set(const void* data, const void* zero_points) {
    data_ = static_cast<const uint8_t*>(data);
    zero_points_ = static_cast<const uint8_t*>(zero_points);
  }
  // `slice`: which zero point, if there are several.
  uint32_t At(int64_t offset, int64_t slice) const {
    const int32_t zero =
        zeros_ == 0 ? 0 : Wide(zero_points_[zeros_ == 1 ? 0 : slice * zero_stride_]);
    return static_cast<uint32_t>(Wide(data_[offset]) - zero);
  }

 private:
  int32_t Wide(uint8_t v) const { return is_signed_ ? static_cast<int8_t>(v) : v; }

  const bool is_signed_;
  const int64_t zeros_;
  const int64_t zero_stride_;
  const uint8_t* data_ = nullptr;
  const uint8_t* zero_points_ = nullptr;
};

class PlainQuantizedCall : public LibraryCall {
 public:
  PlainQuantizedCall(const LibraryStep& step, int threads)
      : step_(step),
        threads_(threads),
        x_(step.args[0], step.args[2]),
        w_(step.args[1], step.args[3]) {}

  int64_t scratch_bytes() const override { return 0; }
  std::string name() const override { return "plain_integers"; }
  bool narrows_integers() const override { return true; }

  absl::Status Run(const CallMemory& memory) override {
    x_.Set(memory.args[0], memory.args[2]);
    w_.Set(memory.args[1], memory.args[3]);
    const RunView& y = step_.result;
    const int64_t n = y.numel();
    auto* sums = static_cast<int32_t*>(memory.result);
    const bool matmul = step_.op == RoutineOp::kMatmulInteger;
    ForEach(n > 1 << 10 ? threads_ : 1, n, [&](int64_t i, const TeamMember&) {
      std::vector<int64_t> at(y.rank());
      int64_t offset = 0;
      int64_t left = i;
      for (int d = y.rank(); d-- > 0;) {
        at[d] = left % y.dims[d];
        left /= y.dims[d];
        offset += at[d] * y.strides[d];
      }
      sums[offset] = static_cast<int32_t>(matmul ? Product(at) : Window(at));
    });
    return absl::OkStatus();
  }

 private:
  // The offset of a batch of matrices, which broadcasts to the dims of the result before its last
  // `own`.
  int64_t BatchOffset(const RunView& view, int own, const std::vector<int64_t>& at) const {
    const int batch = view.rank() - 2;
    const int end = step_.result.rank() - own;
    int64_t offset = 0;
    for (int d = 0; d < batch; ++d) {
      if (view.dims[d] != 1) offset += at[end - batch + d] * view.strides[d];
    }
    return offset;
  }

  uint32_t Product(const std::vector<int64_t>& at) const {
    const RunView& x = step_.args[0];
    const RunView& w = step_.args[1];
    const int own = x.rank() == 1 ? 1 : 2;
    const int64_t column = at.back();
    int64_t from = 0;
    if (x.rank() > 1) from = BatchOffset(x, own, at) + at[at.size() - 2] * x.strides[x.rank() - 2];
    const int64_t to = BatchOffset(w, own, at) + column * w.strides[w.rank() - 1];
    uint32_t sum = 0;
    for (int64_t k = 0; k < x.dims.back(); ++k) {
      sum +=
          x_.At(from + k * x.strides.back(), 0) * w_.At(to + k * w.strides[w.rank() - 2], column);
    }
    return sum;
  }

  // Sums over the taps of the kernel, in row-major order, and the channels of a group.
  uint32_t Window(const std::vector<int64_t>& at) const {
    const RunView& x = step_.args[0];
    const RunView& w = step_.args[1];
    const ConvolutionAttrs attrs(step_.schema, step_.attrs);
    const bool transposed = attrs.transposed();
    const int64_t outputs = step_.result.dims[1] / attrs.groups().value();
    const int64_t inputs = x.dims[1] / attrs.groups().value();
    const int64_t group = at[1] / outputs;
    int64_t taps = 1;
    for (int d = 2; d < w.rank(); ++d) taps *= w.dims[d];
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t from = at[0] * x.strides[0];
      int64_t weight = 0;
      if (!FindTap(attrs, at, tap, &from, &weight)) continue;
      for (int64_t c = 0; c < inputs; ++c) {
        const int64_t slice = transposed ? group * inputs + c : at[1];
        const int64_t within = transposed ? at[1] % outputs : c;
        sum += x_.At(from + (group * inputs + c) * x.strides[1], 0) *
               w_.At(weight + slice * w.strides[0] + within * w.strides[1], slice);
      }
    }
    return sum;
  }

  // Adds the offsets of a tap; false if it lies outside of the image.
  bool FindTap(const ConvolutionAttrs& attrs, const std::vector<int64_t>& at, int64_t tap,
               int64_t* from, int64_t* weight) const {
    const RunView& x = step_.args[0];
    const RunView& w = step_.args[1];
    for (int d = w.rank(); d-- > 2;) {
      const int64_t k = tap % w.dims[d];
      tap /= w.dims[d];
      const int64_t stride = attrs.stride()[d - 2].value();
      const int64_t dilation = attrs.dilation()[d - 2].value();
      const int64_t before = attrs.padding()[d - 2].value();
      int64_t place = at[d] * stride + k * dilation - before;
      if (attrs.transposed()) {
        const int64_t steps = at[d] + before - k * dilation;
        if (steps < 0 || steps % stride != 0) return false;
        place = steps / stride;
      }
      if (place < 0 || place >= x.dims[d]) return false;
      *from += place * x.strides[d];
      *weight += k * w.strides[d];
    }
    return true;
  }

  const LibraryStep step_;
  const int threads_;
  Bytes x_;
  Bytes w_;
};

}  // namespace

std::unique_ptr<LibraryCall> MakePlainQuantizedCall(const LibraryStep& step, int threads) {
  return std::make_unique<PlainQuantizedCall>(step, threads);
}

}  // namespace weft::cpu
