// Transposed convolutions of f32 with many channels, as GEMM, and of many small groups of channels.
//
// Results whose places have equal remainders by the strides are a phase: the same elements of the
// kernel reach them, each from a pixel at a constant distance. So a phase is a convolution of
// stride 1 with these elements as its taps: a matmul, or group_tile.h. The image is copied with its
// channels side by side, unless they lie so; sums are rows of channels, and are transposed into the
// result at the end.

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "backends/cpu/kernels/gemm_tile.h"
#include "backends/cpu/kernels/group_tile.h"
#include "backends/cpu/kernels/sample_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/panel_weights.h"
#include "backends/cpu/library/scratch_plan.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

constexpr int64_t kLeastDepth = 16;                // Least channels of a group.
constexpr int64_t kLeastColumns = 16;              // Least results' channels of a group.
constexpr int64_t kMostFloats = int64_t{1} << 22;  // Most floats of an image and of its sums.
constexpr int64_t kMostOffsets = int64_t{1} << 20;
constexpr int64_t kRowsAtOnce = 192;  // Rows that a thread multiplies with a panel.
constexpr int64_t kNothing = -1;      // Offset of a pixel that is padding.

// The results first, first + stride, ... of a dim.
struct PhaseDim {
  int64_t first = 0;
  int64_t count = 0;
  std::vector<int64_t> taps;    // Elements of the kernel.
  std::vector<int64_t> pixels;  // By tap: the first result's pixel. The next result has the next.
};

struct Phase {
  int64_t first_row = 0;  // Row of its first result in the sums.
  int64_t rows = 0;
  int64_t taps = 0;
  std::vector<int64_t> offsets;                              // [rows, taps]
  std::vector<std::shared_ptr<const PackedPanels>> weights;  // By group, or
  std::vector<float> group_weights;                          // of small groups.
};

// Rows of a phase and a panel of a group; all small groups are one.
struct TransposedItem {
  int phase = 0;
  int64_t group = 0;
  size_t panel = 0;
  int64_t row = 0;
  int64_t rows = 0;
};

struct TransposedShape {
  const GemmTable* gemm = nullptr;
  const SampleTable* sample = nullptr;
  GroupFn run_groups = nullptr;  // Null unless groups are small.
  int64_t batches = 0;
  int64_t groups = 1;
  int64_t depth = 0;    // Channels of a group.
  int64_t columns = 0;  // Channels of a group's results.
  int64_t pixels = 0;
  int64_t points = 0;  // Results of a channel.
  bool copies = false;
  int64_t x_batch = 0, x_channel = 0;
  int64_t y_batch = 0, y_channel = 0, y_point = 0;
  std::vector<Phase> phases;
  std::vector<int32_t> places;  // By point: offset of its sums, up to a whole number of blocks.

  int64_t x_row() const { return AlignUp(groups * depth, sample->lanes); }
  int64_t sum_row() const { return AlignUp(groups * columns, sample->lanes); }
};

class TransposedCall : public LibraryCall {
 public:
  TransposedCall(TransposedShape shape, int source, int threads)
      : s_(std::move(shape)),
        source_(source),
        threads_(threads),
        zeros_(s_.depth),
        ones_(kSamplePoints, 1.0f) {
    ListItems();
    x_at_ = plan_.Place(s_.copies ? s_.pixels * s_.x_row() * 4 : 0);
    sums_at_ = plan_.Place((s_.points + 1) * s_.sum_row() * 4);
    tiles_at_ = plan_.Place(threads * kGemmScratchFloats * 4);
  }

  std::string name() const override {
    return s_.run_groups != nullptr ? "transposed_groups" : "transposed_gemm";
  }
  int64_t scratch_bytes() const override { return plan_.bytes(); }

