// The kernel of a finished step (lowering/finish_kernel.h) in the form of integer_finish.h.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_FOUND_FINISH_H_
#define WEFT_BACKENDS_CPU_LIBRARY_FOUND_FINISH_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "backends/cpu/kernels/integer_finish.h"
#include "backends/runtime/run_view.h"
#include "lowering/kernel.h"

namespace weft::cpu {

// A number, or an argument of the step: one element, or one for each column.
struct FinishOperand {
  float value = 0;
  int arg = -1;
  int64_t offset = 0;  // In elements.
  int64_t stride = 0;  // From column to column; 0: one element for all.
  DType dtype = DType::kF32;

  // The element for a column.
  double At(int64_t column, absl::Span<void* const> args) const;
};

struct FoundFinish {
  // Added to the sums in i32, which wrap; a value of 0 and no argument: nothing.
  FinishOperand sum_bias;
  FinishOperand scale;
  FinishOperand bias;
  // Added behind each middle; a value of 0 and no argument: nothing.
  FinishOperand late_bias[kMaxMiddles];
  int addend = -1;  // An argument with the strides of the result.
  int64_t addend_offset = 0;
  // A narrowing to 8 bits: of a middle, or of the result.
  struct Narrow {
    FinishOperand step = {1};
    FinishOperand zero_point;
  };
  Narrow middle[kMaxMiddles];
  Narrow narrow;
  std::optional<std::array<uint8_t, kByteValues>> table;  // As in IntegerFinish.
  // Its clamps, kinds and numbers, without pointers and without what the operands above hold.
  IntegerFinish finish;

  // Floats of scratch for `columns`, which are whole vectors.
  static int64_t ScratchFloats(int64_t columns) { return (2 + kMaxMiddles) * columns; }
  // With the operands read for `real` columns; the others get zeros.
  IntegerFinish Read(absl::Span<void* const> args, int64_t real, int64_t columns,
                     float* scratch) const;
  // Adds sum_bias to the first summand of each column.
  void AddTo(absl::Span<void* const> args, int64_t real, int32_t* start) const;
};

struct FinishRequest {
  const Kernel& kernel;  // As CheckFinish accepts it.
  absl::Span<const RunView> args;
  int own_args = 0;  // Arguments before those of the kernel.
  const RunView& result;
  int channel = 0;  // The dim of the columns.
};

// Nullopt if the kernel computes something else.
std::optional<FoundFinish> FindFinish(const FinishRequest& request,
                                      absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_FOUND_FINISH_H_
