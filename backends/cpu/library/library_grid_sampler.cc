// grid_sampler: the taps of some points are found once and used for all channels.
//
// Images of many channels are read by vectors of channels: as they are, if their channels lie side
// by side, else from a copy, if so many points read it that it pays.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/sample_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

constexpr int64_t kCopiedFloats = int64_t{1} << 19;      // Floats of the images copied at once.
constexpr int64_t kMostCopiedFloats = int64_t{1} << 22;  // Most floats of an image that is copied.

// How vectors of channels are read; without a step, single elements are.
struct ChannelVectors {
  int64_t step = 0;    // Elements from one vector of a pixel to the next.
  int64_t pixels = 0;  // Pixels of a copied image; 0: images are read as they are.
  int64_t floats = 0;  // Floats of a copied image.
  int64_t images = 1;  // Images that are copied at once.
};

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
  ChannelVectors vectors;
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
  int64_t scratch_bytes() const override { return (CopiedFloats() + threads_ * TileFloats()) * 4; }

  absl::Status Run(const CallMemory& memory) override {
    const int64_t blocks = (s_.points + kSamplePoints - 1) / kSamplePoints;
    const int threads = static_cast<int>(std::min<int64_t>(threads_, s_.batches * blocks));
    const int64_t images = s_.vectors.pixels > 0 ? s_.vectors.images : s_.batches;
    float* const tiles = static_cast<float*>(memory.scratch) + CopiedFloats();
    for (int64_t batch = 0; batch < s_.batches; batch += images) {
      const int64_t count = std::min(images, s_.batches - batch);
      if (s_.vectors.pixels > 0) CopyImages(memory, batch, count, threads);
      ForEach(threads, count * blocks, [&](int64_t item, const TeamMember& member) {
        const int64_t image = item / blocks;
        RunBlock(memory, batch + image, image, item % blocks * kSamplePoints,
                 tiles + member.index * TileFloats());
      });
    }
    return absl::OkStatus();
  }

 private:
  // Offsets, weights, flags and coordinates.
  int64_t TileFloats() const { return kSamplePoints * (3 * taps_ + kMostSampleAxes); }
  int64_t CopiedFloats() const { return s_.vectors.images * s_.vectors.floats; }
  int64_t Vectors() const { return (s_.channels + s_.table->lanes - 1) / s_.table->lanes; }

  // Copies images [batch, batch + count) to the scratch memory, vector by vector.
  void CopyImages(const CallMemory& memory, int64_t batch, int64_t count, int threads) const {
    const int64_t lanes = s_.table->lanes;
    ForEach(threads, count * Vectors(), [&](int64_t item, const TeamMember&) {
      const int64_t image = item / Vectors();
      const int64_t vector = item % Vectors();
      s_.table->pack_pixels(static_cast<const float*>(memory.args[0]) +
                                (batch + image) * s_.x_batch + vector * lanes * s_.x_channel,
                            s_.x_channel, std::min(lanes, s_.channels - vector * lanes),
                            s_.vectors.pixels,
                            static_cast<float*>(memory.scratch) + image * s_.vectors.floats +
                                vector * s_.vectors.step,
                            lanes);
    });
  }

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

  // Points from `first` on of a batch, whose image is number `copy` of those that were copied.
  void RunBlock(const CallMemory& memory, int64_t batch, int64_t copy, int64_t first,
                float* tile) const {
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
    if (s_.vectors.pixels > 0) {
      x = static_cast<const float*>(memory.scratch) + copy * s_.vectors.floats;
    }
    float* y = static_cast<float*>(memory.result) + batch * s_.y_batch + first * s_.y_point;
    if (s_.vectors.step > 0) return GatherVectors(x, taps, count, y);
    for (int64_t c = 0; c < s_.channels; ++c) {
      s_.table->gather(x + c * s_.x_channel, taps, count, y + c * s_.y_channel, s_.y_point);
    }
  }

  void GatherVectors(const float* x, const SampleTaps& taps, int64_t count, float* y) const {
    const int64_t lanes = s_.table->lanes;
    for (int64_t c = 0; c < s_.channels; c += lanes, x += s_.vectors.step) {
      s_.table->gather_pixels(x, taps, count, std::min(lanes, s_.channels - c),
                              y + c * s_.y_channel, s_.y_channel, s_.y_point);
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

// Decides how vectors of channels are read; the rule gets the strides of a copy.
void ChooseVectors(const RunView& x, GridSamplerShape* s) {
  const int64_t lanes = s->table->lanes;
  if (s->channels < lanes) return;
  if (s->x_channel == 1 && s->channels % lanes == 0) {
    s->vectors.step = lanes;
    return;
  }
  const absl::Span<const int64_t> dims = absl::MakeConstSpan(x.dims).subspan(2);
  int64_t pixel = 0;
  if (!IsOneLoop(dims, absl::MakeConstSpan(x.strides).subspan(2), &pixel) || pixel != 1) return;
  const int64_t pixels = x.numel() / (x.dims[0] * s->channels);
  const int64_t vectors = (s->channels + lanes - 1) / lanes;
  if (pixels > kMostCopiedFloats / (vectors * lanes) || s->points < pixels / TapsOf(s->rule)) {
    return;
  }
  s->vectors.step = pixels * lanes;
  s->vectors.pixels = pixels;
  s->vectors.floats = vectors * s->vectors.step;
  s->vectors.images = std::clamp<int64_t>(kCopiedFloats / s->vectors.floats, 1, s->batches);
  for (int a = 0; a < s->rule.axes; ++a) s->rule.strides[a] *= lanes;
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
  ChooseVectors(x, &s);
  return std::make_unique<GridSamplerCall>(std::move(s), context.threads);
}

}  // namespace weft::cpu