  absl::Status Run(const CallMemory& memory) override {
    const float* x = static_cast<const float*>(memory.args[source_]);
    float* y = static_cast<float*>(memory.result);
    char* const base = static_cast<char*>(memory.scratch);
    float* const copy = reinterpret_cast<float*>(base + x_at_);
    float* const sums = reinterpret_cast<float*>(base + sums_at_);
    // The row behind all others is that of results that no pixel reaches.
    std::fill_n(sums + s_.points * s_.sum_row(), s_.sum_row(), 0.0f);
    float* const tiles = reinterpret_cast<float*>(base + tiles_at_);
    for (int64_t b = 0; b < s_.batches; ++b) {
      const float* image = x + b * s_.x_batch;
      if (s_.copies) Copy(image, copy);
      Multiply(s_.copies ? copy : image, sums, tiles);
      Store(sums, y + b * s_.y_batch);
    }
    return absl::OkStatus();
  }

 private:
  void ListItems() {
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      const Phase& phase = s_.phases[p];
      if (!phase.group_weights.empty()) AddItems(p, phase, 0, 0);
      for (size_t g = 0; g < phase.weights.size(); ++g) {
        for (size_t panel = 0; panel < phase.weights[g]->panels.size(); ++panel) {
          AddItems(p, phase, g, panel);
        }
      }
    }
  }
  void AddItems(size_t p, const Phase& phase, size_t group, size_t panel) {
    for (int64_t row = 0; row < phase.rows; row += kRowsAtOnce) {
      items_.push_back({static_cast<int>(p), static_cast<int64_t>(group), panel, row,
                        std::min(kRowsAtOnce, phase.rows - row)});
    }
  }

  void Copy(const float* image, float* to) const {
    const int64_t lanes = s_.sample->lanes;
    const int64_t channels = s_.groups * s_.depth;
    const int64_t vectors = s_.x_row() / lanes;
    ForEach(threads_, vectors, [&](int64_t v, const TeamMember&) {
      s_.sample->pack_pixels(image + v * lanes * s_.x_channel, s_.x_channel,
                             std::min(lanes, channels - v * lanes), s_.pixels, to + v * lanes,
                             s_.x_row());
    });
  }

  void Multiply(const float* image, float* sums, float* tiles) const {
    const int64_t n = static_cast<int64_t>(items_.size());
    ForEachNext(threads_, n, [&](int64_t i, const TeamMember& member) {
      if (s_.run_groups != nullptr) return RunGroups(items_[i], image, sums);
      RunItem(items_[i], image, sums, tiles + member.index * kGemmScratchFloats);
    });
  }

  void RunGroups(const TransposedItem& item, const float* image, float* sums) const {
    const Phase& phase = s_.phases[item.phase];
    GroupPanel panel;
    panel.x = image;
    panel.offsets = phase.offsets.data() + item.row * phase.taps;
    panel.taps = phase.taps;
    panel.rows = item.rows;
    panel.depth = s_.depth;
    panel.channels = s_.groups * s_.depth;
    panel.weights = phase.group_weights.data();
    panel.y = sums + (phase.first_row + item.row) * s_.sum_row();
    panel.y_row = s_.sum_row();
    s_.run_groups(panel);
  }

  void RunItem(const TransposedItem& item, const float* image, float* sums, float* tile) const {
    const Phase& phase = s_.phases[item.phase];
    const PackedPanels& weights = *phase.weights[item.group];
    const WeightPanel& part = weights.panels[item.panel];
    GemmPanel panel;
    panel.x = image + item.group * s_.depth;
    panel.offsets = phase.offsets.data() + item.row * phase.taps;
    panel.taps = phase.taps;
    panel.depth = s_.depth;
    panel.zeros = zeros_.data();
    panel.rows = item.rows;
    panel.weights = weights.data() + part.offset;
    panel.end = weights.end();
    panel.vectors = part.vectors;
    panel.columns = part.columns;
    panel.y =
        sums + (phase.first_row + item.row) * s_.sum_row() + item.group * s_.columns + part.first;
    panel.y_row = s_.sum_row();
    panel.least = -std::numeric_limits<float>::infinity();
    panel.most = std::numeric_limits<float>::infinity();
    s_.gemm->run(panel, tile);
  }

  void Store(const float* sums, float* y) const {
    const int64_t lanes = s_.sample->lanes;
    const int64_t channels = s_.groups * s_.columns;
    const int64_t blocks = (s_.points + kSamplePoints - 1) / kSamplePoints;
    ForEach(threads_, blocks, [&](int64_t i, const TeamMember&) {
      const int64_t first = i * kSamplePoints;
      const SampleTaps taps = {1, kSamplePoints, s_.places.data() + first, ones_.data(), nullptr};
      for (int64_t c = 0; c < channels; c += lanes) {
        s_.sample->gather_pixels(sums + c, taps, std::min(kSamplePoints, s_.points - first),
                                 std::min(lanes, channels - c),
                                 y + first * s_.y_point + c * s_.y_channel, s_.y_channel,
                                 s_.y_point);
      }
    });
  }

  const TransposedShape s_;
  const int source_;
  const int threads_;
  const std::vector<float> zeros_;
  const std::vector<float> ones_;
  std::vector<TransposedItem> items_;
  ScratchPlan plan_;
  int64_t x_at_ = 0, sums_at_ = 0, tiles_at_ = 0;
};

