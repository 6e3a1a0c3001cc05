// Library steps: ops that the backend has routines for, with what is done to their
// results before they are stored.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/library/integer_weights.h"
#include "backends/cpu/library/panel_weights.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/runtime/run_view.h"
#include "lowering/plan.h"

namespace weft {
class AttrList;
class OpDef;
}  // namespace weft

namespace weft::cpu {

// The memory of one run of a call, each operand and the result at the view's first element.
struct CallMemory {
  absl::Span<void* const> args;  // Absent operands are null.
  void* result = nullptr;
  void* scratch = nullptr;  // Aligned to 64 bytes.
  // By operand, a bound of the magnitude of its elements: infinite where none is known, or
  // where elements may be infinite or NaN. Empty: no bound is known.
  absl::Span<const float> bounds;

  float bound(int arg) const {
    return bounds.empty() ? std::numeric_limits<float>::infinity() : bounds[arg];
  }
};

// A step for one assignment of the symbols.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual int64_t scratch_bytes() const = 0;
  // Unimplemented, before anything is written, when the routine does not take these values:
  // the caller evaluates the op.
  virtual absl::Status Run(const CallMemory& memory) = 0;
  // A bound of the magnitude of the last run's results, or infinity.
  virtual float result_bound() const { return std::numeric_limits<float>::infinity(); }
  // Which routine it is, for traces.
  virtual std::string name() const = 0;
  // It reads bf16 of operands of f32, 8 bits of those of i32.
  virtual bool rounds_operands() const { return false; }
  virtual bool narrows_integers() const { return false; }
};

struct LibraryStep {
  const OpDef* op = nullptr;
  const AttrList* attrs = nullptr;  // Without symbols.
  std::vector<RunView> args;
  RunView result;
  absl::Span<const Epilogue> epilogue;
  // The operand that lies where the result does; -1: none. It is that of an `add` that
  // comes first in the epilogue, biases aside.
  int replaced = -1;
  // By operand: the bytes of a constant, at the view's first element, and its number;
  // null for others.
  std::vector<const void*> constants;
  std::vector<int64_t> constant_keys;
  // Gives operand 1, which is constant but not as `args` has it.
  std::function<const void*()> load;
};

struct LibraryContext {
  Isa isa = Isa::kAvx2;
  const TileTable* table = nullptr;
  int threads = 1;
  DnnWeights* weights = nullptr;
  PanelWeights* panels = nullptr;
  IntegerWeights* integers = nullptr;
  // What products and convolutions of f32 may read instead.
  DnnReading reading;
};

// The routine takes as much of the epilogue as it is shown to do (epilogue_claims.h), a kernel
// the rest. Unimplemented when no routine takes these sizes and strides; the caller then
// evaluates the op as the reference does.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(const LibraryStep& step,
                                                             const LibraryContext& context);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_H_
