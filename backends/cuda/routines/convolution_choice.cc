#include "backends/cuda/routines/convolution_choice.h"

#include <algorithm>

#include "absl/types/span.h"

namespace weft::cuda {
namespace {

// Multiprocessors that tiles are chosen for: those of an H200, on which times were measured.
constexpr int64_t kMultiprocessors = 132;
// Microseconds of a launch, and of one that adds up parts; the latter moves bytes besides.
constexpr double kLaunch = 4;
constexpr double kAddition = 3;
constexpr double kAdditionPerByte = 3e-7;
constexpr int64_t kMaxParts = 32;

// A tile, and what was measured with it.
struct TimedTile {
  ConvolutionTile tile;
  double step;   // Microseconds from one step to the next of a block that is alone.
  double rate;   // Products of a multiprocessor in a microsecond.
  int together;  // Blocks that a multiprocessor runs at once.
};

constexpr TimedTile kFloatTiles[] = {
    {{32, 64, 16, 3, 1, 2, 8, 4}, 0.5, 140e3, 8},
    {{64, 64, 16, 3, 2, 2, 4, 4}, 0.6, 150e3, 4},
};
constexpr TimedTile kDoubleTiles[] = {
    {{64, 64, 8, 3, 2, 2, 2, 2}, 0.6, 70e3, 2},
};
constexpr TimedTile kTensorTiles[] = {
    {{64, 64, 32, 4, 2, 2, 4}, 0.3, 500e3, 4},
    {{128, 64, 32, 3, 2, 2, 3}, 0.5, 600e3, 3},
};
// Estimates: twice as many products as with 16 bits.
constexpr TimedTile kByteTiles[] = {
    {{64, 64, 32, 4, 2, 2, 4}, 0.3, 1000e3, 4},
    {{128, 64, 32, 4, 2, 2, 3}, 0.4, 1200e3, 3},
};
constexpr TimedTile kWgmmaTiles[] = {
    {{64, 64, 64, 4, 4, 1, 3}, 0.4, 900e3, 3},
    {{128, 64, 64, 4, 8, 1, 2}, 0.5, 1200e3, 2},
    {{128, 128, 64, 3, 8, 1, 2}, 0.6, 1500e3, 2},
};

absl::Span<const TimedTile> TimedTiles(DType dtype, ConvolutionKind kind) {
  if (kind == ConvolutionKind::kWgmma) return kWgmmaTiles;
  if (kind == ConvolutionKind::kTensor && DTypeBits(dtype) == 8) return kByteTiles;
  if (kind == ConvolutionKind::kTensor) return kTensorTiles;
  if (DTypeBits(dtype) == 64) return kDoubleTiles;
  return kFloatTiles;
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t CountTiles(const ConvolutionTile& tile, const ConvolutionSizes& sizes) {
  return CeilDiv(sizes.rows, tile.rows) * CeilDiv(sizes.columns, tile.columns) * sizes.groups;
}

// Microseconds of blocks that share a multiprocessor.
double WaveTime(const TimedTile& timed, int64_t blocks, int64_t steps) {
  const auto step_products =
      static_cast<double>(timed.tile.rows) * timed.tile.columns * timed.tile.depth;
  return std::max((static_cast<double>(steps) + 3) * timed.step,
                  static_cast<double>(blocks) * (static_cast<double>(steps) + 1.5) * step_products /
                      timed.rate);
}

double TimeOf(const TimedTile& timed, const ConvolutionSizes& sizes, int64_t parts,
              int64_t part_steps) {
  const int64_t blocks = CountTiles(timed.tile, sizes) * parts;
  const int64_t wave = kMultiprocessors * timed.together;
  double time =
      kLaunch + static_cast<double>(blocks / wave) * WaveTime(timed, timed.together, part_steps);
  const int64_t rest = blocks % wave;
  if (rest > 0) time += WaveTime(timed, CeilDiv(rest, kMultiprocessors), part_steps);
  if (parts > 1) {
    const int64_t sums = sizes.groups * sizes.rows * sizes.columns * (parts + 1);
    time += kAddition + 4 * kAdditionPerByte * static_cast<double>(sums);
  }
  return time;
}

}  // namespace

int64_t CountBlocks(const ConvolutionTile& tile, const ConvolutionSizes& sizes) {
  return CountTiles(tile, sizes) * sizes.parts;
}

std::vector<ConvolutionTile> ConvolutionTiles(DType dtype, ConvolutionKind kind) {
  std::vector<ConvolutionTile> tiles;
  for (const TimedTile& timed : TimedTiles(dtype, kind)) tiles.push_back(timed.tile);
  return tiles;
}

ConvolutionChoice ChooseConvolution(DType dtype, ConvolutionKind kind,
                                    const ConvolutionSizes& sizes) {
  ConvolutionChoice best;
  double best_time = 0;
  for (const TimedTile& timed : TimedTiles(dtype, kind)) {
    const int64_t steps = CeilDiv(sizes.depth, timed.tile.depth);
    for (int64_t parts = 1; parts <= std::min(kMaxParts, steps); ++parts) {
      const int64_t part_steps = CeilDiv(steps, parts);
      if (CeilDiv(steps, part_steps) != parts) continue;
      const double time = TimeOf(timed, sizes, parts, part_steps);
      if (best_time > 0 && time >= best_time) continue;
      best_time = time;
      best = {timed.tile, parts, part_steps};
    }
  }
  return best;
}

}  // namespace weft::cuda
