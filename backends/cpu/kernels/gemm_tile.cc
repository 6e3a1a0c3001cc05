// GEMM of f32 rows with packed weights; compiled once for each instruction set.
//
// The accumulators of a block of rows and a panel of columns stay in registers for a part of the
// depth; the weights of that part then are in cache for the next block of rows.
#include "backends/cpu/kernels/gemm_tile.h"

#include "backends/cpu/kernels/gemm_blocks.h"
#include "backends/cpu/kernels/gemm_stages.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

static_assert(kAccumulators * kLanes <= kGemmScratchFloats);
// Depth of a part: its weights stay in L1, beside a block of rows.
constexpr int64_t kPart = 256;
constexpr int kMostRows = kAccumulators;
constexpr int64_t kMostParts = 16;  // Most taps in a part.
constexpr int64_t kFetchEvery = 4;  // Depth steps between prefetches of some lines.
constexpr int64_t kMostFetched = 4;

// One part of the depth for one block.
struct Part {
  const float* rows[kMostRows];
  int64_t depth = 0;
  const float* weights = nullptr;
  // Prefetched meanwhile: `lines` every kFetchEvery steps.
  const char* fetch = nullptr;
  int64_t lines = 0;
};

template <int kM, int kN>
inline void Sum(const Part& part, Vec (&acc)[kM][kN]) {
  const float* b = part.weights;
  const char* fetch = part.fetch;
  int64_t p = 0;
  const auto step = [&](int64_t at) {
    Vec row[kN];
#pragma GCC unroll 24
    for (int j = 0; j < kN; ++j) row[j] = LoadVec(b + j * kLanes);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
      const Vec x = Splat(part.rows[i][at]);
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) acc[i][j] = Fma(x, row[j], acc[i][j]);
    }
    b += kN * kLanes;
  };
  for (; p + kFetchEvery <= part.depth; p += kFetchEvery) {
    for (int64_t l = 0; l < part.lines; ++l, fetch += 64) __builtin_prefetch(fetch, 0, 2);
#pragma GCC unroll 24
    for (int64_t k = 0; k < kFetchEvery; ++k) step(p + k);
  }
  for (; p < part.depth; ++p) step(p);
}

// The initial values of a block's accumulators and where its results go.
struct Ends {
  const float* bias = nullptr;
  const float* from = nullptr;
  int64_t from_row = 0;
  float* to = nullptr;
  int64_t to_row = 0;
  bool complete = false;
  float least = 0;
  float most = 0;
};

template <int kM, int kN>
struct Block {
  static void Run(const Part* parts, int64_t num_parts, const Ends& ends) {
    Vec acc[kM][kN];
#pragma GCC unroll 24
    for (int j = 0; j < kN; ++j) {
      const Vec bias = ends.bias != nullptr ? LoadVec(ends.bias + j * kLanes) : Vec{};
#pragma GCC unroll 24
      for (int i = 0; i < kM; ++i) {
        acc[i][j] = ends.from == nullptr
                        ? bias
                        : bias + LoadVec(ends.from + i * ends.from_row + j * kLanes);
      }
    }
    for (int64_t p = 0; p < num_parts; ++p) Sum<kM, kN>(parts[p], acc);
    if (ends.complete) {
#pragma GCC unroll 24
      for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
        for (int j = 0; j < kN; ++j) {
          acc[i][j] = AtMost(AtLeast(acc[i][j], Splat(ends.least)), Splat(ends.most));
        }
      }
    }
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) StoreVec(ends.to + i * ends.to_row + j * kLanes, acc[i][j]);
    }
  }
};

// --- A panel -------------------------------------------------------------------------

// A range of the depth: several whole taps if they are short, or a part of a long one.
struct Share {
  int64_t tap = 0;
  int64_t taps = 1;
  int64_t from = 0;
  int64_t depth = 0;
};

Share ShareAt(const GemmPanel& p, int64_t done) {
  Share s;
  s.tap = done / p.depth;
  s.from = done % p.depth;
  s.depth = Least(kPart, p.depth - s.from);
  if (s.from == 0 && p.depth < kPart) {
    s.depth = p.depth;
    s.taps = Least(Least(kPart / p.depth, kMostParts), p.taps - s.tap);
  }
  return s;
}

class Panel {
 public:
  Panel(const GemmPanel& panel, float* scratch)
      : p_(panel),
        width_(panel.vectors * kLanes),
        edge_(panel.columns < width_),
        tile_(scratch),
        block_rows_(RowsFor(panel.vectors)) {}

  void Run() {
    const int64_t length = p_.taps * p_.depth;
    for (int64_t done = 0; done < length;) {
      const Share share = ShareAt(p_, done);
      const int64_t steps = share.taps * share.depth;
      int64_t rows = 0;
      for (int64_t i = 0; i < p_.rows; i += rows) {
        rows = BlockRows(p_.rows - i, p_.vectors);
        RunBlock(i, rows, share, done == 0, done + steps == length);
      }
      done += steps;
    }
  }

