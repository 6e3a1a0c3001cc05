#include "lowering/schedule_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/target/target.h"
#include "lowering/kernel_cost.h"

namespace weft {
namespace {

// Points that a loop of unknown extent is taken to have, and a loop of any extent at most.
constexpr int64_t kManyPoints = 256;
constexpr int64_t kMaxPoints = int64_t{1} << 30;

// Bounds what a target may say.
constexpr int64_t kMaxWork = 1 << 20;

// Copies of a body that reduces, which hide the latency of its accumulators. A body with more than
// kMaxUnrolledBody instructions is not copied: it already fills the pipeline.
constexpr int kUnroll = 4;
constexpr int kMaxUnrolledBody = 24;

// Bytes of L1 that each element of an interpreter's tile takes, for all values of a body together.
// A body of more than kWideBody instructions has tiles of half the size.
constexpr int64_t kTileBytes = 64;
constexpr int64_t kMinTile = 64;
constexpr int kWideBody = 64;

// Elements in a block of a sum. The elements of a row's block are divided among its partial
// results; those of a column's block are added one after another.
constexpr int64_t kRowBlock = 4096;
constexpr int64_t kColumnBlock = 64;

// At most this many arguments are prefetched.
constexpr size_t kMaxPrefetched = 4;

// --- Collect -------------------------------------------------------------------

int64_t UsualValue(SymInt size, const SymbolTable* symbols) {
  const auto value = Evaluate(size, [&](SymInt s) -> std::optional<int64_t> {
    const SymbolInfo* info = symbols == nullptr ? nullptr : symbols->Find(s);
    if (info == nullptr) return std::nullopt;
    if (info->hint) return *info->hint;
    if (info->range.min == info->range.max) return info->range.min;
    return info->range.max < kManyPoints ? std::optional<int64_t>(info->range.max) : std::nullopt;
  });
  return value ? std::clamp<int64_t>(*value, 1, kMaxPoints) : kManyPoints;
}

bool SamePlaces(const Access& a, const Access& b) {
  return a.arg == b.arg && a.offset == b.offset && a.strides == b.strides;
}

bool LooksForPosition(const Reduction& r) {
  return r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
}

class Collector {
 public:
  StageFacts Add(const Stage& stage) {
    StageFacts facts;
    facts.per_row = stage.per_row;
    facts.reduces = !stage.reductions.empty();
    facts.positions =
        std::any_of(stage.reductions.begin(), stage.reductions.end(), LooksForPosition);
    facts.instructions = static_cast<int>(stage.body.size());
    for (size_t i = 0; i < stage.body.size(); ++i) {
      const Instr& instr = stage.body[i];
      facts.divisions += IsDivision(instr.op);
      facts.functions += IsFunction(instr.op);
      if (instr.op != ScalarOp::kLoad) continue;
      AccessFacts access = Facts(instr.access);
      access.instr = static_cast<int>(i);
      const auto same = [&](const Access* other) { return SamePlaces(*other, instr.access); };
      access.repeated = std::any_of(loads_.begin(), loads_.end(), same);
      loads_.push_back(&instr.access);
      facts.accesses.push_back(std::move(access));
    }
    for (const Store& store : stage.stores) facts.accesses.push_back(Facts(store.access));
    return facts;
  }

 private:
  static AccessFacts Facts(const Access& access) {
    AccessFacts facts;
    facts.linear = access.terms.empty() && access.guards.empty();
    for (SymInt stride : access.strides) {
      facts.strides.push_back(stride.Is(0)   ? StrideKind::kSame
                              : stride.Is(1) ? StrideKind::kUnit
                                             : StrideKind::kApart);
    }
    return facts;
  }

