// Library steps: ops that the backend has routines for, with what is done to their
// results before they are stored.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_H_
#define WEFT_BACKENDS_CPU_LIBRARY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/panel_weights.h"
#include "backends/cpu/run_view.h"
#include "backends/cpu/tile_ops.h"
#include "graph/core/attr.h"
#include "graph/core/op.h"
#include "lowering/plan.h"

namespace weft::cpu {

// A step for one assignment of the symbols.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual int64_t scratch_bytes() const = 0;
  // Memory of the operands, of the first result, each at the view's first element;
  // absent operands are null. `scratch` is aligned to 64 bytes. Unimplemented when the
  // values are none that the routine takes: the caller evaluates the op.
  virtual absl::Status Run(absl::Span<void* const> args, void* result, void* scratch) = 0;
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
  const std::vector<Epilogue>* epilogue = nullptr;
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
  // What products and convolutions of f32 may read instead.
  DnnReading reading;
};

// Unimplemented when no routine takes these sizes and strides; the caller then
// evaluates the op as the reference does.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(const LibraryStep& step,
                                                             const LibraryContext& context);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_H_
