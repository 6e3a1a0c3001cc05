// Runs kernels without a compiler: a tile of elements at a time through functions
// compiled ahead (tile_ops.h), nests in parallel over their outer loops.
//
// What a run computes does not depend on the number of threads: each point of the
// outer loops is one thread's.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_

#include "absl/status/status.h"
#include "backends/cpu/interpreter/tile_program.h"

namespace weft::cpu {

// `args` are the kernel's arguments, each at its first element. `workspace` holds
// program.workspace_bytes for each thread, aligned to 64 bytes. Allocates nothing
// but the message of an error: OutOfRange when an index is out of bounds; the rest
// is computed nevertheless.
absl::Status RunTiles(const TileProgram& program, void* const* args, char* workspace, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_INTERPRETER_H_