// --- Phases -----------------------------------------------------------------------------------

int SpatialDims(const DnnConvolution& c) { return static_cast<int>(c.x.dims.size()) - 2; }

// Of dim `d` behind the batch and the channels.
int64_t KernelSize(const DnnConvolution& c, int d) {
  return c.weights.dims[c.weights.dims.size() - SpatialDims(c) + d];
}
int64_t KernelStride(const DnnConvolution& c, int d) {
  return c.weights.strides[c.weights.strides.size() - SpatialDims(c) + d];
}

PhaseDim PhaseDimOf(const DnnConvolution& c, int d, int64_t first) {
  PhaseDim phase;
  phase.first = first;
  phase.count = (c.y.dims[d + 2] - first + c.stride[d] - 1) / c.stride[d];
  for (int64_t tap = 0; tap < KernelSize(c, d); ++tap) {
    const int64_t from = first + c.before[d] - tap * c.dilation[d];
    if (from % c.stride[d] != 0) continue;
    phase.taps.push_back(tap);
    phase.pixels.push_back(from / c.stride[d]);
  }
  return phase;
}

// Counts through indices below `sizes`, the last one fastest; false after the last.
bool Next(const std::vector<int64_t>& sizes, std::vector<int64_t>* at) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++(*at)[d] < sizes[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

// The taps of a phase, each as its index in each dim.
std::vector<std::vector<int64_t>> TapsOf(const std::vector<PhaseDim>& dims) {
  std::vector<int64_t> sizes;
  for (const PhaseDim& dim : dims) {
    if (dim.taps.empty()) return {};
    sizes.push_back(static_cast<int64_t>(dim.taps.size()));
  }
  std::vector<std::vector<int64_t>> taps;
  std::vector<int64_t> at(dims.size());
  do {
    taps.push_back(at);
  } while (Next(sizes, &at));
  return taps;
}

// Adds the rows of a phase. `pixel` has the elements between pixels of each dim.
void AddRows(const DnnConvolution& c, const std::vector<PhaseDim>& dims,
             const std::vector<std::vector<int64_t>>& taps, const std::vector<int64_t>& pixel,
             Phase* phase, TransposedShape* s) {
  std::vector<int64_t> sizes;
  for (const PhaseDim& dim : dims) sizes.push_back(dim.count);
  std::vector<int64_t> at(dims.size());
  do {
    int64_t point = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      point = point * c.y.dims[d + 2] + dims[d].first + at[d] * c.stride[d];
    }
    const int64_t row = taps.empty() ? s->points : phase->first_row + phase->rows;
    s->places[point] = static_cast<int32_t>(row * s->sum_row());
    for (const std::vector<int64_t>& tap : taps) {
      int64_t offset = 0;
      for (size_t d = 0; d < dims.size(); ++d) {
        const int64_t place = dims[d].pixels[tap[d]] + at[d];
        const bool inside = place >= 0 && place < c.x.dims[d + 2];
        offset = inside && offset >= 0 ? offset + place * pixel[d] : kNothing;
      }
      phase->offsets.push_back(offset);
    }
    ++phase->rows;
  } while (Next(sizes, &at));
}

