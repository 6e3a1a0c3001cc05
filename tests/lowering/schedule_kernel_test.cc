// Schedules of kernels, decided without a backend: lane loops, orders of reductions, unrolled
// bodies and prefetched loads; schedules that are refused; the text form.
#include "lowering/schedule_kernel.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/target/target.h"
#include "gtest/gtest.h"
#include "lowering/check_schedule.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const SymInt kS0 = SymInt::Symbol("s0");

Target Machine(int64_t vector_bytes = 32, int64_t l1_bytes = 32 << 10) {
  Target target;
  target.vector_bytes = vector_bytes;
  target.l1_bytes = l1_bytes;
  return target;
}

Access At(int arg, std::vector<SymInt> strides) {
  Access access;
  access.arg = arg;
  access.strides = std::move(strides);
  return access;
}

int AddInstr(Stage* stage, ScalarOp op, int a = -1, int number = -1) {
  Instr instr;
  instr.op = op;
  instr.operands[0] = a;
  instr.loop = number;
  stage->body.push_back(std::move(instr));
  return static_cast<int>(stage->body.size()) - 1;
}

int AddLoad(Stage* stage, Access access) {
  const int load = AddInstr(stage, ScalarOp::kLoad);
  stage->body[load].access = std::move(access);
  return load;
}

Kernel MakeKernel(int args, std::vector<SymInt> outer, std::vector<SymInt> inner, int stages) {
  Kernel kernel;
  kernel.name = "k";
  kernel.args.resize(args);
  kernel.args.back().written = true;
  Nest nest;
  nest.outer = std::move(outer);
  nest.inner = std::move(inner);
  nest.stages.resize(stages);
  kernel.nests = {nest};
  return kernel;
}

// y = f(loads), a store with strides `to`.
Kernel Pointwise(std::vector<SymInt> loops, const std::vector<std::vector<SymInt>>& from,
                 std::vector<SymInt> to) {
  const int args = static_cast<int>(from.size()) + 1;
  Kernel kernel = MakeKernel(args, std::move(loops), {}, 1);
  Stage& stage = kernel.nests[0].stages[0];
  for (int a = 0; a + 1 < args; ++a) AddLoad(&stage, At(a, from[a]));
  stage.stores.push_back({0, At(args - 1, std::move(to))});
  return kernel;
}

// y[i] = sum over j of x[i * outer_stride + j * inner_stride].
Kernel SumOf(SymInt outer, SymInt inner, SymInt outer_stride, SymInt inner_stride) {
  Kernel kernel = MakeKernel(2, {outer}, {inner}, 2);
  std::vector<Stage>& stages = kernel.nests[0].stages;
  const int x = AddLoad(&stages[0], At(0, {outer_stride, inner_stride}));
  stages[0].reductions = {{ReduceOp::kSum, x, DType::kF32}};
  stages[1].per_row = true;
  stages[1].stores.push_back({AddInstr(&stages[1], ScalarOp::kReduced, -1, 0), At(1, {1, 0})});
  return kernel;
}

// Softmax over the last dim of [rows, cols].
Kernel Softmax(SymInt rows, SymInt cols) {
  Kernel kernel = MakeKernel(2, {rows}, {cols}, 3);
  kernel.nests[0].rows = {DType::kF32};
  std::vector<Stage>& stages = kernel.nests[0].stages;
  const int x = AddLoad(&stages[0], At(0, {cols, 1}));
  stages[0].reductions = {{ReduceOp::kMaximum, x, DType::kF32}};
  const int again = AddLoad(&stages[1], At(0, {cols, 1}));
  const int power = AddInstr(&stages[1], ScalarOp::kExp, again);
  stages[1].keeps = {{power, 0}};
  stages[1].reductions = {{ReduceOp::kSum, power, DType::kF32}};
  const int row = AddInstr(&stages[2], ScalarOp::kRow, -1, 0);
  stages[2].stores.push_back({row, At(1, {cols, 1})});
  return kernel;
}

