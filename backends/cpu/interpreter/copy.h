// Copies between views with equal dims and any strides; also from and to f32 if the other dtype is
// a narrower float.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_

#include "absl/status/statusor.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/runtime/run_view.h"

namespace weft::cpu {

// A program with two arguments, source and target, at the views' first elements. Equal dtypes are
// copied bit by bit. Unimplemented for 4-bit elements.
absl::StatusOr<TileProgram> CompileCopy(const RunView& from, const RunView& to,
                                        const TileTable& table);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_