// The weights of a phase and a group; `w` has what all have in common.
WeightView WeightsFor(const DnnConvolution& c, const std::vector<PhaseDim>& dims,
                      const std::vector<std::vector<int64_t>>& taps, int64_t group, WeightView w) {
  w.taps = static_cast<int64_t>(taps.size());
  for (const std::vector<int64_t>& tap : taps) {
    int64_t offset = group * (c.weights.dims.size() > c.x.dims.size() ? c.weights.strides[0] : 0);
    for (size_t d = 0; d < dims.size(); ++d) {
      offset += dims[d].taps[tap[d]] * KernelStride(c, static_cast<int>(d));
    }
    w.tap.push_back(offset);
  }
  return w;
}

// The weights of a phase and all groups, as GroupPanel has them.
std::vector<float> GroupWeightsFor(const DnnConvolution& c, const std::vector<PhaseDim>& dims,
                                   const std::vector<std::vector<int64_t>>& taps,
                                   const WeightView& w, int64_t groups) {
  const auto* data = static_cast<const float*>(w.load ? w.load() : w.data);
  const int64_t channels = groups * w.columns;
  std::vector<float> packed(taps.size() * w.depth * channels);
  for (int64_t g = 0; g < groups; ++g) {
    const WeightView view = WeightsFor(c, dims, taps, g, w);
    for (size_t t = 0; t < taps.size(); ++t) {
      for (int64_t k = 0; k < w.depth; ++k) {
        float* to = &packed[(t * w.depth + k) * channels + g * w.columns];
        const float* from = data + view.tap[t] + k * w.step;
        for (int64_t column = 0; column < w.columns; ++column) to[column] = from[column * w.column];
      }
    }
  }
  return packed;
}

// Adds all phases; false without enough memory.
bool AddPhases(const DnnConvolution& c, const std::vector<int64_t>& pixel, const WeightView& w,
               const DnnConstant& constant, const LibraryContext& context, TransposedShape* s) {
  std::vector<int64_t> firsts;
  for (int d = 0; d < SpatialDims(c); ++d) {
    firsts.push_back(std::min(c.stride[d], c.y.dims[d + 2]));
  }
  std::vector<int64_t> first(firsts.size());
  int64_t rows = 0;
  do {
    std::vector<PhaseDim> dims;
    for (size_t d = 0; d < first.size(); ++d) {
      dims.push_back(PhaseDimOf(c, static_cast<int>(d), first[d]));
    }
    const auto taps = TapsOf(dims);
    Phase phase;
    phase.first_row = rows;
    phase.taps = static_cast<int64_t>(taps.size());
    AddRows(c, dims, taps, pixel, &phase, s);
    rows += phase.rows;
    if (s->run_groups != nullptr) {
      phase.group_weights = GroupWeightsFor(c, dims, taps, w, s->groups);
      s->phases.push_back(std::move(phase));
      continue;
    }
    for (int64_t g = 0; g < s->groups && !taps.empty(); ++g) {
      phase.weights.push_back(context.panels->Get(constant.key, WeightsFor(c, dims, taps, g, w),
                                                  *s->gemm, context.threads));
      if (phase.weights.back() == nullptr) return false;
    }
    s->phases.push_back(std::move(phase));
  } while (Next(firsts, &first));
  return true;
}

// --- Which convolutions -----------------------------------------------------------------------