  std::vector<const Access*> loads_;
};

// --- Decide --------------------------------------------------------------------

int64_t InnerPoints(const NestFacts& facts) {
  int64_t points = 1;
  for (int l = facts.outer; l < facts.loops(); ++l) {
    points = std::min(points * facts.extents[l], kMaxPoints);
  }
  return points;
}

// The cost of an access for a vector of lanes along the loop.
double CostOfAccess(const AccessFacts& access, StrideKind stride, int lanes,
                    const KernelCosts& costs) {
  switch (stride) {
    case StrideKind::kSame:
      return static_cast<double>(costs.load_one_cost);
    case StrideKind::kUnit:
      return 100;
    case StrideKind::kApart:
      break;
  }
  // Lanes are read or written one by one.
  const bool load = access.instr >= 0;
  return static_cast<double>(load ? costs.load_apart_cost : costs.store_apart_cost) * lanes;
}

// Vectors of the loop for each of its elements, with the steps at the ends of its runs.
double VectorsOfElement(int64_t extent, int lanes, const KernelCosts& costs) {
  double vectors = static_cast<double>(extent / lanes) + static_cast<double>(costs.run_steps);
  if (extent % lanes != 0) vectors += 1 + static_cast<double>(costs.tail_steps);
  return vectors / static_cast<double>(extent);
}

// The cost of an element with lanes along the loop: accesses, a few steps for the beginning and the
// end of each run of the loop, and more of them where lanes of the last vector stay empty.
double CostOfLanes(const NestFacts& facts, int loop, int lanes, const KernelCosts& costs) {
  double vector = static_cast<double>(costs.step_cost);
  for (const StageFacts& stage : facts.stages) {
    const double share = stage.per_row ? 1.0 / static_cast<double>(InnerPoints(facts)) : 1.0;
    for (const AccessFacts& access : stage.accesses) {
      const StrideKind stride = access.strides[loop];
      vector += share * CostOfAccess(access, stride, lanes, costs);
    }
  }
  return vector * VectorsOfElement(facts.extents[loop], lanes, costs);
}

// The cheapest loop; of equal ones the innermost. A nest that looks for positions meets its inner
// points in order, so that of equal values the first one is found.
int ChooseLaneLoop(const NestFacts& facts, int lanes, const KernelCosts& costs) {
  const bool positions = std::any_of(facts.stages.begin(), facts.stages.end(),
                                     [](const StageFacts& stage) { return stage.positions; });
  int best = -1;
  double least = 0;
  for (int loop = facts.loops() - 1; loop >= 0; --loop) {
    if (positions && loop >= facts.outer && loop != facts.loops() - 1) continue;
    const double cost = CostOfLanes(facts, loop, lanes, costs);
    if (best >= 0 && cost >= least) continue;
    best = loop;
    least = cost;
  }
  return best;
}

int64_t ChooseTile(const NestFacts& facts, const Target& target, int lanes) {
  int64_t tile = kMinTile;
  while (tile * 2 <= std::min(target.l1_bytes / kTileBytes, kMaxTile)) tile *= 2;
  for (const StageFacts& stage : facts.stages) {
    if (stage.instructions > kWideBody) return std::max<int64_t>(tile / 2, lanes * kUnroll);
  }
  return std::max<int64_t>(tile, lanes * kUnroll);
}

// A stage's instructions, in additions.
int64_t WorkOf(const StageFacts& stage, const KernelCosts& costs) {
  return stage.instructions - stage.divisions - stage.functions +
         stage.divisions * std::min(costs.division_work, kMaxWork) +
         stage.functions * std::min(costs.function_work, kMaxWork);
}

// The stage whose work hides a prefetch best; -1 where a nest reads its rows once: the processor
// foresees that.
int BusiestStage(const NestFacts& facts, const KernelCosts& costs) {
  int busiest = -1;
  int64_t most = 0;
  int loops = 0;
  for (size_t s = 0; s < facts.stages.size(); ++s) {
    const StageFacts& stage = facts.stages[s];
    if (stage.per_row) continue;
    ++loops;
    const int64_t work = WorkOf(stage, costs);
    if (work <= most) continue;
    busiest = static_cast<int>(s);
    most = work;
  }
  return loops > 1 ? busiest : -1;
}

// A row often ends where a page does, and the processor does not look beyond a page by itself. The
// next row is prefetched only if two rows fit in L1.
void PrefetchRows(const NestFacts& facts, const Target& target, NestSchedule* nest) {
  if (facts.outer == 0 || facts.loops() != facts.outer + 1) return;
  nest->prefetch_stage = BusiestStage(facts, target.costs);
  if (nest->prefetch_stage < 0) return;
  nest->prefetch_bytes = std::max<int64_t>(target.l1_bytes / 2, 0);
  for (size_t s = 0; s < facts.stages.size(); ++s) {
    for (const AccessFacts& access : facts.stages[s].accesses) {
      if (access.instr < 0 || !access.linear || access.repeated ||
          access.strides[facts.outer] != StrideKind::kUnit ||
          access.strides[facts.outer - 1] == StrideKind::kSame ||
          nest->prefetch.size() == kMaxPrefetched) {
        continue;
      }
      nest->prefetch.push_back({static_cast<int>(s), access.instr});
    }
  }
}

// Where several arguments are read at once, the processor loses all of them at the end of a page.
void PrefetchStreams(const NestFacts& facts, const KernelCosts& costs, NestSchedule* nest) {
  if (nest->lane_loop < 0 || facts.loops() != facts.outer || facts.stages.size() != 1) return;
  int64_t streams = 0;
  for (const AccessFacts& access : facts.stages[0].accesses) {
    if (access.instr < 0 || !access.linear ||
        access.strides[nest->lane_loop] != StrideKind::kUnit) {
      continue;
    }
    ++streams;
    if (nest->prefetch.size() < kMaxPrefetched) nest->prefetch.push_back({0, access.instr});
  }
  nest->prefetch_stage = 0;
  nest->prefetch_bytes = costs.stream_bytes;
  if (streams <= costs.streams) nest->prefetch.clear();
}

}  // namespace

NestFacts CollectNest(const Nest& nest, const SymbolTable* symbols) {
  NestFacts facts;
  facts.outer = static_cast<int>(nest.outer.size());
  for (SymInt size : nest.outer) facts.extents.push_back(UsualValue(size, symbols));
  for (SymInt size : nest.inner) facts.extents.push_back(UsualValue(size, symbols));
  Collector collector;
  for (const Stage& stage : nest.stages) facts.stages.push_back(collector.Add(stage));
  return facts;
}

int LanesOf(const Target& target) {
  int lanes = 1;
  while (lanes < kMaxLanes && lanes * 8 <= target.vector_bytes) lanes *= 2;
  return lanes;
}

NestSchedule DecideNest(const NestFacts& facts, const Target& target) {
  NestSchedule nest;
  const int lanes = LanesOf(target);
  nest.lane_loop = ChooseLaneLoop(facts, lanes, target.costs);
  nest.tile = ChooseTile(facts, target, lanes);
  const bool rows = nest.lane_loop >= facts.outer;
  for (const StageFacts& stage : facts.stages) {
    if (stage.reduces) nest.reduction = rows ? ReductionOrder::kLanes : ReductionOrder::kSerial;
    // Positions are compared lane by lane, which copies would not make faster.
    const bool unrolled =
        rows && stage.reduces && !stage.positions && stage.instructions <= kMaxUnrolledBody;
    nest.unroll.push_back(unrolled ? kUnroll : 1);
  }
  if (nest.reduction != ReductionOrder::kNone) nest.block = rows ? kRowBlock : kColumnBlock;
  if (rows) {
    PrefetchRows(facts, target, &nest);
  } else {
    PrefetchStreams(facts, target.costs, &nest);
  }
  if (nest.prefetch.empty()) {
    nest.prefetch_stage = -1;
    nest.prefetch_bytes = 0;
  }
  return nest;
}

double CostOfPoint(const NestFacts& facts, int lane_loop, const Target& target) {
  constexpr double kLoad = 100;
  double work = 0;
  for (const StageFacts& stage : facts.stages) {
    const double share = stage.per_row ? 1.0 / static_cast<double>(InnerPoints(facts)) : 1.0;
    work += share * static_cast<double>(WorkOf(stage, target.costs));
  }
  if (lane_loop < 0) return kLoad * work;
  const int lanes = LanesOf(target);
  const double vectors = VectorsOfElement(facts.extents[lane_loop], lanes, target.costs);
  return CostOfLanes(facts, lane_loop, lanes, target.costs) + kLoad * work * vectors;
}

KernelSchedule DecideSchedule(const Kernel& kernel, const Target& target,
                              const SymbolTable* symbols) {
  KernelSchedule schedule;
  schedule.lanes = LanesOf(target);
  for (const Nest& nest : kernel.nests) {
    schedule.nests.push_back(DecideNest(CollectNest(nest, symbols), target));
  }
  return schedule;
}

}  // namespace weft