NestSchedule Decide(const Kernel& kernel, const Target& target = Machine(),
                    const SymbolTable* symbols = nullptr) {
  Kernel scheduled = kernel;
  scheduled.schedule = DecideSchedule(kernel, target, symbols);
  EXPECT_TRUE(CheckSchedule(scheduled).ok()) << CheckSchedule(scheduled);
  EXPECT_EQ(scheduled.schedule.nests.size(), 1u);
  return scheduled.schedule.nests[0];
}

TEST(ScheduleKernel, LanesAreThoseOfTheTargetsVectors) {
  EXPECT_EQ(LanesOf(Machine(1)), 1);
  EXPECT_EQ(LanesOf(Machine(16)), 4);
  EXPECT_EQ(LanesOf(Machine(32)), 8);
  EXPECT_EQ(LanesOf(Machine(48)), 8);
  EXPECT_EQ(LanesOf(Machine(64)), 16);
  EXPECT_EQ(LanesOf(Machine(1 << 20)), kMaxLanes);
}

// What a point takes, counted by hand, with lanes of 8 along the last loop.
TEST(ScheduleKernel, CostsOfPoints) {
  const Target target = Machine();
  const auto cost = [&](const Kernel& kernel, int lane_loop) {
    return CostOfPoint(CollectNest(kernel.nests[0], nullptr), lane_loop, target);
  };
  // Two accesses of 100, a step of 50 and an instruction of 100 in (100 + 3) vectors of 800 points.
  EXPECT_DOUBLE_EQ(cost(Pointwise({10, 800}, {{800, 1}}, {800, 1}), 1), 350 * 103 / 800.0);
  // A load of 8 lanes apart costs 600.
  EXPECT_DOUBLE_EQ(cost(Pointwise({10, 800}, {{1, 10}}, {800, 1}), 1), 850 * 103 / 800.0);
  // A last vector that is not full, and its tail.
  EXPECT_DOUBLE_EQ(cost(Pointwise({10, 801}, {{801, 1}}, {801, 1}), 1), 350 * 108 / 801.0);
  EXPECT_DOUBLE_EQ(cost(Pointwise({}, {{}}, {}), -1), 100);
}

TEST(ScheduleKernel, RowsWhereTheReducedLoopIsDense) {
  const NestSchedule nest = Decide(SumOf(kS0, 1000, 1000, 1));
  EXPECT_EQ(nest.lane_loop, 1);
  EXPECT_EQ(nest.reduction, ReductionOrder::kLanes);
  EXPECT_EQ(nest.block, 4096);
  EXPECT_THAT(nest.unroll, ElementsAre(4, 1));
}

TEST(ScheduleKernel, ColumnsWhereTheOuterLoopIsDense) {
  const NestSchedule nest = Decide(SumOf(kS0, 1000, 1, kS0));
  EXPECT_EQ(nest.lane_loop, 0);
  EXPECT_EQ(nest.reduction, ReductionOrder::kSerial);
  EXPECT_EQ(nest.block, 64);
  EXPECT_THAT(nest.unroll, ElementsAre(1, 1));
}

// Rows of four elements leave half of the lanes empty, and each row ends in a sum across lanes.
TEST(ScheduleKernel, ColumnsWhereRowsAreShort) {
  EXPECT_EQ(Decide(SumOf(1000, 4, 4, 1)).lane_loop, 0);
  SymbolTable symbols;
  EXPECT_EQ(Decide(SumOf(1000, kS0, kS0, 1), Machine(), &symbols).lane_loop, 1);
  SymbolInfo info;
  info.symbol = kS0;
  info.hint = 4;
  symbols.Declare(info);
  EXPECT_EQ(Decide(SumOf(1000, kS0, kS0, 1), Machine(), &symbols).lane_loop, 0);
  SymbolTable bounded;
  info.hint.reset();
  info.range = {1, 4};
  bounded.Declare(info);
  EXPECT_EQ(Decide(SumOf(1000, kS0, kS0, 1), Machine(), &bounded).lane_loop, 0);
}

