// Sampling at given positions.
#include <algorithm>
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/support/op.h"
#include "graph/ops/vision/resample.h"

namespace weft::ops {
namespace {

constexpr double kCubicCoefficient = -0.75;

absl::Status Verify(const OpArgs& args) {
  const std::string& mode = args.attrs().Str("mode");
  const std::string& padding = args.attrs().Str("padding_mode");
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic") {
    return Invalid("mode must be bilinear, nearest or bicubic, got ", mode);
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return Invalid("padding_mode must be zeros, border or reflection, got ", padding);
  }
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 3));
  return CheckRank(args, 1, args.type(0).rank());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type input = args.type(0);
  const Type grid = args.type(1);
  const int n = input.rank() - 2;
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, input.dim(0), grid.dim(0), "the batches of input and grid"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, grid.dim(n + 1), n, "coordinates in grid"));
  std::vector<SymInt> dims = {input.dim(0), input.dim(1)};
  for (int d = 1; d <= n; ++d) dims.push_back(grid.dim(d));
  return Types{input.WithDims(dims)};
}

// One spatial dim of the input.
struct Axis {
  int64_t size;
  bool align_corners;
  absl::string_view padding;

  // From [-1, 1] to elements.
  double Unnormalize(double v) const {
    const double n = static_cast<double>(size);
    return align_corners ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  }
  // Mirrors a position at the centers or the outer edges of the end elements.
  double Reflect(double v) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? size - 1 : size);
    if (span <= 0) return 0;
    const double from = std::abs(v - low);
    const double extra = std::fmod(from, span);
    const bool flips = std::fmod(std::floor(from / span), 2) != 0;
    return (flips ? span - extra : extra) + low;
  }
  // Moves a position into the input as the padding mode says.
  double Pad(double v) const {
    if (padding == "zeros") return v;
    if (!std::isfinite(v)) return 0;
    if (padding == "reflection") v = Reflect(v);
    return std::clamp(v, 0.0, static_cast<double>(size - 1));
  }
  // The element there, or -1.
  int64_t Index(double v) const {
    if (!(v >= 0 && v <= static_cast<double>(size - 1))) return -1;
    return static_cast<int64_t>(v);
  }
};

// Elements along one axis and their weights, which are 0 if the position is NaN.
struct Taps {
  int count = 0;
  int64_t index[4];
  double weight[4];

  void Add(int64_t i, double w) {
    index[count] = i;
    weight[count++] = i < 0 ? 0 : w;
  }
};

Taps FindTaps(const Axis& axis, absl::string_view mode, double normalized) {
  Taps taps;
  const double v = axis.Unnormalize(normalized);
  if (mode == "nearest") {
    taps.Add(axis.Index(std::nearbyint(axis.Pad(v))), 1);
  } else if (mode == "bilinear") {
    const double at = axis.Pad(v);
    const double floor = std::floor(at);
    taps.Add(axis.Index(floor), 1 - (at - floor));
    taps.Add(axis.Index(floor + 1), at - floor);
  } else {
    double weights[4];
    const double floor = std::floor(v);
    CubicWeights(v - floor, kCubicCoefficient, weights);
    for (int i = 0; i < 4; ++i) {
      taps.Add(axis.Index(axis.Pad(floor - 1 + i)), weights[i]);
    }
  }
  return taps;
}

