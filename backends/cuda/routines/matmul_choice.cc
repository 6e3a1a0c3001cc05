#include "backends/cuda/routines/matmul_choice.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "backends/cuda/routines/float8_text.h"

namespace weft::cuda {
namespace {

// Multiprocessors of the GPU that the choice is made for.
constexpr int64_t kProcessors = 132;

int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

bool InGroups(MatmulRead read) {
  return read == MatmulRead::kGroupsAlongK || read == MatmulRead::kGroupsAlongLines;
}

bool InGroups(const MatmulProblem& problem) { return InGroups(problem.a) && InGroups(problem.b); }

bool Along(MatmulRead read, bool k) {
  return k ? read == MatmulRead::kOneAlongK || read == MatmulRead::kGroupsAlongK
           : read == MatmulRead::kOneAlongLines || read == MatmulRead::kGroupsAlongLines;
}

// A tile of a form, and its times in microseconds on an H200: before and after its steps of k, of a
// step in a block alone on a multiprocessor, and of a step where it shares that with others.
struct Tile {
  int m, n, depth, stages, part_m, part_n, blocks;
  double start, alone, shared;
};

constexpr Tile kFloatTiles[] = {
    {128, 128, 16, 2, 8, 8, 2, 5.9, 0.107, 0.104},
    {64, 64, 16, 3, 8, 4, 4, 3.7, 0.0374, 0.0303},
    {32, 64, 16, 4, 4, 4, 4, 2.9, 0.027, 0.0225},
    {32, 32, 16, 4, 4, 4, 8, 3.3, 0.0203, 0.0122},
};
constexpr Tile kTf32Tiles[] = {
    {128, 128, 16, 2, 64, 32, 1, 6, 0.05, 0.05},
    {64, 64, 16, 3, 32, 32, 2, 4, 0.02, 0.014},
    {32, 64, 16, 3, 32, 16, 2, 3.5, 0.014, 0.009},
};
constexpr Tile kTensorTiles[] = {
    {128, 128, 32, 3, 64, 64, 2, 7.5, 0.0173, 0.0141},
    {64, 64, 64, 3, 32, 32, 3, 5.1, 0.0053, 0.0041},
    {32, 64, 64, 4, 16, 32, 4, 3.3, 0.0037, 0.0027},
};
// Estimates: steps of as many bytes take as long as those of 16 bits.
constexpr Tile kByteTiles[] = {
    {128, 128, 64, 3, 64, 32, 1, 7.5, 0.0087, 0.0087},
    {64, 64, 128, 3, 32, 32, 3, 5.1, 0.0027, 0.0021},
    {32, 64, 128, 4, 16, 32, 4, 3.3, 0.0019, 0.0014},
};
// Estimates as well; floats take more registers.
constexpr Tile kFloat8Tiles[] = {
    {128, 128, 64, 3, 64, 32, 1, 7.5, 0.0087, 0.0087},
    {64, 64, 128, 3, 32, 32, 2, 5.1, 0.0027, 0.0023},
    {32, 64, 128, 4, 16, 32, 3, 3.3, 0.0019, 0.0015},
};
constexpr Tile kWgmmaTiles[] = {
    {256, 128, 64, 4, 0, 0, 1, 8, 0.0128, 0.0128},
    {128, 128, 64, 3, 0, 0, 2, 6, 0.009, 0.0081},
    {64, 64, 64, 4, 0, 0, 3, 4, 0.004, 0.003},
};
constexpr Tile kPlainTiles[] = {{64, 64, 16, 1, 4, 4, 1, 4, 0.1, 0.08}};

absl::Span<const Tile> TilesOf(MatmulForm form, DType dtype) {
  switch (form) {
    case MatmulForm::kFloat:
      return kFloatTiles;
    case MatmulForm::kTf32:
      return kTf32Tiles;
    case MatmulForm::kTensor:
      if (IsFloat8(dtype)) return kFloat8Tiles;
      if (DTypeBits(dtype) == 8) return kByteTiles;
      return kTensorTiles;
    case MatmulForm::kWgmma:
      return kWgmmaTiles;
    default:
      return kPlainTiles;
  }
}

constexpr int64_t kMaxSplits = 16;
constexpr int64_t kLeastSplitSteps = 64;

MatmulKernel KernelOf(MatmulForm form, const Tile& tile) {
  MatmulKernel kernel;
  kernel.form = form;
  kernel.tile_m = tile.m;
  kernel.tile_n = tile.n;
  kernel.depth = tile.depth;
  kernel.stages = tile.stages;
  kernel.part_m = tile.part_m;
  kernel.part_n = tile.part_n;
  kernel.blocks = tile.blocks;
  return kernel;
}

// The time of a product in that many parts of `split_k` steps, in microseconds.
double Estimate(const MatmulProblem& problem, const Tile& tile, int64_t splits, int64_t split_k) {
  const int64_t tiles = Ceil(problem.m, tile.m) * Ceil(problem.n, tile.n) * problem.batches;
  const auto each = static_cast<double>(Ceil(tiles * splits, kProcessors));
  const auto steps = static_cast<double>(std::min(split_k, problem.k));
  double time = tile.start + steps * std::max(tile.alone, each * tile.shared);
  if (splits > 1) {
    // Another launch, which reads the parts.
    const auto numel = static_cast<double>(problem.m * problem.n * problem.batches);
    time += 1 + numel * 4 * static_cast<double>(splits) / 2e6;
  }
  return time;
}

// The best number of parts for the tile.
void ChooseSplits(const MatmulProblem& problem, const Tile& tile, MatmulChoice* choice,
                  double* least) {
  for (int64_t splits = 1; splits <= kMaxSplits; ++splits) {
    const int64_t split_k = Ceil(Ceil(problem.k, splits), tile.depth) * tile.depth;
    const bool empty = (splits - 1) * split_k >= problem.k;
    if (splits > 1 && (empty || split_k < kLeastSplitSteps)) break;
    const double time = Estimate(problem, tile, splits, split_k);
    if (*least >= 0 && time >= *least) continue;
    *least = time;
    choice->kernel = KernelOf(choice->kernel.form, tile);
    choice->splits = splits;
    choice->split_k = split_k;
  }
}

MatmulChoice ChooseTile(const MatmulProblem& problem, MatmulForm form) {
  MatmulChoice choice;
  choice.kernel.form = form;
  double least = -1;
  const DType dtype = problem.operands.as_halves ? DType::kF16 : problem.operands.left;
  for (const Tile& tile : TilesOf(form, dtype)) {
    // Reads of single elements leave the largest tile of these too few registers.
    if (tile.m == 128 && IsFloat8(dtype) && !InGroups(problem)) continue;
    ChooseSplits(problem, tile, &choice, &least);
  }
  choice.down = Ceil(problem.m, choice.kernel.tile_m);
  choice.across = Ceil(problem.n, choice.kernel.tile_n);
  choice.blocks = choice.down * choice.across * problem.batches * choice.splits;
  return choice;
}

MatmulChoice ChooseFewRows(const MatmulProblem& problem) {
  MatmulChoice choice;
  const bool wide = Along(problem.b, false);
  const int group = GroupOf(problem.b, problem.operands.left);
  choice.kernel.form = wide ? MatmulForm::kFewRowsWide : MatmulForm::kFewRows;
  choice.kernel.part_m = problem.m <= 1 ? 1 : problem.m <= 2 ? 2 : 4;
  choice.kernel.part_n = wide ? group : 1;
  // Wide: blocks of 32 groups. Else a block has eight warps.
  choice.across = Ceil(problem.n, wide ? 32 * group : 1);
  const int64_t each = wide ? 1 : 8;
  const int64_t blocks = Ceil(choice.across * problem.batches, each);
  const int64_t least = wide ? 128 : 2048;  // Steps of k in a part.
  choice.splits = std::clamp<int64_t>(
      std::min(kProcessors / std::max<int64_t>(blocks, 1), problem.k / least), 1, 16);
  choice.split_k = Ceil(Ceil(problem.k, choice.splits), 32) * 32;
  choice.splits = std::max<int64_t>(1, Ceil(problem.k, std::max<int64_t>(choice.split_k, 1)));
  choice.blocks = Ceil(choice.across * problem.batches * choice.splits, each);
  return choice;
}

}  // namespace

std::vector<MatmulKernel> TiledKernels(MatmulForm form, DType dtype) {
  std::vector<MatmulKernel> kernels;
  for (const Tile& tile : TilesOf(form, dtype)) {
    kernels.push_back(KernelOf(form, tile));
    kernels.back().operands.left = kernels.back().operands.right = dtype;
  }
  return kernels;
}

void SetReads(MatmulRead a, MatmulRead b, MatmulKernel* kernel) {
  kernel->a = a;
  kernel->b = b;
  // Only these have registers for two blocks of the largest tile.
  const bool fits = a == MatmulRead::kGroupsAlongK && InGroups(b);
  if (kernel->form == MatmulForm::kFloat && kernel->tile_m == 128 && !fits) kernel->blocks = 1;
}

namespace {

// A read of single elements, which are converted on their way.
MatmulRead Single(MatmulRead read) {
  return Along(read, true) ? MatmulRead::kOneAlongK : MatmulRead::kOneAlongLines;
}

}  // namespace

MatmulChoice ChooseMatmul(const MatmulProblem& given) {
  MatmulProblem problem = given;
  MatmulForm form = MatmulForm::kPlain;
  if (problem.operands.left == DType::kF32) {
    form = problem.f32_products > 0 ? MatmulForm::kTf32 : MatmulForm::kFloat;
  }
  const int64_t bits = DTypeBits(problem.operands.left);
  if (problem.tensor_cores && bits <= 16) form = MatmulForm::kTensor;
  if (form == MatmulForm::kTensor && bits == 16 && problem.wgmma && InGroups(problem)) {
    form = MatmulForm::kWgmma;
  }
  if (problem.far) form = MatmulForm::kPlain;
  MatmulChoice choice;
  // Sums of four rows in groups of bytes do not fit in shared memory.
  const bool fits = bits > 8 || problem.m <= 2 || Along(problem.b, true);
  if (problem.m <= kMaxFewRows && fits) {
    choice = ChooseFewRows(problem);
  } else {
    if (IsFloat8(problem.operands.left) && form == MatmulForm::kTensor && !problem.float8) {
      problem.operands.as_halves = true;
      problem.a = Single(problem.a);
      problem.b = Single(problem.b);
    }
    choice = ChooseTile(problem, form);
  }
  if (problem.m == 0) choice.blocks = 0;
  choice.kernel.operands = problem.operands;
  choice.kernel.products = std::max(problem.f32_products, 1);
  SetReads(problem.a, problem.b, &choice.kernel);
  // The plain kernel finds the contiguous dim itself.
  if (choice.kernel.form == MatmulForm::kPlain) {
    choice.kernel.a = choice.kernel.b = MatmulRead::kOneAlongK;
  }
  return choice;
}

}  // namespace weft::cuda
