// An epilogue as a separate kernel, for ops after a routine that the routine does not support.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/cpu/library/library.h"
#include "backends/runtime/run_view.h"
#include "lowering/plan.h"

namespace weft::cpu {

// Applies `chain`, the last ops of the step's epilogue, to `from` and stores to the step's result,
// which has the same dims and may be the same memory. The arguments of the program are `from`, the
// operand of each op that has one, in the order of the chain, and the result, each at its view's
// first element. Results of 16 bits are rounded after each op. Unimplemented for an op without a
// body for the result's dtype.
absl::StatusOr<TileProgram> CompileEpilogue(const LibraryStep& step,
                                            absl::Span<const Epilogue> chain, const RunView& from,
                                            const TileTable& table);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_KERNEL_H_