 private:
  // Prefetches the weights after this share, in as many portions as there are blocks of rows.
  void Fetch(int64_t row, const Share& share, Part* part, int64_t index) const {
    const int64_t steps = share.taps * share.depth;
    const int64_t blocks = (p_.rows + block_rows_ - 1) / block_rows_;
    const int64_t lines = (steps * width_ * 4 + 63) / 64;
    const int64_t times = steps / kFetchEvery * blocks;
    if (times == 0) return;
    const int64_t each = Least((lines + times - 1) / times, kMostFetched);
    const int64_t behind =
        (row / block_rows_ * (steps / kFetchEvery) + index * (share.depth / kFetchEvery)) * each *
        64;
    const char* next = reinterpret_cast<const char*>(
        p_.weights + (share.tap * p_.depth + share.from + steps) * width_);
    part->fetch = next + behind;
    const char* last = part->fetch + share.depth / kFetchEvery * each * 64;
    const bool inside = last <= reinterpret_cast<const char*>(p_.end);
    part->lines = inside && behind < lines * 64 ? each : 0;
  }

  void RunBlock(int64_t row, int64_t rows, const Share& share, bool first, bool complete) {
    Part parts[kMostParts];
    for (int64_t t = 0; t < share.taps; ++t) {
      Part& part = parts[t];
      const int64_t tap = share.tap + t;
      part.depth = share.depth;
      part.weights = p_.weights + (tap * p_.depth + share.from) * width_;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t offset = p_.offsets[(row + i) * p_.taps + tap];
        part.rows[i] = (offset < 0 ? p_.zeros : p_.x + offset) + share.from;
      }
      Fetch(row, share, &part, t);
    }
    Ends ends;
    ends.bias = first ? p_.bias : nullptr;
    ends.from = first ? p_.addend : p_.y;
    ends.from_row = first ? p_.addend_row : p_.y_row;
    ends.complete = complete;
    ends.least = p_.least;
    ends.most = p_.most;
    if (ends.from != nullptr) ends.from += row * ends.from_row;
    float* y = p_.y + row * p_.y_row;
    ends.to = y;
    ends.to_row = p_.y_row;
    // A scratch tile gives rows of whole vectors if columns end within a vector.
    if (edge_) {
      if (ends.from != nullptr) Copy(rows, ends.from, ends.from_row, tile_, width_);
      ends.from = ends.from == nullptr ? nullptr : tile_;
      ends.from_row = ends.to_row = width_;
      ends.to = tile_;
    }
    FindBlock<Block>(rows, p_.vectors)(parts, share.taps, ends);
    if (complete) Finish(row, rows, ends.to, ends.to_row);
    if (edge_) Copy(rows, tile_, width_, y, p_.y_row);
  }

  void Copy(int64_t rows, const float* from, int64_t from_row, float* to, int64_t to_row) const {
    for (int64_t i = 0; i < rows; ++i) {
      __builtin_memcpy(to + i * to_row, from + i * from_row, p_.columns * sizeof(float));
    }
  }

  void Finish(int64_t row, int64_t rows, float* y, int64_t y_row) const {
    for (int64_t s = 0; s < p_.num_stages; ++s) {
      const GemmStage& stage = p_.stages[s];
      for (int64_t i = 0; i < rows; ++i) {
        ApplyRow(stage, stage.operand + (row + i) * stage.row, p_.columns, y + i * y_row);
      }
    }
  }

  const GemmPanel& p_;
  const int64_t width_;
  const bool edge_;
  float* const tile_;
  const int64_t block_rows_;
};

// Packs columns [column, column + kLanes) whose depth is contiguous: squares are transposed in
// registers.
void PackSquares(const GemmPack& pack, int64_t column, int64_t width) {
  const float* from = pack.from + column * pack.column;
  float* to = pack.to + column;
  int64_t k = 0;
  for (; k + kLanes <= pack.depth; k += kLanes) {
    Vec square[kLanes];
#pragma GCC unroll 24
    for (int64_t j = 0; j < kLanes; ++j) square[j] = LoadVec(from + j * pack.column + k);
    TransposeSquare<1>(square);
#pragma GCC unroll 24
    for (int64_t j = 0; j < kLanes; ++j) StoreVec(to + (k + j) * width, square[j]);
  }
  for (; k < pack.depth; ++k) {
#pragma GCC unroll 24
    for (int64_t j = 0; j < kLanes; ++j) to[k * width + j] = from[j * pack.column + k];
  }
}

void Pack(const GemmPack& pack) {
  const int64_t width = pack.vectors * kLanes;
  int64_t done = 0;
  if (pack.step == 1) {
    for (; done + kLanes <= pack.columns; done += kLanes) PackSquares(pack, done, width);
  }
  for (int64_t k = 0; k < pack.depth; ++k) {
    const float* from = pack.from + k * pack.step;
    float* to = pack.to + k * width;
    for (int64_t j = done; j < pack.columns; ++j) to[j] = from[j * pack.column];
    for (int64_t j = pack.columns; j < width; ++j) to[j] = 0;
  }
}

void Run(const GemmPanel& panel, float* scratch) { Panel(panel, scratch).Run(); }

}  // namespace

const GemmTable& TheGemm() {
  static const GemmTable table = {Run, Pack, kLanes, kVectors};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const GemmTable& Avx512Gemm() { return avx512::TheGemm(); }
#else
const GemmTable& Avx2Gemm() { return avx2::TheGemm(); }
#endif

}  // namespace weft::cpu
