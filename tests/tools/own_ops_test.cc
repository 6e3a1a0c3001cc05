// The tools take models with the ops of a rule file, from ONNX files too.
#include <string>

#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OwnOpsTest : public ToolTest {
 protected:
  OwnOpsTest() : ToolTest("opt") {
    Write("own.rules", R"(
op squash(x, float limit = 1.0) onnx "acme::Squash" = x / (1 + abs(x) / limit)
)");
    Write("in.weft", R"(
func @main(%x: f32[n, 3]) -> (%y: f32[n, 3]) {
  %0 = neg(%x)
  %1 = squash(%0, limit=2.0)
  return %1
}
)");
    EXPECT_EQ(Run("--rules=own.rules --emit=onnx -o own.onnx in.weft"), 0) << err_;
  }
};

TEST_F(OwnOpsTest, AModelIsReadWithItsOps) {
  EXPECT_EQ(Run("--rules=own.rules --emit=text own.onnx"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("squash(%0, limit=2.0)"));
  EXPECT_EQ(Run("--rules=own.rules --target=cpu --emit=plan own.onnx"), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("div"), Not(HasSubstr("squash("))));
  EXPECT_EQ(Run("own.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("acme::Squash (no registered op has this name): node 'squash'"));
}

TEST_F(OwnOpsTest, ListsSayTheNameInOnnx) {
  EXPECT_EQ(Run("--rules=own.rules --list-ops=squash"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("Composite.\n    In ONNX: acme::Squash.\n"));
  EXPECT_EQ(Run("--rules=own.rules --list-ops=squash --format=json"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("acme::Squash"));
}

TEST_F(OwnOpsTest, OtherToolsTakeIt) {
  EXPECT_EQ(RunOther("run", "--rules=own.rules --size n=2 own.onnx"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("y: f32[2, 3]"));
  EXPECT_EQ(RunOther("bench/main", "--rules=own.rules --size n=2 --repeat=3 own.onnx"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("median"));
  // A compiled file has the formula, and needs no op.
  EXPECT_EQ(RunOther("compile", "--rules=own.rules -o own.weftb own.onnx"), 0) << err_;
  EXPECT_EQ(RunOther("run", "--size n=2 own.weftb"), 0) << err_;
}

}  // namespace
}  // namespace weft
