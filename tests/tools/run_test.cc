// The command line of run, run as a program.
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RunTest : public ToolTest {
 protected:
  RunTest() : ToolTest("run") {
    Write("sizes.weft", R"(func @main(%x: f32[batch, length]) -> (%y: f32[batch])
    where 1 <= batch, 1 <= length <= 16 {
  %0 = sum(%x, dim=[1])
  return %0
}
)");
    Write("state.weft",
          R"(func @main(%n: i64[] {param="calls", initial=dense<0>}, %x: f32[s0]) -> (%y: i64[]) {
  %0 = constant(dense<1>) : i64[]
  %1 = add(%n, %0)
  %2 = copy_(%n, %1)
  return %2
}
)");
  }
};

TEST_F(RunTest, RunsOnce) {
  EXPECT_EQ(Run("--target=reference --passes=default in.weft"), 0) << err_;
  EXPECT_EQ(out_, "target reference, passes default\noutput_0: f32[2, 3]\noutput_1: f32[2, 3]\n");
  EXPECT_EQ(Run("--version"), 0);
  EXPECT_THAT(out_, StartsWith("run (Weft) "));
}

TEST_F(RunTest, AStreamOfSizesOnOneProgram) {
  EXPECT_EQ(Run("--dim batch=2 --size length=3,5,7 --explain sizes.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("target cpu, passes cpu, code=before, threads=all\n"
                                     "run 1 of 3: batch=2, length=3\ny: f32[2]\n"
                                     "run 2 of 3: batch=2, length=5\n"),
                          HasSubstr("1 variant of at most 8, dynamic=symbolic; 3 calls"),
                          HasSubstr("1 compile,")));
}

TEST_F(RunTest, ExplainsWhyItCompiled) {
  EXPECT_EQ(Run("--dynamic=automatic --size batch=2 --size length=3,5,7 --explain sizes.weft"), 0)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("2 compiles"), HasSubstr("constraint 1 <= length <= 16"),
                          HasSubstr("because variant 0 needs length == 3: dim 1 of \"x\" was 3, "
                                    "is 5"),
                          HasSubstr("symbolic (it was 3, then 5)")));
  EXPECT_EQ(Run("--dynamic=static --cache-limit=2 --mark-dynamic=x:0 --size batch=2,4,3,3 "
                "--size length=3,5,7,7 --explain sizes.weft"),
            0)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("2 variants of at most 2"), HasSubstr("2 as imported"),
                          HasSubstr("symbolic (marked dynamic)")));
}

TEST_F(RunTest, StateGoesOnFromRunToRun) {
  EXPECT_EQ(Run("--dynamic=static --print --size s0=1,2,1 state.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("writes calls\ny: i64[] = 1\n"), HasSubstr("y: i64[] = 3\n")));
}

TEST_F(RunTest, SeededInputsHaveTheSizesOfThoseGiven) {
  Write("two.weft", R"(func @main(%x: f32[n], %w: f32[n]) -> (%z: f32[n]) {
  %0 = add(%x, %w)
  return %0
}
)");
  EXPECT_EQ(Run("--size batch=13 -o . sizes.weft"), 0) << err_;
  EXPECT_EQ(Run("--input=w=y.npy two.weft"), 0) << err_;
  EXPECT_THAT(out_, EndsWith("\nn=13\nz: f32[13]\n"));
}

TEST_F(RunTest, ProfilesIntoSeveralFilesAndATable) {
  EXPECT_EQ(Run("--target=cpu --size batch=2 --size length=3 --profile=p.json "
                "--profile-max-bytes=3000 --profile-table --peak-gflops=50 --peak-gbytes=10 "
                "sizes.weft"),
            0)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("Self CPU"), HasSubstr("oofline"), HasSubstr("sum")));
  EXPECT_TRUE(Exists("p.2.json"));
  EXPECT_EQ(Run("--profile=p.xml sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("p.xml"));
}

TEST_F(RunTest, Logs) {
  const std::string sizes = " --size batch=2 --size length=3,5 sizes.weft";
  EXPECT_EQ(
      Run("--target=cpu --passes=cpu --dynamic=static --log=executor,guards,recompiles" + sizes), 0)
      << err_;
  EXPECT_THAT(err_, AllOf(HasSubstr("[executor] @main: sizes 1, "), HasSubstr("[recompiles] "),
                          HasSubstr("[guards] "), Not(HasSubstr("[import]"))));
  EXPECT_THAT(out_, HasSubstr("\nrun 1 of 2: batch=2, length=3\ny: f32[2]\n"));
  EXPECT_EQ(Run("--target=cpu --log=-executor" + sizes), 0);
  EXPECT_EQ(err_, "");
  setenv("WEFT_LOGS", "plan", 1);
  EXPECT_EQ(Run("--target=cpu" + sizes), 0);
  EXPECT_THAT(err_, HasSubstr("[plan] plan @main"));
  unsetenv("WEFT_LOGS");
  EXPECT_EQ(Run("--log=help"), 0);
  EXPECT_THAT(out_, HasSubstr("recompiles"));
  EXPECT_EQ(Run("--log=+plans" + sizes), 2);
  EXPECT_THAT(err_, HasSubstr("logs: \"+plans\" is no component or artifact"));
}

TEST_F(RunTest, Errors) {
  EXPECT_EQ(Run("--size length=17 sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("length = 17 is not allowed: it lies in [1, 16]\n"));
  EXPECT_EQ(Run("--size length=3,x sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("--size takes NAME=SIZE or NAME=SIZE,SIZE..., not \"length=3,x\""));
  EXPECT_EQ(Run("--size length=3,4 --size batch=1,2,3 sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("--size=length has 2 sizes for 3 runs"));
  EXPECT_EQ(Run("--dynamic=often sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("--dynamic takes automatic, static or symbolic, not \"often\""));
  EXPECT_EQ(Run("--mark-static=x sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("marks are INPUT:DIM, not \"x\""));
  EXPECT_EQ(Run("--mark-static=y:0 sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("the program has no input \"y\""));
  EXPECT_EQ(Run("--passes=defautl sizes.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("defautl"));
  EXPECT_THAT(out_, Not(HasSubstr("run 1")));
}

// All targets refuse it before they run, with the op and the dim.
TEST_F(RunTest, AnEmptyDimHasNothingToRepeat) {
  Write("pad.weft",
        "func @main(%x: f32[n, 3]) -> f32[n + 2, 3] {"
        " %y = pad(%x, none, pad=[1, 0, 1, 0], mode=\"edge\") return %y }");
  for (const char* target : {"reference", "cpu"}) {
    EXPECT_EQ(Run(absl::StrCat("--target=", target, " --size=n=1 pad.weft")), 0) << err_;
    EXPECT_EQ(Run(absl::StrCat("--target=", target, " --size=n=0 pad.weft")), 2);
    EXPECT_THAT(err_, HasSubstr("n = 0 is not allowed: it is at least 1 (pad)"));
  }
}

}  // namespace
}  // namespace weft
