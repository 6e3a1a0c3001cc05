// grid_sampler: the taps of some points are found once and used for all channels.
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/sample_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"

namespace weft::cpu {
namespace {

struct GridSamplerShape {
  SampleRule rule;
  const SampleTable* table = nullptr;
  int64_t batches = 0;
  int64_t channels = 0;
  int64_t points = 0;         // Of a batch.
  std::vector<int64_t> dims;  // Of the points.
  int64_t x_batch = 0, x_channel = 0;
  int64_t y_batch = 0, y_channel = 0, y_point = 0;
  std::vector<int64_t> grid;  // All strides.
};

int64_t TapsOf(const SampleRule& rule) {
  const int64_t each = rule.mode == SampleMode::kNearest    ? 1
                       : rule.mode == SampleMode::kBilinear ? 2
                                                            : 4;
  int64_t taps = 1;
  for (int a = 0; a < rule.axes; ++a) taps *= each;
  return taps;
}

class GridSamplerCall : public LibraryCall {
 public:
  GridSamplerCall(GridSamplerShape shape, int threads)
      : s_(std::move(shape)), taps_(TapsOf(s_.rule)), threads_(threads) {}

  std::string name() const override { return "grid_sampler"; }
  int64_t scratch_bytes() const override { return threads_ * TileFloats() * 4; }

  absl::Status Run(const CallMemory& memory) override {
    const int64_t blocks = (s_.points + kSamplePoints - 1) / kSamplePoints;
    const int64_t items = s_.batches * blocks;
    const int threads = static_cast<int>(std::min<int64_t>(threads_, items));
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      float* tile = static_cast<float*>(memory.scratch) + omp_get_thread_num() * TileFloats();
#pragma omp for schedule(static)
      for (int64_t item = 0; item < items; ++item) {
        RunBlock(memory, item / blocks, item % blocks * kSamplePoints, tile);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Offsets, weights, flags and coordinates.
  int64_t TileFloats() const { return kSamplePoints * (3 * taps_ + kMostSampleAxes); }

  // Those of points [first, first + count) of a batch; zeros follow.
  void LoadCoordinates(const float* grid, int64_t first, int64_t count, float* to) const {
    const int n = s_.rule.axes;
    std::fill(to, to + kMostSampleAxes * kSamplePoints, 0.0f);
    int64_t at[kMostSampleAxes];
    int64_t rest = first;
    for (int d = n; d-- > 0;) {
      at[d] = rest % s_.dims[d];
      rest /= s_.dims[d];
    }
    for (int64_t i = 0; i < count; ++i) {
      const float* from = grid;
      for (int d = 0; d < n; ++d) from += at[d] * s_.grid[d + 1];
      // The grid lists coordinates from the innermost axis to the outermost.
      for (int d = 0; d < n; ++d) to[d * kSamplePoints + i] = from[(n - 1 - d) * s_.grid[n + 1]];
      for (int d = n; d-- > 0 && ++at[d] == s_.dims[d];) at[d] = 0;
    }
  }

  void RunBlock(const CallMemory& memory, int64_t batch, int64_t first, float* tile) const {
    const int64_t size = taps_ * kSamplePoints;
    int32_t* offsets = reinterpret_cast<int32_t*>(tile);
    int32_t* inside = offsets + size;
    float* weights = tile + 2 * size;
    float* coordinates = weights + size;
    const int64_t count = std::min(kSamplePoints, s_.points - first);
    LoadCoordinates(static_cast<const float*>(memory.args[1]) + batch * s_.grid[0], first, count,
                    coordinates);
    const bool all = s_.table->find(s_.rule, coordinates, offsets, weights, inside);
    const SampleTaps taps = {taps_, kSamplePoints, offsets, weights, all ? nullptr : inside};
    const float* x = static_cast<const float*>(memory.args[0]) + batch * s_.x_batch;
    float* y = static_cast<float*>(memory.result) + batch * s_.y_batch + first * s_.y_point;
    for (int64_t c = 0; c < s_.channels; ++c) {
      s_.table->gather(x + c * s_.x_channel, taps, count, y + c * s_.y_channel, s_.y_point);
    }
  }

  const GridSamplerShape s_;
  const int64_t taps_;
  const int threads_;
};

SampleRule RuleOf(const LibraryStep& step) {
  const GridSamplerAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  SampleRule rule;
  rule.mode = attrs.mode() == "nearest"    ? SampleMode::kNearest
              : attrs.mode() == "bilinear" ? SampleMode::kBilinear
                                           : SampleMode::kBicubic;
  rule.padding = attrs.padding_mode() == "zeros"    ? SamplePadding::kZeros
                 : attrs.padding_mode() == "border" ? SamplePadding::kBorder
                                                    : SamplePadding::kReflection;
  rule.align_corners = attrs.align_corners();
  rule.axes = x.rank() - 2;
  for (int a = 0; a < rule.axes; ++a) {
    rule.sizes[a] = x.dims[a + 2];
    rule.strides[a] = x.strides[a + 2];
  }
  return rule;
}

// Offsets within a plane of x fit in 32 bits.
bool HasSmallPlanes(const RunView& x) {
  int64_t last = 0;
  for (int d = 2; d < x.rank(); ++d) {
    const int64_t stride = std::abs(x.strides[d]);
    if (stride > std::numeric_limits<int32_t>::max() / x.dims[d]) return false;
    last += (x.dims[d] - 1) * stride;
  }
  return last <= std::numeric_limits<int32_t>::max();
}

// A plan from a file may have other sizes.
bool FitTogether(const RunView& x, const RunView& grid, const RunView& y) {
  if (grid.rank() != x.rank() || y.rank() != x.rank()) return false;
  bool fit = y.dims[0] == x.dims[0] && grid.dims[0] == x.dims[0] && y.dims[1] == x.dims[1] &&
             grid.dims.back() == x.rank() - 2;
  for (int d = 2; d < y.rank(); ++d) fit = fit && y.dims[d] == grid.dims[d - 1];
  return fit;
}

}  // namespace

LibraryCallOr MakeGridSamplerCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& x = step.args[0];
  const RunView& grid = step.args[1];
  const RunView& y = step.result;
  if (x.dtype != DType::kF32 || grid.dtype != DType::kF32 || !step.epilogue.empty() ||
      x.rank() < 3 || x.rank() > 2 + kMostSampleAxes || x.numel() == 0 || y.numel() == 0 ||
      !FitTogether(x, grid, y) || !HasSmallPlanes(x)) {
    return absl::UnimplementedError("such a sampling");
  }
  GridSamplerShape s;
  s.rule = RuleOf(step);
  s.table = &ForIsa(context.isa, Avx512Sample, Avx2Sample);
  s.batches = y.dims[0];
  s.channels = y.dims[1];
  s.dims.assign(y.dims.begin() + 2, y.dims.end());
  s.points = 1;
  for (const int64_t d : s.dims) s.points *= d;
  s.x_batch = x.strides[0];
  s.x_channel = x.strides[1];
  s.y_batch = y.strides[0];
  s.y_channel = y.strides[1];
  s.grid = grid.strides;
  const absl::Span<const int64_t> strides(y.strides);
  if (!IsOneLoop(s.dims, strides.subspan(2), &s.y_point)) {
    return absl::UnimplementedError("points apart");
  }
  return std::make_unique<GridSamplerCall>(std::move(s), context.threads);
}

}  // namespace weft::cpu
