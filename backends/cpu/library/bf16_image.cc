#include "backends/cpu/library/bf16_image.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/cpu/kernels/bf16_gemm_tile.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

// With more channels a tap is long enough.
constexpr int64_t kMostChannels = 8;

// Weights [columns, channels, lines, run] as [columns, lines, run, point].
template <typename T>
void Rearrange(const T* from, const DnnTensor& w, int64_t point, T* to) {
  for (int64_t column = 0; column < w.dims[0]; ++column) {
    for (int64_t line = 0; line < w.dims[2]; ++line) {
      for (int64_t tap = 0; tap < w.dims[3]; ++tap, to += point) {
        const T* at = from + column * w.strides[0] + line * w.strides[2] + tap * w.strides[3];
        for (int64_t c = 0; c < w.dims[1]; ++c) to[c] = at[c * w.strides[1]];
      }
    }
  }
}

std::function<const void*()> LoadRearranged(const void* data, const DnnTensor& w, int64_t point) {
  const int64_t bytes = w.dtype == DType::kF32 ? 4 : 2;
  const int64_t size = w.dims[0] * w.dims[2] * w.dims[3] * point * bytes;
  return [=, memory = std::make_shared<std::vector<uint64_t>>()]() -> const void* {
    memory->assign(AlignUp(size, 8) / 8, 0);
    if (bytes == 4) {
      Rearrange(static_cast<const float*>(data), w, point,
                reinterpret_cast<float*>(memory->data()));
    } else {
      Rearrange(static_cast<const uint16_t*>(data), w, point,
                reinterpret_cast<uint16_t*>(memory->data()));
    }
    return memory->data();
  };
}

}  // namespace

absl::StatusOr<Bf16Image> JoinTaps(DnnConvolution* c, DnnConstant* constant) {
  DnnTensor& x = c->x;
  DnnTensor& w = c->weights;
  if (x.dims.size() != 4 || w.dims.size() != 4 || constant->data == nullptr) {
    return absl::UnimplementedError("no image");
  }
  const int64_t run = w.dims[3];
  if (x.dims[1] > kMostChannels || run == 1 || c->dilation[1] != 1) {
    return absl::UnimplementedError("no run of few channels");
  }
  Bf16Image image;
  image.dtype = x.dtype;
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t h = 0; h < x.dims[2]; ++h) {
      image.lines.push_back(n * x.strides[0] + h * x.strides[2]);
    }
  }
  image.width = x.dims[3];
  image.stride = x.strides[3];
  image.step = x.strides[1];
  image.channels = x.dims[1];
  image.point = AlignUp(image.channels, kBf16Pair);
  if (image.channels == 3) image.point = 4;
  image.left = c->before[1];
  const int64_t end = (c->y.dims[3] - 1) * c->stride[1] + run;
  image.right = std::max<int64_t>(0, end - image.left - image.width);

  constant->load = LoadRearranged(constant->data, w, image.point);
  constant->data = nullptr;
  const int64_t depth = run * image.point;
  const int64_t line = image.line_elements();
  w.strides = {w.dims[2] * depth, 1, depth, 1};
  w.dims = {w.dims[0], depth, w.dims[2], 1};
  x.strides = {x.dims[2] * line, 1, line, image.point};
  x.dims = {x.dims[0], depth, x.dims[2], image.left + image.width + image.right};
  c->before[1] = 0;
  return image;
}

void CopyImage(const Bf16Image& image, const void* x, int threads, uint16_t* to) {
  const auto n = static_cast<int64_t>(image.lines.size());
  const int64_t bytes = image.dtype == DType::kF32 ? 4 : 2;
  ForEach(threads, n, [&](int64_t i, const TeamMember&) {
    uint16_t* const line = to + i * image.line_elements();
    uint16_t* const behind = line + (image.left + image.width) * image.point;
    std::fill(line, line + image.left * image.point, uint16_t{0});
    std::fill(behind, behind + image.right * image.point, uint16_t{0});
    Bf16Points points;
    points.from = static_cast<const char*>(x) + image.lines[i] * bytes;
    points.wide = bytes == 4;
    points.count = image.width;
    points.stride = image.stride;
    points.step = image.step;
    points.channels = image.channels;
    points.point = image.point;
    points.to = line + image.left * image.point;
    Avx512Bf16Gemm().copy_points(points);
  });
}

}  // namespace weft::cpu
