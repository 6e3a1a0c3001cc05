// An epilogue as a separate kernel, for ops after a routine that the routine does not support.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/runtime/run_view.h"
#include "lowering/plan.h"

namespace weft {
class OpDef;
}  // namespace weft

namespace weft::cpu {

// Applies the last `chain.size()` ops of the epilogue of `routine` to `from` and stores to `to`,
// which has the same dims and may be the same memory. `args` are the operands of the step. The
// arguments of the program are `from`, the operand of each op that has one, in the order of the
// chain, and `to`, each at its view's first element. Results of 16 bits are rounded after each op.
// Unimplemented for an op that kernels do not support.
absl::StatusOr<TileProgram> CompileEpilogue(const OpDef& routine, absl::Span<const Epilogue> chain,
                                            const RunView& from, absl::Span<const RunView> args,
                                            const RunView& to, const TileTable& table);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_
