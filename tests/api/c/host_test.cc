// Memory that the host gives programs in C.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An allocator that counts.
struct Memory {
  std::atomic<int> allocations{0};
  std::atomic<int64_t> bytes{0};  // Those that are not released.
  std::atomic<bool> empty{false};
  std::atomic<size_t> shift{0};  // From the alignment that is asked for.

  static void* Allocate(void* context, size_t size, size_t alignment) {
    auto& memory = *static_cast<Memory*>(context);
    if (memory.empty) return nullptr;
    EXPECT_EQ(size % alignment, 0u);
    ++memory.allocations;
    memory.bytes += static_cast<int64_t>(size);
    auto* block = static_cast<char*>(std::aligned_alloc(alignment, size + alignment));
    return block + memory.shift;
  }
  static void Release(void* context, void* block, size_t size) {
    auto& memory = *static_cast<Memory*>(context);
    memory.bytes -= static_cast<int64_t>(size);
    std::free(static_cast<char*>(block) - memory.shift);
  }
};

// The arena has the exponentials.
constexpr char kTwoProducts[] = R"(
func @main(%x: f32[n, n]) {
  %0 = matmul(%x, %x)
  %1 = exp(%0)
  %2 = matmul(%1, %1)
  return %2
}
)";

class WeftHostTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FINE(Weft().set_allocator(Memory::Allocate, Memory::Release, &memory_));
  }
  void TearDown() override { EXPECT_FINE(Weft().set_allocator(nullptr, nullptr, nullptr)); }

  Memory memory_;
};

TEST_F(WeftHostTest, ProgramsUseTheHostsMemory) {
  const auto x = F32({2, 2}, {0, 0, 0, 0});
  {
    const Program program = Create(Parse(kTwoProducts));
    const Output output = Run1(program, &x->tensor);
    EXPECT_THAT(Read(output), ElementsAre(2, 2, 2, 2));
    EXPECT_GE(memory_.allocations, 2);  // The arena, and the output.
    EXPECT_GT(memory_.bytes, 0);
    // Memory goes back to where it came from.
    ASSERT_FINE(Weft().set_allocator(nullptr, nullptr, nullptr));
    const int before = memory_.allocations;
    const auto larger = F32({3, 3}, std::vector<float>(9, 0));
    EXPECT_THAT(Read(Run1(program, &larger->tensor)), testing::Each(3));
    EXPECT_EQ(memory_.allocations, before);
  }
  EXPECT_EQ(memory_.bytes, 0);
}

TEST_F(WeftHostTest, AHostWithoutMemoryIsAnError) {
  const auto x = F32({2, 2}, {0, 0, 0, 0});
  const Program program = Create(Parse(kTwoProducts));
  memory_.empty = true;
  const Error error = RunError(program, &x->tensor);
  EXPECT_EQ(error.code, WEFT_RESOURCE_EXHAUSTED);
  EXPECT_THAT(error.message, HasSubstr("memory"));
  memory_.empty = false;
  memory_.shift = 4;  // As if there were none.
  EXPECT_EQ(RunError(program, &x->tensor).code, WEFT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(memory_.bytes, 0);
  memory_.shift = 0;
  EXPECT_THAT(Read(Run1(program, &x->tensor)), ElementsAre(2, 2, 2, 2));
}

TEST_F(WeftHostTest, TheFunctionsAreGivenTogether) {
  EXPECT_THAT(Take(Weft().set_allocator(Memory::Allocate, nullptr, nullptr)).message,
              HasSubstr("together"));
}

}  // namespace
}  // namespace weft_api_test