TEST(ScheduleKernel, PointwiseAlongTheDenseLoop) {
  EXPECT_EQ(Decide(Pointwise({kS0, 64}, {{64, 1}, {0, 1}}, {64, 1})).lane_loop, 1);
  EXPECT_EQ(Decide(Pointwise({64, kS0}, {{1, 64}, {1, 0}}, {1, 64})).lane_loop, 0);
  // A transposition is dense on one side either way: the innermost loop is taken.
  EXPECT_EQ(Decide(Pointwise({kS0, 64}, {{1, kS0}}, {64, 1})).lane_loop, 1);
  // Three channels at a time would use three lanes.
  EXPECT_EQ(Decide(Pointwise({kS0, 3}, {{3, 1}, {0, 1}}, {3, 1})).lane_loop, 0);
}

TEST(ScheduleKernel, NoLoopsNoLanes) {
  const NestSchedule nest = Decide(Pointwise({}, {{}}, {}));
  EXPECT_EQ(nest.lane_loop, -1);
  EXPECT_EQ(nest.reduction, ReductionOrder::kNone);
}

TEST(ScheduleKernel, LongBodiesAreNotUnrolled) {
  Kernel kernel = SumOf(kS0, 1000, 1000, 1);
  Stage& stage = kernel.nests[0].stages[0];
  while (stage.body.size() < 24) AddInstr(&stage, ScalarOp::kNeg, 0);
  EXPECT_THAT(Decide(kernel).unroll, ElementsAre(4, 1));
  AddInstr(&stage, ScalarOp::kNeg, 0);
  EXPECT_THAT(Decide(kernel).unroll, ElementsAre(1, 1));
}

// The stage with the most work prefetches the next row, each element once.
TEST(ScheduleKernel, PrefetchesRowsThatAreReadTwice) {
  const NestSchedule nest = Decide(Softmax(kS0, 1024));
  EXPECT_THAT(nest.prefetch, ElementsAre(ScheduledLoad{0, 0}));
  EXPECT_EQ(nest.prefetch_stage, 1);
  EXPECT_EQ(nest.prefetch_bytes, 16 << 10);
  EXPECT_THAT(Decide(SumOf(kS0, 1000, 1000, 1)).prefetch, ElementsAre());
}

// Which stage has the most work is a matter of what functions take.
TEST(ScheduleKernel, ReadsTheTargetsCostsOfFunctions) {
  Kernel kernel = Softmax(kS0, 1024);
  Stage& last = kernel.nests[0].stages[2];
  for (int i = 0; i < 8; ++i) AddInstr(&last, ScalarOp::kNeg, 0);
  EXPECT_EQ(Decide(kernel).prefetch_stage, 1);
  Target fast = Machine();
  fast.costs.function_work = 1;
  EXPECT_EQ(Decide(kernel, fast).prefetch_stage, 2);
}

// x is read across, y written along: the dearer of the two is along the lanes.
TEST(ScheduleKernel, ReadsTheTargetsCostsOfLanesApart) {
  const Kernel kernel = Pointwise({1024, 1024}, {{1, 1024}}, {1024, 1});
  EXPECT_EQ(Decide(kernel).lane_loop, 1);
  Target target = Machine();
  target.costs.load_apart_cost = 200;
  EXPECT_EQ(Decide(kernel, target).lane_loop, 0);
}

TEST(ScheduleKernel, PrefetchesThreeStreamsAndMore) {
  const std::vector<SymInt> dense = {1};
  EXPECT_THAT(Decide(Pointwise({kS0}, {dense, dense}, dense)).prefetch, ElementsAre());
  const NestSchedule three = Decide(Pointwise({kS0}, {dense, dense, dense}, dense));
  EXPECT_THAT(three.prefetch,
              ElementsAre(ScheduledLoad{0, 0}, ScheduledLoad{0, 1}, ScheduledLoad{0, 2}));
  EXPECT_EQ(three.prefetch_bytes, 2048);
  Target target = Machine();
  target.costs.streams = 3;
  EXPECT_THAT(Decide(Pointwise({kS0}, {dense, dense, dense}, dense), target).prefetch,
              ElementsAre());
  // At most four streams are prefetched, and none that is gathered.
  Kernel five = Pointwise({kS0}, {dense, dense, dense, dense, dense}, dense);
  EXPECT_EQ(Decide(five).prefetch.size(), 4u);
  five.nests[0].stages[0].body[3].access.terms = {{0, 1, 8}};
  five.nests[0].stages[0].body[4].access.terms = {{0, 1, 8}};
  EXPECT_EQ(Decide(five).prefetch.size(), 3u);
}

