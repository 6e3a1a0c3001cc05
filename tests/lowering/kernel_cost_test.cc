// The work of instructions on a target.
#include "lowering/kernel_cost.h"

#include <cstdint>

#include "graph/target/target.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(KernelCost, OfInstructionsIsWhatTheTargetSays) {
  Target target;
  target.costs.division_work = 5;
  target.costs.function_work = 20;
  for (ScalarOp op :
       {ScalarOp::kConst, ScalarOp::kSize, ScalarOp::kIndex, ScalarOp::kRow, ScalarOp::kReduced}) {
    EXPECT_EQ(WorkOf(op, target), 0);
  }
  for (ScalarOp op : {ScalarOp::kLoad, ScalarOp::kConvert, ScalarOp::kAdd, ScalarOp::kFma,
                      ScalarOp::kFloor, ScalarOp::kEq, ScalarOp::kSelect}) {
    EXPECT_EQ(WorkOf(op, target), 1) << static_cast<int>(op);
  }
  for (ScalarOp op : {ScalarOp::kDiv, ScalarOp::kSqrt, ScalarOp::kRsqrt, ScalarOp::kReciprocal}) {
    EXPECT_EQ(WorkOf(op, target), 5) << static_cast<int>(op);
  }
  for (ScalarOp op : {ScalarOp::kExp, ScalarOp::kSigmoid, ScalarOp::kLgamma, ScalarOp::kPow,
                      ScalarOp::kRemainder, ScalarOp::kFloorDiv, ScalarOp::kAtan2}) {
    EXPECT_EQ(WorkOf(op, target), 20) << static_cast<int>(op);
  }
}

// A target comes from a file.
TEST(KernelCost, WorkIsBounded) {
  Target target;
  target.costs.function_work = INT64_MAX;
  EXPECT_LE(WorkOf(ScalarOp::kExp, target), 1 << 20);
}

}  // namespace
}  // namespace weft
