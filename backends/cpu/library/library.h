// Library steps: ops that the backend has routines for, with their epilogues.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/library/found_finish.h"
#include "backends/cpu/library/integer_weights.h"
#include "backends/cpu/library/panel_weights.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/runtime/run_view.h"
#include "lowering/plan.h"

namespace weft {
class AttrList;
struct OpSchema;
struct PlanOps;
}  // namespace weft

namespace weft::cpu {

// The memory of one run: the first element of each operand's view and of the result's.
struct CallMemory {
  absl::Span<void* const> args;  // Absent operands are null.
  void* result = nullptr;
  void* scratch = nullptr;  // Aligned to 64 bytes.
  // By operand: an upper bound of the magnitudes of its elements; infinite if it is unknown or
  // elements may be infinite or NaN. Empty: no bound is known.
  absl::Span<const float> bounds;
  // All results, for ops with several; absent ones are null.
  absl::Span<void* const> results;

  float bound(int arg) const {
    return bounds.empty() ? std::numeric_limits<float>::infinity() : bounds[arg];
  }
};

// A library step prepared for one assignment of the symbols.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual int64_t scratch_bytes() const = 0;
  // Unimplemented, before anything is written, if the routine does not support these values: the
  // caller then evaluates the op.
  virtual absl::Status Run(const CallMemory& memory) = 0;
  // An upper bound of the magnitudes of the last run's results, or infinity.
  virtual float result_bound() const { return std::numeric_limits<float>::infinity(); }
  // Name of the routine, for traces.
  virtual std::string name() const = 0;
  // True if the call reads f32 operands as bf16, or i32 operands as 8 bits.
  virtual bool rounds_operands() const { return false; }
  virtual bool narrows_integers() const { return false; }
};

struct LibraryStep {
  RoutineOp op = RoutineOp::kMatmul;
  // Checked by CheckRoutineOp; the values of attributes are constants.
  const OpSchema* schema = nullptr;
  const AttrList* attrs = nullptr;
  // The bodies of the epilogue's ops; null: there are none.
  const PlanOps* bodies = nullptr;
  std::vector<RunView> args;
  RunView result;
  // Results of the op behind the first one; unused ones are absent.
  std::vector<RunView> more_results;
  absl::Span<const Epilogue> epilogue;
  // The operand whose memory the result takes; -1: none. It belongs to an `add` that is first in
  // the epilogue, not counting a bias.
  int replaced = -1;
  // By operand: the bytes of a constant, at the view's first element, and its number; null for
  // other operands.
  std::vector<const void*> constants;
  std::vector<int64_t> constant_keys;
  // Loads operand 1, if it is a constant in another layout than that of `args`.
  std::function<const void*()> load;
  // What becomes of the sums of an integer matmul or convolution, whose dtype `result` then has.
  // Its arguments are behind those of the op.
  std::optional<FoundFinish> finish;
};

struct LibraryContext {
  Isa isa = Isa::kAvx2;
  bool vnni = false;
  const TileTable* table = nullptr;
  int threads = 1;
  DnnWeights* weights = nullptr;
  PanelWeights* panels = nullptr;
  IntegerWeights* integers = nullptr;
  // What products and convolutions of f32 may read instead.
  DnnReading reading;
  // Held while a call is made, and by calls that use the weights above later. Null: one thread
  // makes and runs all calls.
  absl::Mutex* mutex = nullptr;
};

// The routine of the target that computes an op with results of a dtype: "integer_matmul".
absl::string_view RoutineName(RoutineOp op, DType result);

// The routine applies as much of the epilogue as epilogue_claims.h allows, and a kernel applies the
// rest. Unimplemented if no routine supports these sizes and strides; the caller then evaluates the
// op as the reference does.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(const LibraryStep& step,
                                                             const LibraryContext& context);

// A matmul or convolution of 8-bit integers with its finish. Unimplemented unless the weights are
// constant.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeFinishedCall(const LibraryStep& step,
                                                              const LibraryContext& context);
// Such a matmul or convolution in plain loops, for all of their sizes and weights; no finish.
std::unique_ptr<LibraryCall> MakePlainQuantizedCall(const LibraryStep& step, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_