TEST(ScheduleKernel, ASmallerCacheTakesSmallerTilesAndShorterRows) {
  const Kernel kernel = Softmax(kS0, 1024);
  EXPECT_EQ(Decide(kernel, Machine(32, 32 << 10)).tile, 512);
  EXPECT_EQ(Decide(kernel, Machine(32, 16 << 10)).tile, 256);
  EXPECT_EQ(Decide(kernel, Machine(32, 16 << 10)).prefetch_bytes, 8 << 10);
  EXPECT_EQ(Decide(kernel, Machine(32, 1)).tile, 64);
  // A tile of rows holds a whole number of blocks of partial results.
  EXPECT_EQ(Decide(kernel, Machine(256, 1)).tile, 256);
}

TEST(ScheduleKernel, PositionsAreMetInOrder) {
  Kernel kernel = MakeKernel(2, {}, {1000, 3}, 1);
  Stage& stage = kernel.nests[0].stages[0];
  const int x = AddLoad(&stage, At(0, {1, 1000}));
  stage.reductions = {{ReduceOp::kMaximum, x, DType::kF32}};
  EXPECT_EQ(Decide(kernel).lane_loop, 0);
  EXPECT_THAT(Decide(kernel).unroll, ElementsAre(4));
  stage.reductions[0].op = ReduceOp::kArgMax;
  EXPECT_EQ(Decide(kernel).lane_loop, 1);
  EXPECT_THAT(Decide(kernel).unroll, ElementsAre(1));
}

TEST(ScheduleKernel, TheTextOfASchedule) {
  EXPECT_EQ(
      ToString(DecideSchedule(Softmax(kS0, 1024), Machine())),
      "schedule lanes=8 {\n"
      "  nest loop=1 reduction=lanes tile=512 block=4096 unroll=[4, 4, 1] prefetch=[0:0] stage=1 "
      "bytes=16384\n"
      "}\n");
}

// --- What is refused -----------------------------------------------------------

std::string Refusal(KernelSchedule schedule) {
  Kernel kernel = Softmax(kS0, 1024);
  kernel.schedule = std::move(schedule);
  return std::string(VerifyKernel(kernel).message());
}

TEST(CheckSchedule, RefusesWhatDoesNotFit) {
  const KernelSchedule good = DecideSchedule(Softmax(kS0, 1024), Machine());
  const auto with = [&](auto edit) {
    KernelSchedule schedule = good;
    edit(schedule, schedule.nests[0]);
    return Refusal(schedule);
  };
  using S = KernelSchedule;
  using N = NestSchedule;
  EXPECT_EQ(Refusal(good), "");
  EXPECT_THAT(with([](S& s, N&) { s.lanes = 6; }), HasSubstr("power of two"));
  EXPECT_THAT(with([](S& s, N&) { s.lanes = 128; }), HasSubstr("power of two"));
  EXPECT_THAT(with([](S& s, N&) { s.nests.clear(); }), HasSubstr("other nests"));
  EXPECT_THAT(with([](S&, N& n) { n.lane_loop = -1; }), HasSubstr("none of its 2 loops"));
  EXPECT_THAT(with([](S&, N& n) { n.lane_loop = 2; }), HasSubstr("none of its 2 loops"));
  EXPECT_THAT(with([](S&, N& n) { n.tile = 0; }), HasSubstr("a tile has"));
  EXPECT_THAT(with([](S&, N& n) { n.tile = 48; }), HasSubstr("multiple of the lanes"));
  EXPECT_THAT(with([](S&, N& n) { n.unroll.pop_back(); }), HasSubstr("for each stage"));
  EXPECT_THAT(with([](S&, N& n) { n.unroll[0] = 9; }), HasSubstr("1 to 8 copies"));
  EXPECT_THAT(with([](S&, N& n) { n.block = 4000; }), HasSubstr("multiple of the tile"));
  EXPECT_THAT(with([](S&, N& n) { n.lane_loop = 0; }), HasSubstr("columns are not unrolled"));
  EXPECT_THAT(with([](S&, N& n) { n.reduction = ReductionOrder::kSerial; }),
              HasSubstr("reduces by lanes, not by serial"));
  EXPECT_THAT(with([](S&, N& n) { n.block = 0; }), HasSubstr("multiple of the tile"));
  EXPECT_THAT(with([](S&, N& n) { n.prefetch_stage = 3; }), HasSubstr("no stage prefetches"));
  EXPECT_THAT(with([](S&, N& n) { n.prefetch[0] = {3, 0}; }), HasSubstr("no stage 3"));
  EXPECT_THAT(with([](S&, N& n) { n.prefetch[0] = {1, 1}; }), HasSubstr("not a plain load"));
}

