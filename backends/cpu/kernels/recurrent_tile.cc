// Steps of recurrent layers; compiled once for each instruction set.
//
// A block of units is multiplied in parts of the depth, whose weights stay in L2 for all rows; sums
// wait in `tile` meanwhile. Each element is the same sum for every number of threads and rows.
#include "backends/cpu/kernels/recurrent_tile.h"

#include "backends/cpu/kernels/gemm_blocks.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

// Weights of a part. They are streamed from L2, which costs less than to load and store the sums
// once more for each part that L1 holds.
constexpr int64_t kPartFloats = 16384;

// --- The matmul of a block of units --------------------------------------------------------

template <int kM, int kG>
struct Block {
  // Adds h [kM, depth] times w [depth, kG vectors] to the tile, or starts it.
  static void Run(const float* h, int64_t h_row, const float* w, int64_t depth, float* tile,
                  bool starts) {
    Vec acc[kM][kG];
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
      for (int g = 0; g < kG; ++g) {
        acc[i][g] = starts ? Vec{} : LoadVec(tile + (i * kG + g) * kLanes);
      }
    }
    for (int64_t k = 0; k < depth; ++k, w += kG * kLanes) {
      Vec row[kG];
#pragma GCC unroll 24
      for (int g = 0; g < kG; ++g) row[g] = LoadVec(w + g * kLanes);
#pragma GCC unroll 24
      for (int i = 0; i < kM; ++i) {
        const Vec x = Splat(h[i * h_row + k]);
#pragma GCC unroll 24
        for (int g = 0; g < kG; ++g) acc[i][g] = Fma(x, row[g], acc[i][g]);
      }
    }
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
      for (int g = 0; g < kG; ++g) StoreVec(tile + (i * kG + g) * kLanes, acc[i][g]);
    }
  }
};

// The tile becomes h times the weights of one block of units: [rows, kG, lanes].
template <int kG>
void Multiply(const RecurrentStep& s, const float* h, int64_t block) {
  constexpr int kRows = RowsFor(kG);
  const float* w = s.weights + block * s.hidden * kG * kLanes;
  const int64_t part = s.rows <= kRows ? s.hidden : kPartFloats / (kG * kLanes);
  for (int64_t k = 0; k < s.hidden; k += part) {
    const int64_t depth = Least(part, s.hidden - k);
    for (int64_t i = 0; i < s.rows; i += kRows) {
      BlockOf<Block, kRows, kG>(s.rows - i)(h + i * s.state_row + k, s.state_row,
                                            w + k * kG * kLanes, depth, s.tile + i * kG * kLanes,
                                            k == 0);
    }
  }
}

// --- Activations -----------------------------------------------------------------------------

inline Vec Expm1(Vec x) {
  // Keeps the digits of small results, which exp(x) - 1 loses. Below -40 it is -1.
  const Vec t = Tanh(AtLeast(x, Splat(-40.0f)) * 0.5f);
  return 2.0f * t / (1.0f - t);
}

inline Vec Softplus(Vec x) {
  const Vec small = Exp((Vec)((Ints)x | (Ints)Splat(-0.0f)));
  Vec log;
#pragma GCC unroll 24
  for (int64_t i = 0; i < kLanes; ++i) log[i] = __builtin_log1pf(small[i]);
  return AtLeast(x, Vec{}) + log;
}

// Called for activations other than the usual ones; one copy of them all serves.
__attribute__((noinline)) Vec Activate(const RecurrentActivation& a, Vec v) {
  switch (a.function) {
    case RecurrentFunction::kRelu:
      return AtLeast(v, Vec{});
    case RecurrentFunction::kTanh:
      return Tanh(v);
    case RecurrentFunction::kSigmoid:
      return Sigmoid(v);
    case RecurrentFunction::kAffine:
      return v * a.alpha + a.beta;
    case RecurrentFunction::kLeakyRelu:
      return v < Vec{} ? v * a.alpha : v;
    case RecurrentFunction::kThresholdedRelu:
      return v > Splat(a.alpha) ? v : Vec{};
    case RecurrentFunction::kScaledTanh:
      return Tanh(v * a.beta) * a.alpha;
    case RecurrentFunction::kHardSigmoid:
      return AtMost(AtLeast(v * a.alpha + a.beta, Vec{}), Splat(1.0f));
    case RecurrentFunction::kElu:
      return v < Vec{} ? Expm1(v) * a.alpha : v;
    case RecurrentFunction::kSoftsign:
      return v / ((Vec)((Ints)v & 0x7fffffff) + 1.0f);
    case RecurrentFunction::kSoftplus:
      return Softplus(v);
  }
  return v;
}

// Activation `i` of the step without clip.
template <bool kPlain>
inline Vec Apply(const RecurrentStep& s, int i, RecurrentFunction usual, Vec v) {
  if constexpr (!kPlain) return Activate(s.activations[i], v);
  return usual == RecurrentFunction::kSigmoid ? Sigmoid(v) : Tanh(v);
}

template <bool kPlain>
inline Vec Gate(const RecurrentStep& s, int i, RecurrentFunction usual, Vec v) {
  if constexpr (!kPlain) v = AtMost(AtLeast(v, Splat(-s.clip)), Splat(s.clip));
  return Apply<kPlain>(s, i, usual, v);
}

constexpr RecurrentFunction kS = RecurrentFunction::kSigmoid;
constexpr RecurrentFunction kT = RecurrentFunction::kTanh;

// --- Gates of one sequence and one block -------------------------------------------------------