// Sizes and strides; false for those that the call does not have.
bool FillIn(const DnnConvolution& c, const LibraryContext& context, TransposedShape* s) {
  const size_t grouped = c.weights.dims.size() - c.x.dims.size();
  s->gemm = &ForIsa(context.isa, Avx512Gemm, Avx2Gemm);
  s->sample = &ForIsa(context.isa, Avx512Sample, Avx2Sample);
  s->batches = c.x.dims[0];
  s->groups = grouped == 1 ? c.weights.dims[0] : 1;
  s->columns = c.weights.dims[grouped];
  s->depth = c.weights.dims[grouped + 1];
  s->x_batch = c.x.strides[0];
  s->x_channel = c.x.strides[1];
  s->y_batch = c.y.strides[0];
  s->y_channel = c.y.strides[1];
  s->copies = s->x_channel != 1;
  const auto spatial = [](const std::vector<int64_t>& all) {
    return absl::MakeConstSpan(all).subspan(2);
  };
  s->pixels = s->points = 1;
  for (const int64_t d : spatial(c.x.dims)) s->pixels *= d;
  for (const int64_t d : spatial(c.y.dims)) s->points *= d;
  int64_t pixel = 0;
  const int64_t lanes = s->sample->lanes;
  if (s->depth == s->columns && s->depth < kLeastDepth && lanes % s->depth == 0 &&
      s->groups * s->depth % lanes == 0) {
    s->run_groups = ForIsa(context.isa, Avx512Group, Avx2Group);
  }
  // With strides of 1 there is one phase, which oneDNN has.
  const bool phases =
      std::any_of(c.stride.begin(), c.stride.end(), [](int64_t stride) { return stride > 1; });
  const bool many = s->depth >= kLeastDepth && s->columns >= kLeastColumns;
  return (s->run_groups != nullptr || (phases && many)) &&
         IsOneLoop(spatial(c.y.dims), spatial(c.y.strides), &s->y_point) &&
         (!s->copies || (IsOneLoop(spatial(c.x.dims), spatial(c.x.strides), &pixel) &&
                         (pixel == 1 || s->pixels == 1)));
}

// True if memory for a copy, sums and offsets is small.
bool IsSmall(const DnnConvolution& c, const TransposedShape& s) {
  int64_t taps = 1;
  for (int d = 0; d < SpatialDims(c); ++d) {
    taps *= (KernelSize(c, d) + c.stride[d] - 1) / c.stride[d];
  }
  return s.pixels <= kMostFloats / s.x_row() && s.points < kMostFloats / s.sum_row() &&
         s.points <= kMostOffsets / taps;
}

}  // namespace

LibraryCallOr MakeTransposedCall(const DnnConvolution& c, const std::vector<int>& slots,
                                 const DnnConstant& constant, const LibraryContext& context) {
  const auto none = [] { return absl::UnimplementedError("such a transposed convolution"); };
  TransposedShape s;
  if (!c.transposed || !constant.known() || !c.post_ops.empty() || slots[kDnnBias] >= 0 ||
      c.x.dtype != DType::kF32 || c.weights.dtype != DType::kF32 || c.y.dtype != DType::kF32 ||
      !FillIn(c, context, &s) || !IsSmall(c, s)) {
    return none();
  }
  s.places.resize(AlignUp(s.points, kSamplePoints));
  std::vector<int64_t> pixel(SpatialDims(c));
  int64_t size = s.x_row();
  for (size_t d = pixel.size(); d-- > 0; size *= c.x.dims[d + 2]) {
    pixel[d] = s.copies ? size : c.x.strides[d + 2];
  }
  const size_t grouped = c.weights.dims.size() - c.x.dims.size();
  WeightView w;
  w.data = constant.data;
  w.load = constant.load;
  w.columns = s.columns;
  w.depth = s.depth;
  w.column = c.weights.strides[grouped];
  w.step = c.weights.strides[grouped + 1];
  if (!AddPhases(c, pixel, w, constant, context, &s)) {
    return absl::ResourceExhaustedError("no memory for packed weights");
  }
  return std::make_unique<TransposedCall>(std::move(s), slots[kDnnSource], context.threads);
}

}  // namespace weft::cpu