// Lanes along another loop than the last, or several copies, would find another of equal values.
TEST(CheckSchedule, RefusesPositionsOutOfOrder) {
  Kernel kernel = MakeKernel(2, {}, {3, 1000}, 1);
  Stage& stage = kernel.nests[0].stages[0];
  const int x = AddLoad(&stage, At(0, {1000, 1}));
  stage.reductions = {{ReduceOp::kArgMin, x, DType::kF32}};
  kernel.schedule = DecideSchedule(kernel, Machine());
  EXPECT_TRUE(CheckSchedule(kernel).ok());
  kernel.schedule.nests[0].unroll[0] = 4;
  EXPECT_THAT(std::string(CheckSchedule(kernel).message()), HasSubstr("one copy"));
  kernel.schedule.nests[0].unroll[0] = 1;
  kernel.schedule.nests[0].lane_loop = 0;
  EXPECT_THAT(std::string(CheckSchedule(kernel).message()), HasSubstr("along the last loop"));
}

// --- The text form -------------------------------------------------------------

TEST(ScheduleText, StandsBehindTheNestsOnceItIsDecided) {
  Kernel kernel = Softmax(kS0, 1024);
  EXPECT_THAT(PrintKernel(kernel), Not(HasSubstr("schedule")));
  kernel.schedule = DecideSchedule(kernel, Machine());
  EXPECT_THAT(PrintKernel(kernel),
              HasSubstr("    }\n  }\n  schedule lanes=8 {\n    nest loop=1 reduction=lanes"));
}

TEST(ScheduleText, ErrorsSayWhatWasExpected) {
  const auto module = Parse(R"(
func @main(%x: f32[s0, 8]) -> (f32[s0]) {
  %0 = sum(%x, dim=[1])
  return %0
})");
  const auto plan = Lower(*module->main(), Machine());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = PrintPlan(*plan);
  const auto error = [&](absl::string_view from, absl::string_view to) {
    EXPECT_THAT(text, HasSubstr(std::string(from)));
    const auto parsed = ParsePlan(absl::StrReplaceAll(text, {{from, to}}), *module);
    return std::string(parsed.ok() ? "" : parsed.status().message());
  };
  EXPECT_EQ(error("lanes=8", "lanes=4"), "");
  EXPECT_THAT(error("reduction=", "reduction=tree "), HasSubstr("expected none, serial or lanes"));
  EXPECT_THAT(error(" tile=", " tile=-"), HasSubstr("must not be negative"));
  EXPECT_THAT(error("lanes=8", "lanes=x"), HasSubstr("expected"));
  EXPECT_THAT(error(" unroll=[", " unroll="), HasSubstr("expected"));
  EXPECT_THAT(error("nest loop=", "nest "), HasSubstr("expected"));
}

}  // namespace
}  // namespace weft
