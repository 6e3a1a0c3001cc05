// Copies between views with equal dims and any strides; also from and to f32 if the other dtype is
// a narrower float.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/runtime/run_view.h"

namespace weft::cpu {

// A program with two arguments, source and target, at the views' first elements. Equal dtypes are
// copied bit by bit. Unimplemented for 4-bit elements.
absl::StatusOr<TileProgram> CompileCopy(const RunView& from, const RunView& to,
                                        const TileTable& table);

// A copy of short runs of bytes that lie side by side on both sides.
struct RunCopy {
  int64_t bytes = 0;  // Of a run.
  // The runs: for each dim its size, and the bytes from run to run on either side.
  std::vector<int64_t> dims, from, to;
};

// Nullopt: the dtypes differ, or the runs are shorter or longer than those that CopyRuns is for.
std::optional<RunCopy> FindRunCopy(const RunView& from, const RunView& to);

// From the views' first elements.
void CopyRuns(const RunCopy& copy, int threads, const char* from, char* to);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_COPY_H_
