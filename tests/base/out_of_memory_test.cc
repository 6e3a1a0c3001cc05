#include "base/out_of_memory.h"

#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(OutOfMemoryTest, ResultsPass) {
  EXPECT_TRUE(CatchOutOfMemory([] { return absl::OkStatus(); }).ok());
  const absl::StatusOr<int> three = CatchOutOfMemory([] { return absl::StatusOr<int>(3); });
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(*three, 3);
  EXPECT_EQ(CatchOutOfMemory([] { return absl::NotFoundError("none"); }).message(), "none");
}

TEST(OutOfMemoryTest, ABlockSaysItsSize) {
  const absl::Status status =
      CatchOutOfMemory([]() -> absl::Status { throw OutOfMemory(1 << 20); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "no memory for 1048576 bytes");
}

TEST(OutOfMemoryTest, ContainersThatAreTooLarge) {
  const auto allocates = []() -> absl::StatusOr<int> { throw std::bad_alloc(); };
  EXPECT_EQ(CatchOutOfMemory(allocates).status().message(), "no memory");
  const auto grows = []() -> absl::Status {
    std::string text;
    text.resize(text.max_size() + 1);
    return absl::OkStatus();
  };
  const absl::Status status = CatchOutOfMemory(grows);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "no memory");
}

TEST(OutOfMemoryTest, OtherExceptionsPass) {
  const auto throws = []() -> absl::Status { throw std::runtime_error("other"); };
  EXPECT_THROW(CatchOutOfMemory(throws).IgnoreError(), std::runtime_error);
}

}  // namespace
}  // namespace weft
