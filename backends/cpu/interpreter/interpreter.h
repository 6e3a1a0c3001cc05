// Runs kernels without a compiler: one tile of elements at a time through functions compiled ahead
// (tile_ops.h), with the outer loops of a nest in parallel.
//
// The result does not depend on the number of threads: one thread computes each point of the outer
// loops.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_

#include "absl/status/status.h"
#include "backends/cpu/interpreter/tile_program.h"

namespace weft::cpu {

// `args` are the kernel's arguments, each at its first element. `workspace` holds
// program.workspace_bytes for each thread, aligned to 64 bytes. Allocates nothing but the message
// of an error: OutOfRange if an index is out of bounds; all other elements are still computed.
absl::Status RunTiles(const TileProgram& program, void* const* args, char* workspace, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_
