// The memory of plans as text.
#include "lowering/plan_memory_text.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/plan_text.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string Describe(const std::string& text) {
  const auto plan = ParsePlan(text, ops::Registry(), [](uint64_t, Type) { return HostTensor(); });
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return "";
  const auto memory = DescribeMemory(*plan);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return memory.value_or("");
}

// Sorts of one row after the other: each needs the result of the one before.
std::string Chain(const std::string& where, const std::string& size) {
  std::string text = "plan @main(%x: f32[" + size + "]) -> (%y: f32[" + size + "])" + where +
                     " {\n  buffer %x : f32[" + size + "] input 0\n";
  for (const char* name : {"a", "b", "c"}) {
    text += std::string("  buffer %") + name + " : f32[" + size + "] temporary\n";
  }
  text += "  buffer %y : f32[" + size + "] output 0\n";
  const char* const names[] = {"x", "a", "b", "c", "y"};
  for (int i = 0; i < 4; ++i) {
    text += std::string("  copy (%") + names[i] + ": f32[" + size + "]) -> (%" + names[i + 1] +
            ": f32[" + size + "]) node " + std::to_string(i + 1) + "\n";
  }
  return text + "}\n";
}

TEST(PlanMemoryTextTest, ShowsPlacesAndThePeak) {
  EXPECT_EQ(Describe(Chain("", "1024")),
            "// memory: arena 8192 bytes (12288 without reuse), constants 0\n"
            "//     offset      bytes  steps      buffers\n"
            "//          0       4096  0-1        %a\n"
            "//          0       4096  2-3        %c\n"
            "//       4096       4096  1-2        %b\n"
            "// peak at step 1, copy: 8192 bytes: %a 4096, %b 4096\n");
}

TEST(PlanMemoryTextTest, LiveMemoryIsThatOfEachStep) {
  const auto plan =
      ParsePlan(Chain("", "s0"), ops::Registry(), [](uint64_t, Type) { return HostTensor(); });
  ASSERT_TRUE(plan.ok()) << plan.status();
  const LiveMemory live = LiveMemoryOf(*plan);
  EXPECT_THAT(live.bytes, testing::ElementsAre(8, 16, 16, 8));
  EXPECT_EQ(live.sizes, " for s0=2");
}

TEST(PlanMemoryTextTest, NamesTheSizes) {
  EXPECT_THAT(Describe(Chain("", "s0")), HasSubstr("// memory for s0=2: arena "));
  EXPECT_THAT(Describe(Chain(" where 5 <= s0 <= 64, s0 % 8 == 0", "s0")),
              HasSubstr("// memory for s0=8: arena "));
}

TEST(PlanMemoryTextTest, APlanWithoutTemporariesSaysSo) {
  EXPECT_EQ(Describe("plan @main(%x: f32[4]) -> (%y: f32[4]) {\n"
                     "  buffer %x : f32[4] input 0\n  buffer %y : f32[4] output 0\n"
                     "  copy (%x: f32[4]) -> (%y: f32[4]) node 1\n}\n"),
            "// memory: arena 0 bytes (0 without reuse), constants 0\n");
}

}  // namespace
}  // namespace weft
