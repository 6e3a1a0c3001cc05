// The loops of a nest with sizes as numbers, simplified as far as its schedule allows.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_TILE_LOOPS_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_TILE_LOOPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

using SizeFn = absl::FunctionRef<std::optional<int64_t>(SymInt)>;

absl::StatusOr<int64_t> SizeOf(SymInt s, SizeFn value_of);

// The accesses of a nest, stage by stage: those of loads in the order of the body, then those of
// stores.
using StageAddresses = std::vector<std::vector<TileAddress>>;

struct NestLoops {
  std::vector<TileLoop> loops;
  // By loop of the kernel: its index in `loops`, or -1 if it has one point.
  std::vector<int> place;
  StageAddresses addresses;
  bool empty = false;  // An outer loop has no points.
  int64_t inner_points = 1;
  int lane = -1;
  bool columns = false;
};

// The terms of addresses refer to their values; their functions are set later.
absl::StatusOr<NestLoops> MakeLoops(const Kernel& kernel, const Nest& nest,
                                    const NestSchedule& schedule, SizeFn value_of);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_TILE_LOOPS_H_