// Offsets in the input's plane and weights: those of all axes combined.
std::vector<std::pair<int64_t, double>> Combine(absl::Span<const Axis> axes, absl::string_view mode,
                                                const double* grid) {
  std::vector<std::pair<int64_t, double>> all = {{0, 1.0}};
  for (size_t d = 0; d < axes.size(); ++d) {
    // Coordinates are listed from the innermost dim to the outermost.
    const Taps taps = FindTaps(axes[d], mode, grid[axes.size() - 1 - d]);
    std::vector<std::pair<int64_t, double>> next;
    for (const auto& [offset, weight] : all) {
      for (int i = 0; i < taps.count; ++i) {
        if (taps.index[i] < 0) continue;
        next.emplace_back(offset * axes[d].size + taps.index[i], weight * taps.weight[i]);
      }
    }
    all = std::move(next);
  }
  return all;
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const HostTensor& input = c.in(0);
  const std::vector<double> x = Read<double>(input);
  const std::vector<double> grid = Read<double>(c.in(1));
  std::vector<Axis> axes;
  for (int d = 2; d < input.rank(); ++d) {
    axes.push_back({input.dim(d), attrs.Bool("align_corners"), attrs.Str("padding_mode")});
  }
  const int64_t n = static_cast<int64_t>(axes.size());
  const int64_t channels = input.dim(1);
  const int64_t in = Numel(input.dims().subspan(2));
  const int64_t out = Numel(c.out(0).dims().subspan(2));
  std::vector<double> y(c.out(0).numel(), 0);
  ParallelChunks(input.dim(0) * out, 64, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end && in > 0; ++at) {
      const auto taps = Combine(axes, attrs.Str("mode"), &grid[at * n]);
      const int64_t batch = at / out;
      for (int64_t k = batch * channels; k < (batch + 1) * channels; ++k) {
        double sum = 0;
        for (const auto& [offset, weight] : taps) {
          sum += weight * x[k * in + offset];
        }
        y[k * out + at % out] = sum;
      }
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

SymInt Flops(const FlopsArgs& args) {
  const int dims = args.results[0].rank() - 2;
  return args.result_size() * SampleFlops(args.attrs().Str("mode"), dims);
}

}  // namespace

WEFT_DEFINE_OP(grid_sampler,
               OpSpec("grid_sampler(Tensor input, Tensor grid, str mode=\"bilinear\", "
                      "str padding_mode=\"zeros\", bool align_corners=False) -> Tensor",
                      "Samples input [N, C, spatial...] at the positions of grid [N, "
                      "out..., coordinates]. Coordinates come from the innermost dim to "
                      "the outermost; -1 and 1 are the centers of the end elements with "
                      "align_corners, else their outer edges. ATen: aten::grid_sampler; "
                      "ONNX: GridSample-22.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"the positions that are read are computed"})
                   .Flops(Flops)
                   .Samples(R"(
grid_sampler(f32[2, 3, 4, 5], f32[2, 6, 7, 2]{-1.5..1.5})
grid_sampler(f32[1, 2, 4, 5], f32[1, 3, 4, 2]{-3..3}, mode="nearest", padding_mode="border")
grid_sampler(f32[1, 2, 4, 5], f32[1, 3, 4, 2]{-3..3}, mode="bicubic", padding_mode="reflection", align_corners=true)
grid_sampler(f32[1, 2, 3, 4, 5], f32[1, 2, 3, 4, 3]{-1.5..1.5}, padding_mode="reflection")
grid_sampler(f32[1, 2, 3, 4, 5], f32[1, 2, 3, 4, 3]{-1.5..1.5}, mode="nearest", align_corners=true)
grid_sampler(f16[1, 2, 4], f16[1, 3, 1], padding_mode="border")
grid_sampler(bf16[1, 2, 4, 4], f32[1, 3, 3, 2], mode="bicubic")
grid_sampler(f32[2, 3, 4, 5], f32[1, 6, 7, 2]) ! "the batches of input and grid: 2 and 1 differ"
grid_sampler(f32[2, 3, 4, 5], f32[2, 6, 7, 3]) ! "coordinates in grid: 3 and 2 differ"
grid_sampler(f32[2, 3, 4, 5], f32[2, 6, 2]) ! "grid must have rank 4"
grid_sampler(f32[2, 3], f32[2, 6]) ! "at least rank 3"
grid_sampler(f32[2, 3, 4, 5], f32[2, 6, 7, 2], mode="linear") ! "mode must be bilinear"
grid_sampler(f32[2, 3, 4, 5], f32[2, 6, 7, 2], padding_mode="zero") ! "padding_mode must be zeros"
grid_sampler(i32[2, 3, 4, 5], f32[2, 6, 7, 2]) ! "a float dtype"
)"));

}  // namespace weft::ops
