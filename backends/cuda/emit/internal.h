// Declarations shared by the files of the CUDA emitter.
#ifndef WEFT_BACKENDS_CUDA_EMIT_INTERNAL_H_
#define WEFT_BACKENDS_CUDA_EMIT_INTERNAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/types.h"
#include "lowering/emit/loop_text.h"
#include "lowering/emit/placement.h"
#include "lowering/emit/size_table.h"
#include "lowering/kernel.h"

namespace weft::cuda {

// The largest and smallest numbers of a dtype, as text: infinities for floats.
std::string LeastText(DType dtype);
std::string MostText(DType dtype);

// Groups of V neighbouring points of the lane loop. A thread computes the points of a group one by
// one, in a loop over `j`, and accesses their elements together where they lie side by side.
struct Groups {
  int size = 1;          // 1: there are no groups, and V is not declared.
  int loop = -1;         // The lane loop.
  std::string first;     // Name of the loop's variable at the first point of a group.
  bool reduced = false;  // Each point of a group has results of reductions of its own.
};

// The body of one stage as statements: outside of the inner loops, and inside; before and after the
// loop over the points of a group.
struct StageCode {
  std::string outside;
  std::string before;
  std::string inside;
  std::string after;
  bool checks = false;  // The code may set the error flag.
};

// True if a group's elements of the access lie side by side, unless sizes make them cross
// alignment.
bool IsJoined(const Access& access, const Groups& groups);

// `order` has level 0 for outer loops and 1 for inner ones; `inner`: the stage runs inner loops.
absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const emit::LoopOrder& order,
                      const Groups& groups, absl::Span<const emit::Placement> reduced, bool inner,
                      emit::SizeTable* sizes, StageCode* code);

// True for reductions that give the position of a value.
bool LooksForPosition(const Reduction& r);

// Bodies of the functions of a nest; the latter two are empty if it cannot be split.
struct NestText {
  std::string whole;
  std::string parts;
  std::string finish;
};

// Sets in `result` what the nest's launches depend on.
absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                      emit::SizeTable* sizes, NestText* text, CudaNest* result);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_INTERNAL_H_
