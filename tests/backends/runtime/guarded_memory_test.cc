// Red zones of many buffers.
#include "backends/runtime/guarded_memory.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kBytes = 24;

// `count` watched buffers in one block of memory, and the guard.
class Buffers {
 public:
  explicit Buffers(int count)
      : memory_(static_cast<size_t>(count) * (kBytes + 2 * MemoryGuard::kZone)) {
    for (int i = 0; i < count; ++i) {
      guard.Watch(absl::StrCat("%", i), DType::kF32, at(i), kBytes, /*poison=*/true);
    }
  }
  char* at(int i) {
    return memory_.data() + i * (kBytes + 2 * MemoryGuard::kZone) + MemoryGuard::kZone;
  }

  MemoryGuard guard;

 private:
  std::vector<char> memory_;
};

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(GuardedMemoryTest, FewBuffersAreCheckedAtEachCall) {
  Buffers buffers(MemoryGuard::kInTurn);
  EXPECT_TRUE(buffers.guard.Check({}).ok());
  buffers.at(7)[kBytes + 3] ^= 1;
  EXPECT_EQ(MessageOf(buffers.guard.Check({})), "byte 27 of %7 was written, which has 24 bytes");
}

TEST(GuardedMemoryTest, TouchedOnesOfManyAreCheckedAtEachCall) {
  Buffers buffers(3000);
  const std::vector<const char*> touched = {buffers.at(0), buffers.at(2500), nullptr};
  EXPECT_TRUE(buffers.guard.Check(touched).ok());
  buffers.at(2500)[-1] ^= 1;
  EXPECT_EQ(MessageOf(buffers.guard.Check(touched)),
            "1 bytes before the first of %2500 a byte was written");
}

TEST(GuardedMemoryTest, OthersAreCheckedInTurn) {
  for (int at : {0, 1, 255, 256, 1500, 2999}) {
    Buffers buffers(3000);
    buffers.at(at)[kBytes + 255] ^= 1;
    EXPECT_THAT(MessageOf(buffers.guard.CheckAll()), HasSubstr(absl::StrCat("%", at, " was")));
    int calls = 1;
    absl::Status status = buffers.guard.Check({});
    for (; status.ok() && calls < 100; ++calls) status = buffers.guard.Check({});
    EXPECT_THAT(MessageOf(status), HasSubstr("in this step or one before it"));
    EXPECT_LE(calls, 12);
  }
}

TEST(GuardedMemoryTest, ForgottenBuffersAreNotChecked) {
  Buffers buffers(1000);
  for (int i : {999, 3, 998, 500}) {
    buffers.at(i)[kBytes] ^= 1;
    EXPECT_FALSE(buffers.guard.CheckAll().ok());
    buffers.guard.Forget(buffers.at(i));
    EXPECT_TRUE(buffers.guard.CheckAll().ok());
  }
  EXPECT_EQ(buffers.guard.size(), 998u);
  buffers.guard.Truncate(4);
  EXPECT_EQ(buffers.guard.size(), 3u);
  buffers.guard.Truncate(4);
  EXPECT_EQ(buffers.guard.size(), 3u);
  EXPECT_TRUE(buffers.guard.CheckAll().ok());
}

TEST(GuardedMemoryTest, TheLastOneAtAnAddressIsForgottenFirst) {
  Buffers buffers(2);
  buffers.guard.Watch("inner", DType::kF32, buffers.at(0), kBytes, /*poison=*/true);
  buffers.at(0)[-1] ^= 1;
  buffers.guard.Forget(buffers.at(0));
  EXPECT_THAT(MessageOf(buffers.guard.CheckAll()), HasSubstr("of %0 a byte"));
  EXPECT_THAT(MessageOf(buffers.guard.CheckAll()), Not(HasSubstr("inner")));
  buffers.guard.Forget(buffers.at(0));
  EXPECT_TRUE(buffers.guard.CheckAll().ok());
}

}  // namespace
}  // namespace weft
