// Calls of generated code, without what generates it.
#ifndef WEFT_BACKENDS_CPU_GENERATED_CALL_H_
#define WEFT_BACKENDS_CPU_GENERATED_CALL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

using GeneratedFn = int (*)(void* const* args, const long* sizes,  // NOLINT(runtime/int)
                            void* scratch, long begin, long end);  // NOLINT(runtime/int)

struct GeneratedKernel {
  GeneratedFn fn = nullptr;
  // Expressions whose values the `sizes` argument has, in that order.
  std::vector<SymInt> sizes;
  SymInt points;          // Points of all nests.
  SymInt scratch_bytes;   // Bytes for one thread.
  SymInt work_per_point;  // Instructions.
};

// Code that replaces the interpreter once it is ready.
class KernelCodeSource {
 public:
  virtual ~KernelCodeSource() = default;
  virtual bool ready() const = 0;
  // The kernel's code; null if it has none. Requires ready().
  virtual const GeneratedKernel* Find(const Kernel* kernel) const = 0;
};

// A generated kernel for one assignment of its symbols.
struct GeneratedCall {
  GeneratedFn fn = nullptr;
  std::vector<long> sizes;    // NOLINT(runtime/int)
  long points = 0;            // NOLINT(runtime/int)
  int64_t scratch_bytes = 0;  // Bytes for one thread.
  int64_t work = 0;           // Instructions for all points.
};

// OutOfRange if an index is out of bounds. `scratch` has scratch_bytes for each thread.
absl::Status RunGenerated(const GeneratedCall& call, void* const* args, char* scratch, int threads,
                          absl::string_view name);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_GENERATED_CALL_H_
