// The command line of opt, run as a program.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class OptTest : public testing::Test {
 protected:
  OptTest() {
    unsetenv("BUILD_WORKING_DIRECTORY");
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "in.weft") << R"(
func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {
  %0 = permute(%x, dims=[1, 0]) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("b")
  %2 = sin(%1) loc("c")
  %3 = sin(%x) loc("d")
  return %2, %3
}
)";
  }

  // Exit status; standard output and error go to output_.
  int Opt(const std::string& flags) {
    const fs::path opt =
        fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / "tools/opt";
    const int status = std::system(
        absl::StrCat("cd '", folder_.string(), "' && '", opt.string(), "' ", flags, " > log 2>&1")
            .c_str());
    output_ = Read("log");
    return WEXITSTATUS(status);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder_;
  std::string output_;
};

TEST_F(OptTest, StopsAtTheRewriteLimit) {
  EXPECT_EQ(Opt("--passes=canonicalize --rewrite-limit=0 --emit=text in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("permute"));
  EXPECT_EQ(Opt("--passes=canonicalize,dce --rewrite-limit=1 --emit=text in.weft"), 0);
  EXPECT_THAT(output_, Not(HasSubstr("permute")));
}

TEST_F(OptTest, RemarksAsRecords) {
  EXPECT_EQ(Opt("--emit= --remarks=passed:canonicalize --remarks-format=json "
                "--remarks-output=r.json in.weft"),
            0);
  EXPECT_EQ(output_, "");
  EXPECT_THAT(Read("r.json"), StartsWith("{\"kind\": \"passed\", \"pass\": \"canonicalize\""));
  EXPECT_EQ(Opt("--emit= --remarks=missed in.weft"), 0);
  EXPECT_EQ(output_, "");
  EXPECT_EQ(Opt("--emit= --budget=1 in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("budget canonicalize: stopped: the budget is spent, budget=1"));
}

TEST_F(OptTest, StatisticsAsTreeAndJson) {
  EXPECT_EQ(Opt("--passes='fixpoint(cse,if(changed,dce))' in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("fixpoint"), HasSubstr("\n        round 1"),
                             HasSubstr("share"), HasSubstr("peak MB")));
  EXPECT_EQ(Opt("--stats=json in.weft"), 0);
  EXPECT_THAT(output_, StartsWith("{\"seconds\": "));
}

TEST_F(OptTest, DumpsToFiles) {
  EXPECT_EQ(Opt("--emit= --passes=canonicalize,cse --print-before=all "
                "--print-after='ca.*' --print-to=dumps in.weft"),
            0);
  EXPECT_EQ(output_, "");
  EXPECT_TRUE(fs::exists(folder_ / "dumps/0000.canonicalize.before.weft"));
  EXPECT_TRUE(fs::exists(folder_ / "dumps/0001.cse.before.weft"));
  EXPECT_FALSE(fs::exists(folder_ / "dumps/0001.cse.after.weft"));
  EXPECT_EQ(Opt("--passes=none dumps/0000.canonicalize.after.weft"), 0);
}

TEST_F(OptTest, BlamesRules) {
  EXPECT_EQ(Opt("--emit= --blame=%0 in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("@main %0 = sin"), HasSubstr("\"c\""), HasSubstr("\"d\"")));
  EXPECT_EQ(Opt("--emit= --blame=%7 in.weft"), 2);
  EXPECT_EQ(output_, "opt: error: --blame: no node has the value %7 in @main\n");
}

TEST_F(OptTest, PrintsThePipeline) {
  EXPECT_EQ(Opt("--passes='fixpoint{max=3}( if(nodes < 9, dce) )' --print-pipeline"), 0);
  EXPECT_EQ(output_, "fixpoint{max=3}(if(nodes<9,dce))\n");
}

TEST_F(OptTest, RunsReplayFiles) {
  std::ofstream(folder_ / "r.weft")
      << "// weft replay\n// passes: canonicalize,dce\n// rewrite_limit: 1\n"
      << Read("in.weft");
  EXPECT_EQ(Opt("--replay=r.weft --emit=text"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("sin"), Not(HasSubstr("permute"))));
  EXPECT_EQ(Opt("--replay=in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("in.weft: line 1: a replay file begins with"));
}

TEST_F(OptTest, FlagErrors) {
  EXPECT_EQ(Opt("--stats=xml in.weft"), 2);
  EXPECT_EQ(output_, "opt: error: --stats takes text or json, not \"xml\"\n");
  EXPECT_EQ(Opt("--remarks='(' in.weft"), 2);
  EXPECT_EQ(output_, "opt: error: --remarks: \"(\" is not a regular expression\n");
  EXPECT_EQ(Opt("--print-after=dec in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("--print-after: unknown pass \"dec\", did you mean"));
  EXPECT_EQ(Opt("--passes='if(foo,dce)' in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("pipeline, column 4: expected a condition"));
}

}  // namespace
}  // namespace weft
