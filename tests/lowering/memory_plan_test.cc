#include "lowering/memory_plan.h"

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/schedule.h"
#include "tests/support/generic_target.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

std::vector<MemoryInterval> RandomIntervals(uint64_t seed, int n, int steps) {
  std::mt19937_64 rng(seed);
  std::vector<MemoryInterval> intervals;
  for (int i = 0; i < n; ++i) {
    MemoryInterval m;
    m.first = static_cast<int>(rng() % steps);
    m.last = m.first + static_cast<int>(rng() % 12);
    m.bytes = static_cast<int64_t>(1 + rng() % 64) * kArenaAlignment;
    intervals.push_back(m);
  }
  return intervals;
}

void ExpectApart(const std::vector<MemoryInterval>& in, const std::vector<int64_t>& offsets) {
  for (size_t i = 0; i < in.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool together = in[i].first <= in[j].last && in[j].first <= in[i].last;
      if (!together) continue;
      EXPECT_TRUE(offsets[i] + in[i].bytes <= offsets[j] || offsets[j] + in[j].bytes <= offsets[i])
          << i << " and " << j;
    }
  }
}

TEST(PlaceIntervals, WhatLivesTogetherLiesApart) {
  for (int n : {0, 1, 5, 40, 600, 6000}) {
    const auto in = RandomIntervals(n, n, n + 1);
    int64_t total = 0;
    const auto offsets = PlaceIntervals(in, &total);
    if (n <= 600) ExpectApart(in, offsets);
    EXPECT_GE(total, LiveBytes(in));
  }
}

// Over 100 random plans of 30 temporaries, many of which no layout brings to
// the bound.
TEST(PlaceIntervals, SmallPlansAreNearTheLowerBound) {
  int64_t bytes = 0;
  int64_t bound = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto in = RandomIntervals(seed, 30, 24);
    int64_t total = 0;
    ExpectApart(in, PlaceIntervals(in, &total));
    bytes += total;
    bound += LiveBytes(in);
  }
  EXPECT_LE(bytes * 1000, bound * 1020);
}

TEST(PlaceIntervals, FragmentedSpaceIsFoundBySearch) {
  // Three that live in turn with two that span them: best-fit by time leaves a
  // hole.
  const std::vector<MemoryInterval> in = {{0, 1, 2 * 64}, {0, 3, 4 * 64}, {2, 5, 6 * 64},
                                          {4, 7, 4 * 64}, {6, 7, 6 * 64}, {1, 2, 2 * 64}};
  int64_t total = 0;
  ExpectApart(in, PlaceIntervals(in, &total));
  EXPECT_EQ(total, LiveBytes(in));
}

constexpr char kChain[] = R"(
func @main(%x: f32[s0, 16], %y: f32[16, 16]) -> f32[s0, 16] where 1 <= s0 <= 512 {
  %0 = exp(%x) : f32[s0, 16]
  %1 = matmul(%0, %y) : f32[s0, 16]
  %2 = sin(%1) : f32[s0, 16]
  %3 = cos(%2) : f32[s0, 16]
  %4 = matmul(%3, %y) : f32[s0, 16]
  %5 = neg(%4) : f32[s0, 16]
  return %5
}
)";

std::optional<int64_t> Ten(SymInt) { return 10; }

TEST(ArenaPlanner, KernelsWorkInPlaceAndLayoutsAreRemembered) {
  const auto module = Parse(kChain);
  const auto plan = Lower(*module->main(), GenericTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ArenaPlanner planner(*plan);
  // sin and cos over what they read.
  EXPECT_EQ(planner.memory().in_place().size(), 2);
  const auto layout = planner.Find(Ten);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ((*layout)->arena_bytes, 2 * 640);
  EXPECT_EQ((*layout)->arena_bytes, (*layout)->lower_bound);
  EXPECT_EQ(*planner.Find(Ten), *layout);
  EXPECT_EQ(planner.num_layouts(), 1);
  const auto other = planner.Find([](SymInt) { return 20; });
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->arena_bytes, 2 * 1280);
  EXPECT_EQ(planner.num_layouts(), 2);
}

TEST(ArenaPlanner, SizesWithoutValuesAreErrors) {
  const auto module = Parse(kChain);
  const auto plan = Lower(*module->main(), GenericTarget());
  const auto layout =
      ArenaPlanner(*plan).Find([](SymInt) -> std::optional<int64_t> { return std::nullopt; });
  EXPECT_TRUE(absl::StrContains(layout.status().message(), "has no size")) << layout.status();
}

TEST(CheckLayout, FindsPlantedOverlaps) {
  const auto module = Parse(kChain);
  const auto plan = Lower(*module->main(), GenericTarget());
  ArenaPlanner planner(*plan);
  const MemoryLayout good = **planner.Find(Ten);
  std::vector<int64_t> bytes(plan->buffers.size(), 640);
  const auto& in_place = planner.memory().in_place();
  ASSERT_TRUE(CheckLayout(*plan, good, in_place, bytes).ok());
  int found = 0;
  for (size_t b = 0; b < good.offsets.size(); ++b) {
    if (good.offsets[b] < 0) continue;
    MemoryLayout bad = good;
    bad.offsets[b] = good.offsets[b] == 0 ? 640 : 0;
    found += !CheckLayout(*plan, bad, in_place, bytes).ok();
    bad.offsets[b] = good.arena_bytes;
    EXPECT_FALSE(CheckLayout(*plan, bad, in_place, bytes).ok());
  }
  EXPECT_GE(found, 3);
  // Without the pairs the sharing is an overlap.
  EXPECT_FALSE(CheckLayout(*plan, good, {}, bytes).ok());
}

TEST(Schedule, WideGraphsAreWalkedInDepth) {
  // Each branch grows and shrinks again; in the graph's order all grow first.
  std::string text = "func @main(%x: f32[8]) -> f32[] {\n";
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&text, "%a", i, " = expand(%x, size=[100, 8]) : f32[100, 8]\n%b", i,
                    " = cumsum(%a", i, ", dim=", i % 2, ") : f32[100, 8]\n");
  }
  absl::StrAppend(&text, "%c0 = sum(%b0) : f32[]\n");
  for (int i = 1; i < 8; ++i) {
    absl::StrAppend(&text, "%s", i, " = sum(%b", i, ") : f32[]\n%c", i, " = add(%c", i - 1, ", %s",
                    i, ") : f32[]\n");
  }
  absl::StrAppend(&text, "return %c7\n}\n");
  const auto module = Parse(text);
  LoweringOptions options;
  options.schedule = false;
  const auto before = Lower(*module->main(), GenericTarget(), options);
  const auto after = Lower(*module->main(), GenericTarget());
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_GE(EstimatePeak(*before), 8 * 3200);
  EXPECT_LE(EstimatePeak(*after), 3200 + 100);
}

}  // namespace
}  // namespace weft
