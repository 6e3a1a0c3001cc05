// Emits kernels as C++: one translation unit without includes, for GCC and clang, with vector types
// and SLEEF's functions.
//
// A kernel becomes
//
//   extern "C" int NAME(void* const* args, const long* sizes, void* scratch,
//                       long begin, long end);
//
// which runs the points [begin, end) of the kernel's outer loops, counted row-major through its
// nests in order. A vector of points may belong as a whole to the range in which it begins, so the
// ranges of a run have to cover all points. Ranges that do not overlap may run at the same time,
// each with scratch of its own. Arguments point to their first element; `sizes` are the values of
// CcKernel::sizes. The result is 0, or 1 if an index of a gather was out of bounds; the elements
// not stored by then are missing.
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

// The instructions and functions that the code may use. A vector has as many elements as the
// schedules have lanes; the compiler splits vectors that are wider than a register.
struct CcTarget {
  enum class Isa { kGeneric, kAvx2, kAvx512 };
  Isa isa = Isa::kGeneric;
  // The code calls SLEEF's functions, which the loader of the code provides; false: libm's
  // functions, lane by lane.
  bool sleef = true;
};

struct CcKernel {
  std::string symbol;
  // Expressions whose values the `sizes` argument has, in that order.
  std::vector<SymInt> sizes;
  // Number of points of all nests.
  SymInt points;
  // Bytes of scratch; 64-byte aligned.
  SymInt scratch_bytes;
  // Instructions per point, for dividing the points among threads.
  SymInt work_per_point;
};

struct CcUnit {
  std::string text;
  // Number of bytes at the beginning of the text that declare what the kernels use.
  size_t prelude_bytes = 0;
  std::vector<CcKernel> kernels;
};

// Emits a batch of kernels, in order. Symbols are `prefix` and a number. InvalidArgument for
// schedules that are undecided or differ in their lanes; Unimplemented names the kernel and the
// unsupported feature: complex or 4-bit elements.
absl::StatusOr<CcUnit> EmitCc(absl::Span<const Kernel* const> kernels, const CcTarget& target,
                              absl::string_view prefix = "weft_k");

// The same without the kernels that C++ cannot express, which are taken out of the list.
absl::StatusOr<CcUnit> EmitCcOfMost(std::vector<const Kernel*>* kernels, const CcTarget& target,
                                    absl::string_view prefix = "weft_k");

// Compiler flags that the text depends on: the target's instructions, wrapping integers, no
// contraction and no errno.
std::vector<std::string> CcFlags(const CcTarget& target);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_EMIT_EMIT_CC_H_
