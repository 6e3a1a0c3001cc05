// A kernel compiled for one assignment of its symbols: sizes are numbers, loops are joined and
// dropped, one loop is cut into tiles of lanes, and functions are chosen.
//
// The kernel's schedule says which loop is cut, and in which order values are reduced
// (lowering/kernel_schedule.h): results equal those of generated code. A uniform value is equal in
// all lanes and takes one element.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_TILE_PROGRAM_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_TILE_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

struct TileTerm {
  int value = -1;
  TermFn fn = nullptr;
  int64_t bytes = 0;  // Bytes of an index.
  int64_t stride = 0;
  int64_t bound = 0;
  bool uniform = false;
};

struct TileGuard {
  int64_t offset = 0;
  std::vector<int64_t> strides;  // By loop of the nest.
  int64_t bound = 0;
};

// The address of the elements of a load or store.
struct TileAddress {
  int arg = -1;
  int64_t element_bytes = 0;
  int64_t offset = 0;
  std::vector<int64_t> strides;  // By loop of the nest.
  int64_t lane_stride = 0;
  std::vector<TileTerm> terms;
  bool varying_terms = false;
  std::vector<TileGuard> guards;
};

struct TileOp {
  enum class Kind : uint8_t {
    kCompute,  // dst = fn(a, b, c)
    kLoad,     // dst = elements at the address; in place where they can be used as
               // they lie (`move` null)
    kIndex,    // dst = the number of loop `loop`
    kRow,      // dst = the element of row `loop` at this point
    kKeepIn,   // dst is the memory of row `loop`
    kStoreIn,  // dst is the memory at the address
    kKeep,     // Row `loop` = a
    kStore,    // Memory at the address = a
    kReduce,   // Adds a to reduction `loop`
  };
  Kind kind = Kind::kCompute;
  bool uniform = false;  // The result is one element.
  int dst = -1;
  int a = 0;
  int b = 0;
  int c = 0;
  int loop = -1;
  TileFn fn = nullptr;
  int address = -1;
  MoveFn move = nullptr;
  GatherFn gather = nullptr;
  int64_t tile_bytes = 0;      // Bytes of an element in the tile.
  TileFn broadcast = nullptr;  // Fills lanes with `otherwise`, value a, in guarded loads.
  IotaFn iota = nullptr;
  ReduceFn reduce = nullptr;
  RowFn reduce_row = nullptr;
};

struct TileReduction {
  ReduceOp op = ReduceOp::kSum;
  DType dtype = DType::kF32;
  int64_t bytes = 0;  // Bytes of an element.
  bool arg = false;
  bool blocked = false;  // A float sum is computed in blocks.
  int64_t copies = 1;    // Rows: groups of accumulators.
  TileFn start = nullptr;
  RowEndFn finish = nullptr;  // For rows.
  ReduceFn add = nullptr;     // Adds blocks to their sums.
  // Offsets in a thread's workspace: accumulators, positions, block sums, the result of a row.
  int64_t acc = 0;
  int64_t at = 0;
  int64_t sum = 0;
  int64_t result = 0;
};

// The initial place of a value's elements.
struct TileValue {
  enum class Place : uint8_t { kNone, kConstant, kWorkspace };
  Place place = Place::kNone;
  int64_t offset = 0;
};

struct TileStage {
  bool per_row = false;
  std::vector<TileOp> ops;
  std::vector<TileAddress> addresses;
  std::vector<TileValue> values;
  int64_t values_at = 0;  // Number of its first value in the nest.
  int first_reduction = 0;
  int num_reductions = 0;
};

struct TileLoop {
  int64_t extent = 1;
  bool inner = false;
  // Change of the row-major position among the inner points per step.
  int64_t position = 0;
};

struct TileRow {
  int64_t offset = 0;  // Offset in a thread's workspace.
  int64_t bytes = 0;   // Bytes of an element.
};

struct TileNest {
  std::vector<TileLoop> loops;  // Outer loops, then inner ones.
  int lane = -1;                // -1: all points one by one.
  bool columns = false;
  int64_t tile = 1;
  int64_t lanes = 1;  // Rows: accumulators of a group.
  int64_t block = 1;  // Elements per block of a sum.
  int64_t inner_points = 1;
  int64_t items = 0;  // Units of parallel work.
  int64_t lane_tiles = 1;
  std::vector<TileStage> stages;
  std::vector<TileReduction> reductions;
  std::vector<TileRow> rows;
  int64_t cost = 0;  // Approximate number of elements computed.
};

struct TileProgram {
  std::string name;
  std::vector<TileNest> nests;
  std::vector<int64_t> constants;  // Memory of uniform and broadcast constants.
  // Layout of a thread's workspace: offsets of a gather, buffers of the nests, a pointer per value,
  // the loop indices.
  int64_t values_at = 0;
  int64_t loops_at = 0;
  int64_t workspace_bytes = 0;
};

// `value_of` gives the value of an expression, or nullopt. InvalidArgument for an expression
// without a value and for a schedule that does not fit the kernel; Unimplemented for a dtype that
// kernels do not support.
absl::StatusOr<TileProgram> CompileTiles(
    const Kernel& kernel, const TileTable& table,
    absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_TILE_PROGRAM_H_
