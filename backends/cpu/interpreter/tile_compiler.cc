// Compiles a kernel to a TileProgram.
#include <algorithm>
#include <utility>

#include "backends/cpu/interpreter/tile_loops.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/cpu/interpreter/tile_stage.h"
#include "base/align.h"
#include "base/status_macros.h"
#include "lowering/check_schedule.h"

namespace weft::cpu {
namespace {

// Most bytes of kept rows per tile, so that they stay in L2.
constexpr int64_t kRowBytes = 256 << 10;

// Columns have one accumulator and one position per lane of a tile. Rows have `lanes` accumulators
// per copy of the body, or for positions a single one.
void AddReductions(const Nest& nest, const NestSchedule& schedule, const TileTable& table,
                   bool columns, TileNest* out, SlotPool& pool) {
  for (size_t s = 0; s < nest.stages.size(); ++s) {
    const Stage& stage = nest.stages[s];
    for (const Reduction& from : stage.reductions) {
      TileReduction r;
      r.op = from.op;
      r.arg = from.op == ReduceOp::kArgMax || from.op == ReduceOp::kArgMin;
      r.dtype = r.arg ? stage.body[from.value].dtype : from.dtype;
      r.bytes = TileBytes(r.dtype);
      r.blocked = from.op == ReduceOp::kSum && IsFloat(r.dtype);
      r.copies = schedule.unroll[s];
      r.start = table.start(r.op, r.dtype);
      r.finish = columns || r.arg ? nullptr : table.finish_row(r.op, r.dtype);
      r.add = table.reduce_column(r.op, r.dtype);
      const int64_t lanes = columns ? out->tile : out->lanes * r.copies;
      r.acc = pool.Take(AlignTile(lanes * r.bytes));
      r.at = pool.Take(AlignTile(lanes * 8));
      r.sum = r.blocked ? pool.Take(AlignTile(lanes * r.bytes)) : 0;
      r.result = pool.Take(kTileAlign);
      out->reductions.push_back(r);
    }
  }
}

// A tile holds all elements of a short loop. It is smaller than the schedule's if the rows that it
// keeps would not fit in L2.
int64_t ChooseTile(const Nest& nest, const NestSchedule& schedule, const NestLoops& loops) {
  if (loops.lane < 0) return 1;
  const int64_t extent = std::max<int64_t>(1, loops.loops[loops.lane].extent);
  int64_t tile = std::min<int64_t>(schedule.tile, AlignUp(extent, 16));
  int64_t row = 0;
  for (DType dtype : nest.rows) row += TileBytes(dtype) * loops.inner_points;
  while (loops.columns && tile > 16 && row * tile > kRowBytes) tile = AlignUp(tile / 2, 16);
  return tile;
}

void CountItems(TileNest* nest) {
  nest->items = 1;
  for (size_t i = 0; i < nest->loops.size(); ++i) {
    const TileLoop& loop = nest->loops[i];
    if (static_cast<int>(i) == nest->lane) {
      nest->lane_tiles = (loop.extent + nest->tile - 1) / nest->tile;
    }
    if (loop.inner) continue;
    nest->items *= static_cast<int>(i) == nest->lane ? nest->lane_tiles : loop.extent;
  }
}

absl::StatusOr<TileNest> CompileNest(const Kernel& kernel, size_t number, const TileTable& table,
                                     SizeFn value_of, ConstantPool& constants, int64_t start,
                                     int64_t* end) {
  const Nest& from = kernel.nests[number];
  const NestSchedule& schedule = kernel.schedule.nests[number];
  WEFT_ASSIGN_OR_RETURN(NestLoops loops, MakeLoops(kernel, from, schedule, value_of));
  TileNest nest;
  nest.loops = loops.loops;
  nest.lane = loops.lane;
  nest.columns = loops.columns;
  nest.inner_points = loops.inner_points;
  nest.tile = ChooseTile(from, schedule, loops);
  nest.lanes = kernel.schedule.lanes;
  nest.block = schedule.block;
  CountItems(&nest);
  if (loops.empty) nest.items = 0;
  SlotPool pool(start);
  AddReductions(from, schedule, table, nest.columns, &nest, pool);
  for (DType dtype : from.rows) {
    const int64_t bytes = TileBytes(dtype);
    const int64_t lanes = nest.columns ? nest.tile : 1;
    // A row is padded to full tiles.
    nest.rows.push_back(
        {pool.Take(AlignTile((nest.inner_points * lanes + nest.tile) * bytes)), bytes});
  }
  const StageContext context = {kernel, from, loops, table, value_of, constants, nest};
  int first = 0;
  int64_t points = 1;
  for (const TileLoop& loop : nest.loops) points *= loop.extent;
  for (size_t s = 0; s < from.stages.size(); ++s) {
    TileStage stage;
    stage.first_reduction = first;
    stage.num_reductions = static_cast<int>(from.stages[s].reductions.size());
    first += stage.num_reductions;
    stage.per_row = from.stages[s].per_row;
    stage.addresses = std::move(loops.addresses[s]);
    StageValues values;
    WEFT_RETURN_IF_ERROR(CompileStage(context, from.stages[s], &stage, &values));
    SlotPool slots(pool.end());
    PlaceValues(values, nest.tile, stage, slots);
    *end = std::max(*end, slots.end());
    nest.cost += points * static_cast<int64_t>(stage.ops.size());
    nest.stages.push_back(std::move(stage));
  }
  *end = std::max(*end, pool.end());
  return nest;
}

}  // namespace

DType ComputeDType(DType memory) {
  return IsFloat(memory) && DTypeBits(memory) < 32 ? DType::kF32 : memory;
}

absl::StatusOr<TileProgram> CompileTiles(
    const Kernel& kernel, const TileTable& table,
    absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of) {
  WEFT_RETURN_IF_ERROR(CheckSchedule(kernel));
  TileProgram program;
  program.name = kernel.name;
  const int64_t start = kMaxTile * 8;  // After the offsets of a gather.
  int64_t end = start;
  int64_t values = 0;
  int64_t loops = 0;
  ConstantPool constants(table, &program.constants);
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    WEFT_ASSIGN_OR_RETURN(auto compiled,
                          CompileNest(kernel, n, table, value_of, constants, start, &end));
    int64_t in_nest = 0;
    for (TileStage& stage : compiled.stages) {
      stage.values_at = in_nest;
      in_nest += static_cast<int64_t>(stage.values.size());
    }
    values = std::max(values, in_nest);
    loops = std::max(loops, static_cast<int64_t>(compiled.loops.size()));
    program.nests.push_back(std::move(compiled));
  }
  program.values_at = end;
  program.loops_at = AlignTile(end + values * 8);
  program.workspace_bytes = AlignTile(program.loops_at + (loops + 1) * 8);
  return program;
}

}  // namespace weft::cpu
