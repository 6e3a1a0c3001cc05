// One time step of a recurrent layer in f32: the matmul of the states with the recurrent weights,
// and the gates. Compiled once for each instruction set from one source (recurrent_tile.cc). As in
// tile_ops.h, no inline functions.
//
// Units (elements of a state) are computed in blocks of one vector. The weights of a block are
// packed as [hidden, gates, lanes], so that the accumulators of a block hold all gates of its
// units.
#ifndef WEFT_BACKENDS_CPU_KERNELS_RECURRENT_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_RECURRENT_TILE_H_

#include <cstdint>

namespace weft::cpu {

// Gates have ONNX's order. Without linear_before_reset a GRU's step has two parts, because the
// second matmul reads what the reset gates of all units keep.
enum class RecurrentKind : uint8_t {
  kLstm,       // Input, output, forget and cell gates.
  kGru,        // Update, reset and hidden gates, with linear_before_reset.
  kGruGates,   // Update and reset gates; writes `update` and `kept`.
  kGruHidden,  // The hidden gate, of a matmul with `kept`.
  kRnn,
};

// ONNX's activations.
enum class RecurrentFunction : uint8_t {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::kTanh;
  float alpha = 0;
  float beta = 0;
};

inline constexpr int64_t kRecurrentGates = 4;  // Most gates of an op.

// A step of `rows` sequences and of the blocks of units [first, last). Matrices of states are
// [rows, state_row], where state_row is `hidden` rounded up to whole vectors.
struct RecurrentStep {
  int64_t rows = 0;
  int64_t hidden = 0;
  int64_t state_row = 0;
  int64_t first = 0;
  int64_t last = 0;
  const float* weights = nullptr;  // [blocks, hidden, gates of this part, lanes]
  // Sums of the inputs and the biases, [rows, blocks, all gates, lanes].
  const float* x = nullptr;
  int64_t x_row = 0;
  const float* state_bias = nullptr;  // [state_row], of a GRU's hidden gate.
  // [3, state_row] of the input, output and forget gates; null: none.
  const float* peepholes = nullptr;
  // h before and after the step; `c` is overwritten.
  const float* h = nullptr;
  float* h_after = nullptr;
  float* c = nullptr;
  float* update = nullptr;
  float* kept = nullptr;
  // By row: the time at which the sequence ends; null: none ends. Behind its end a sequence keeps
  // its states, and its result is 0.
  const int32_t* lengths = nullptr;
  int64_t time = 0;
  // Results, whose rows are contiguous; null: they are not stored.
  float* y = nullptr;
  int64_t y_row = 0;
  float* tile = nullptr;  // [rows, kRecurrentGates, lanes] of scratch.
  RecurrentActivation activations[3];
  float clip = 0;  // Bound of the activations' arguments; infinity: none.
  bool input_forget = false;
  // The activations are ONNX's defaults, without clip, peepholes and input_forget.
  bool plain = true;
};

struct RecurrentTable {
  void (*run)(RecurrentKind kind, const RecurrentStep& step) = nullptr;
  int64_t lanes = 0;
};

const RecurrentTable& Avx2Recurrent();
const RecurrentTable& Avx512Recurrent();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_RECURRENT_TILE_H_
