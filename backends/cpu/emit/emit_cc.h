// Kernels as C++: one translation unit without includes, written for GCC and
// clang, with vector types and SLEEF's functions.
//
// A kernel becomes
//
//   extern "C" int NAME(void* const* args, const long* sizes, void* scratch,
//                       long begin, long end);
//
// which runs the points [begin, end) of the kernel's outer loops, counted
// row-major through its nests one after another. Ranges that do not overlap may
// run at the same time, each with a scratch of its own. Arguments point to their
// first element; `sizes` are the values of CcKernel::sizes. The result is 0, or 1
// when an index of a gather was out of its bound; what was not yet stored is then
// missing.
//
// The code obeys the kernel's schedule, so that results are equal for every number of threads, and
// equal to the interpreter's (backends/cpu/interpreter) if the code calls SLEEF.
#ifndef WEFT_BACKENDS_CPU_EMIT_EMIT_CC_H_
#define WEFT_BACKENDS_CPU_EMIT_EMIT_CC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

// The instructions and functions that the code may use. Vectors have as many elements as the
// kernels' schedules say; the compiler splits those that are wider than a register.
struct CcTarget {
  enum class Isa { kGeneric, kAvx2, kAvx512 };
  Isa isa = Isa::kGeneric;
  // The code calls SLEEF's functions, which the loader of the code provides; else libm's, lane by
  // lane.
  bool sleef = true;
};

struct CcKernel {
  std::string symbol;
  // In the order of the `sizes` argument.
  std::vector<SymInt> sizes;
  // Points of all nests.
  SymInt points;
  // Bytes of scratch; 64-byte aligned.
  SymInt scratch_bytes;
  // Instructions that one point runs, for deciding how to divide the points.
  SymInt work_per_point;
};

struct CcUnit {
  std::string text;
  std::vector<CcKernel> kernels;
};

// Code for a batch of kernels, in order. Symbols are `prefix` and a number. InvalidArgument for
// schedules that are not decided or differ in their lanes; Unimplemented names the kernel and what
// it needs: complex or 4-bit elements.
absl::StatusOr<CcUnit> EmitCc(absl::Span<const Kernel* const> kernels, const CcTarget& target,
                              absl::string_view prefix = "weft_k");

// What the compiler must be told for the text to mean what it says: the target's
// instructions, wrapping integers, no contraction and no errno.
std::vector<std::string> CcFlags(const CcTarget& target);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_EMIT_EMIT_CC_H_
