// The command line of reduce, run as a program.
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class ReduceTest : public ToolTest {
 protected:
  ReduceTest() : ToolTest("reduce") {}
};

TEST_F(ReduceTest, KeepsWhatACommandLooksFor) {
  EXPECT_EQ(Run("--predicate='command=grep -q sin {}' -o small.weft in.weft"), 0);
  EXPECT_THAT(out_, MatchesRegex("4 nodes before, 1 after, [0-9]+ tests\n"));
  EXPECT_EQ(err_, "");
  EXPECT_THAT(Read("small.weft"), AllOf(HasSubstr("sin"), Not(HasSubstr("permute"))));
}

TEST_F(ReduceTest, ShortensThePipeline) {
  const std::string flags = "--predicate=message=fold.permute --passes=cse,canonicalize,dce ";
  EXPECT_EQ(Run(flags + "in.weft"), 0);
  EXPECT_THAT(out_, HasSubstr(" after, "));
  EXPECT_THAT(out_, HasSubstr("\n--passes='canonicalize'\n"));
  EXPECT_THAT(Read("reduced.weft"), AllOf(HasSubstr("permute"), Not(HasSubstr("sin"))));
  EXPECT_EQ(Run(flags + "--keep-passes in.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("\n--passes='cse,canonicalize,dce'\n"));
}

TEST_F(ReduceTest, WhatDoesNotHoldGivesOne) {
  for (const char* predicate :
       {"wrong-numbers", "crash", "verifier-error", "message=no-such-rule"}) {
    SCOPED_TRACE(predicate);
    EXPECT_EQ(Run(std::string("--predicate=") + predicate + " in.weft"), 1);
    EXPECT_EQ(err_, "reduce: the predicate does not hold for the whole module\n");
    EXPECT_EQ(out_, "");
  }
  EXPECT_FALSE(Exists("reduced.weft"));
}

TEST_F(ReduceTest, StopsAtTheBound) {
  EXPECT_EQ(Run("--predicate='command=grep -q sin {}' --max-tests=1 in.weft"), 0);
  EXPECT_EQ(out_, "4 nodes before, 4 after, 1 tests (--max-tests reached)\n");
}

TEST_F(ReduceTest, PathsAreTheUsers) {
  EXPECT_EQ(RunFrom("below", "--predicate='command=grep -q sin {}' -o small.weft in.weft"), 0);
  EXPECT_THAT(Read("small.weft"), HasSubstr("sin"));
  EXPECT_FALSE(Exists("below/small.weft"));
}

TEST_F(ReduceTest, Errors) {
  EXPECT_EQ(Run(""), 2);
  EXPECT_EQ(err_, "reduce: error: expected one model file; --help shows how\n");
  EXPECT_EQ(Run("none.weft"), 2);
  EXPECT_EQ(err_, "reduce: error: cannot open none.weft: No such file or directory\n");
  EXPECT_EQ(Run("--predicate=slow in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("reduce: error: --predicate takes wrong-numbers, crash, "));
  EXPECT_EQ(Run("--predicate='message=(' in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("reduce: error: --predicate=message: \"(\" is not a regular "));
  EXPECT_EQ(Run("--passes=canonicalise in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("no pass or pipeline is called \"canonicalise\""));
  EXPECT_EQ(Run("--seed=x in.weft"), 2);
  EXPECT_EQ(err_, "reduce: error: --seed takes an integer, not \"x\"\n");
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, StartsWith("Usage: reduce [flags] MODEL"));
}

}  // namespace
}  // namespace weft
