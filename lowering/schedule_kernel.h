// Decides how kernels run on a target (kernel_schedule.h).
//
// The decision reads the extents of loops as far as they are constants, hints or small bounds, the
// strides of accesses, and the target's vector_bytes, l1_bytes and costs. It reads neither the
// sizes nor the number of threads of a run, so that one plan gives the same bits in all runs.
#ifndef WEFT_LOWERING_SCHEDULE_KERNEL_H_
#define WEFT_LOWERING_SCHEDULE_KERNEL_H_

#include <cstdint>
#include <vector>

#include "lowering/kernel.h"

namespace weft {

class SymbolTable;
struct Target;

// How far an access moves when a loop takes a step.
enum class StrideKind : uint8_t { kSame, kUnit, kApart };

struct AccessFacts {
  int instr = -1;  // The load's place in the body; -1: a store.
  // The address is linear in the loops, without gathered terms or guards.
  bool linear = false;
  // An earlier load of the nest reads the same places.
  bool repeated = false;
  std::vector<StrideKind> strides;  // By loop.
};

struct StageFacts {
  bool per_row = false;
  bool reduces = false;
  // The stage looks for the position of the largest or smallest value.
  bool positions = false;
  int instructions = 0;
  int divisions = 0;  // Of the instructions: IsDivision, IsFunction (kernel_cost.h).
  int functions = 0;
  std::vector<AccessFacts> accesses;
};

struct NestFacts {
  int outer = 0;
  // Numbers of points, outer loops first. An unknown number counts as a large one.
  std::vector<int64_t> extents;
  std::vector<StageFacts> stages;

  int loops() const { return static_cast<int>(extents.size()); }
};

// Where `symbols` is null, constant extents alone are known.
NestFacts CollectNest(const Nest& nest, const SymbolTable* symbols);

// Elements of f32 in a vector of the target, rounded down to a power of two.
int LanesOf(const Target& target);

NestSchedule DecideNest(const NestFacts& facts, const Target& target);

// The time of a point of the nest's loops with lanes along loop `lane_loop` (-1: no loops), in
// hundredths of a load of a whole vector: accesses, steps of loops, and instructions.
double CostOfPoint(const NestFacts& facts, int lane_loop, const Target& target);

KernelSchedule DecideSchedule(const Kernel& kernel, const Target& target,
                              const SymbolTable* symbols = nullptr);

}  // namespace weft

#endif  // WEFT_LOWERING_SCHEDULE_KERNEL_H_