// Where the units of a block are for one row.
struct Place {
  Place(const RecurrentStep& s, int64_t block, int64_t row, int all_gates)
      : row(row),
        unit(block * kLanes),
        state(row * s.state_row + unit),
        x(s.x + row * s.x_row + unit * all_gates),
        runs(s.lengths == nullptr || s.time < s.lengths[row]) {}

  Vec Input(int gate) const { return LoadVec(x + gate * kLanes); }

  int64_t row, unit, state;
  const float* x;
  bool runs;  // The sequence has not ended.
};

inline void Store(const RecurrentStep& s, const Place& at, Vec h) {
  StoreVec(s.h_after + at.state, at.runs ? h : LoadVec(s.h + at.state));
  if (s.y == nullptr) return;
  const Vec result = at.runs ? h : Vec{};
  float* y = s.y + at.row * s.y_row + at.unit;
  if (at.unit + kLanes <= s.hidden) return StoreVec(y, result);
  __builtin_memcpy(y, &result, (s.hidden - at.unit) * sizeof(float));
}

template <bool kPlain>
void LstmGates(const RecurrentStep& s, const Place& at, const Vec* sums) {
  const Vec c = LoadVec(s.c + at.state);
  // Gate `g`, numbered as ONNX does; `cell` goes through the peepholes.
  const auto gate = [&](int g, Vec cell) {
    Vec v = sums[g] + at.Input(g);
    if constexpr (!kPlain) {
      if (s.peepholes != nullptr) v = v + LoadVec(s.peepholes + g * s.state_row + at.unit) * cell;
    }
    return Gate<kPlain>(s, 0, kS, v);
  };
  const Vec input = gate(0, c);
  const Vec forget = !kPlain && s.input_forget ? 1.0f - input : gate(2, c);
  const Vec cell = Gate<kPlain>(s, 1, kT, sums[3] + at.Input(3));
  const Vec after = forget * c + input * cell;
  const Vec h = gate(1, after) * Apply<kPlain>(s, 2, kT, after);
  if (at.runs) StoreVec(s.c + at.state, after);
  Store(s, at, h);
}

template <bool kPlain>
inline Vec Hidden(const RecurrentStep& s, const Place& at, Vec state, Vec update) {
  const Vec hidden = Gate<kPlain>(s, 1, kT, at.Input(2) + state);
  return (1.0f - update) * hidden + update * LoadVec(s.h + at.state);
}

template <bool kPlain>
void GruGates(const RecurrentStep& s, const Place& at, const Vec* sums) {
  const Vec update = Gate<kPlain>(s, 0, kS, sums[0] + at.Input(0));
  const Vec reset = Gate<kPlain>(s, 0, kS, sums[1] + at.Input(1));
  const Vec state = sums[2] + LoadVec(s.state_bias + at.unit);
  Store(s, at, Hidden<kPlain>(s, at, state * reset, update));
}

template <bool kPlain>
void GruFirst(const RecurrentStep& s, const Place& at, const Vec* sums) {
  StoreVec(s.update + at.state, Gate<kPlain>(s, 0, kS, sums[0] + at.Input(0)));
  const Vec reset = Gate<kPlain>(s, 0, kS, sums[1] + at.Input(1));
  StoreVec(s.kept + at.state, reset * LoadVec(s.h + at.state));
}

template <bool kPlain>
void GruSecond(const RecurrentStep& s, const Place& at, const Vec* sums) {
  const Vec state = sums[0] + LoadVec(s.state_bias + at.unit);
  Store(s, at, Hidden<kPlain>(s, at, state, LoadVec(s.update + at.state)));
}

template <bool kPlain>
void RnnGate(const RecurrentStep& s, const Place& at, const Vec* sums) {
  Store(s, at, Gate<kPlain>(s, 0, kT, sums[0] + at.Input(0)));
}

// --- Steps -------------------------------------------------------------------------------------

template <int kG, int kAllGates, void (*kGates)(const RecurrentStep&, const Place&, const Vec*)>
void RunBlocks(const RecurrentStep& s, const float* h) {
  for (int64_t block = s.first; block < s.last; ++block) {
    Multiply<kG>(s, h, block);
    for (int64_t row = 0; row < s.rows; ++row) {
      Vec sums[kG];
#pragma GCC unroll 24
      for (int g = 0; g < kG; ++g) sums[g] = LoadVec(s.tile + (row * kG + g) * kLanes);
      kGates(s, Place(s, block, row, kAllGates), sums);
    }
  }
}

template <bool kPlain>
void RunStep(RecurrentKind kind, const RecurrentStep& s) {
  switch (kind) {
    case RecurrentKind::kLstm:
      return RunBlocks<4, 4, LstmGates<kPlain>>(s, s.h);
    case RecurrentKind::kGru:
      return RunBlocks<3, 3, GruGates<kPlain>>(s, s.h);
    case RecurrentKind::kGruGates:
      return RunBlocks<2, 3, GruFirst<kPlain>>(s, s.h);
    case RecurrentKind::kGruHidden:
      return RunBlocks<1, 3, GruSecond<kPlain>>(s, s.kept);
    case RecurrentKind::kRnn:
      return RunBlocks<1, 1, RnnGate<kPlain>>(s, s.h);
  }
}

void Run(RecurrentKind kind, const RecurrentStep& step) {
  return step.plain ? RunStep<true>(kind, step) : RunStep<false>(kind, step);
}

}  // namespace

const RecurrentTable& TheRecurrent() {
  static const RecurrentTable table = {Run, kLanes};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const RecurrentTable& Avx512Recurrent() { return avx512::TheRecurrent(); }
#else
const RecurrentTable& Avx2Recurrent() { return avx2::TheRecurrent(); }
#endif

}  // namespace weft::cpu
