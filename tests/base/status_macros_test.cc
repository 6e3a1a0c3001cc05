#include "base/status_macros.h"

#include <memory>

#include "gtest/gtest.h"

namespace weft {
namespace {

absl::Status Fails() { return absl::NotFoundError("none"); }

TEST(StatusMacrosTest, ReturnIfErrorReturnsErrorsAlone) {
  int reached = 0;
  const auto run = [&](const absl::Status& first) -> absl::Status {
    WEFT_RETURN_IF_ERROR(first);
    ++reached;
    WEFT_RETURN_IF_ERROR(Fails());
    ++reached;
    return absl::OkStatus();
  };
  EXPECT_EQ(run(absl::InternalError("early")).message(), "early");
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(run(absl::OkStatus()).message(), "none");
  EXPECT_EQ(reached, 1);
}

TEST(StatusMacrosTest, AssignOrReturnDeclaresAssignsAndMoves) {
  const auto make = [](int value) -> absl::StatusOr<std::unique_ptr<int>> {
    if (value < 0) return absl::InvalidArgumentError("negative");
    return std::make_unique<int>(value);
  };
  const auto sum = [&](int a, int b) -> absl::StatusOr<int> {
    WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, make(a));
    std::unique_ptr<int> second;
    WEFT_ASSIGN_OR_RETURN(second, make(b));
    return *first + *second;
  };
  EXPECT_EQ(*sum(2, 3), 5);
  EXPECT_EQ(sum(2, -1).status().message(), "negative");
  EXPECT_EQ(sum(-1, 2).status().message(), "negative");
}

}  // namespace
}  // namespace weft
