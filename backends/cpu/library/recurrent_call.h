// Calls of the steps of recurrent_tile.h for whole layers.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernels/gemm_tile.h"
#include "backends/cpu/kernels/recurrent_tile.h"
#include "backends/cpu/library/library.h"
#include "backends/cpu/library/recurrent_weights.h"
#include "base/host_buffer.h"

namespace weft::cpu {

// An operand or a result of rank 3 with strides in elements, or the slot of an absent one.
struct RecurrentView {
  int slot = -1;
  std::vector<int64_t> strides;
};

// Weights [directions, gates * hidden, depth], packed; null `packed`: each run packs them.
struct RecurrentMatrix {
  int slot = -1;
  GatePacking packing;
  int64_t rows = 0;                                       // gates * hidden
  std::vector<std::shared_ptr<const HostBuffer>> packed;  // By direction.
};

struct RecurrentShape {
  std::string name;
  RecurrentKind kind = RecurrentKind::kLstm;  // kGruGates: kGruHidden follows.
  int64_t gates = 4;
  int64_t length = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reverse = false;
  RecurrentView x, initial_h, initial_c;
  int bias = -1;  // Slots of dense operands; -1: absent.
  int lengths = -1;
  int peepholes = -1;
  RecurrentView y, y_h, y_c;
  RecurrentMatrix w;
  std::vector<RecurrentMatrix> r;  // Of each part of a step.
  // By direction: activations and flags; the rest is filled in by the call.
  std::vector<RecurrentStep> steps;
  const GemmTable* gemm = nullptr;
  const RecurrentTable* table = nullptr;
};

std::unique_ptr<LibraryCall> MakeRecurrentCall(RecurrentShape shape, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_CALL_H_
