#include "tools/common/flags.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FlagsTest : public testing::Test {
 protected:
  FlagsTest() : flags_("tool", "[flags] FILE", "Does things.") {
    flags_.Section("Things");
    flags_.Bool("verbose", &verbose_, "Say more");
    flags_.String("o", &output_, "FILE", "Output");
    flags_.Int("seed", &seed_, "N", "Seed\nof all");
    flags_.Double("rtol", &rtol_, "X", "Tolerance");
    flags_.OptionalString("remarks", &remarks_, "REGEX", ".*", "Remarks");
    flags_.Repeated("input", &inputs_, "NAME=FILE", "Input");
    flags_.Alias("output", "o");
    flags_.Alias("loud", "verbose");
  }

  absl::StatusOr<std::vector<std::string>> Parse(std::vector<const char*> argv) {
    argv.insert(argv.begin(), "tool");
    return flags_.Parse(static_cast<int>(argv.size()), argv.data());
  }
  std::string Error(std::vector<const char*> argv) {
    return std::string(Parse(std::move(argv)).status().message());
  }

  FlagSet flags_;
  bool verbose_ = false;
  std::string output_;
  int64_t seed_ = 0;
  double rtol_ = 0;
  std::string remarks_;
  std::vector<std::string> inputs_;
};

TEST_F(FlagsTest, AnAliasIsTheFlagAndNotInTheHelp) {
  auto positional = Parse({"--output=a", "b"});
  ASSERT_TRUE(positional.ok()) << positional.status();
  EXPECT_EQ(output_, "a");
  ASSERT_TRUE(Parse({"--loud"}).ok());
  EXPECT_TRUE(verbose_);
  ASSERT_TRUE(Parse({"--noloud"}).ok());
  EXPECT_FALSE(verbose_);
  EXPECT_THAT(flags_.Help(), testing::Not(HasSubstr("loud")));
  // A misspelt alias is answered with a flag of the help.
  EXPECT_THAT(Error({"--lou"}), testing::Not(HasSubstr("loud")));
}

TEST_F(FlagsTest, VersionEndsTheFlags) {
  ASSERT_TRUE(Parse({"--version", "--nonsense"}).ok());
  EXPECT_TRUE(flags_.version_requested());
}

TEST_F(FlagsTest, Forms) {
  auto positional = Parse({"--verbose", "a", "--seed=7", "--rtol", "0.5", "-o", "out",
                           "--input=x=1", "--input", "y=2", "--", "--not-a-flag"});
  ASSERT_TRUE(positional.ok()) << positional.status().ToString();
  EXPECT_THAT(*positional, ElementsAre("a", "--not-a-flag"));
  EXPECT_TRUE(verbose_);
  EXPECT_EQ(seed_, 7);
  EXPECT_EQ(rtol_, 0.5);
  EXPECT_EQ(output_, "out");
  EXPECT_THAT(inputs_, ElementsAre("x=1", "y=2"));
  ASSERT_TRUE(Parse({"--noverbose"}).ok());
  positional = Parse({"--remarks", "a"});
  ASSERT_TRUE(positional.ok());
  EXPECT_THAT(*positional, ElementsAre("a"));
  EXPECT_EQ(remarks_, ".*");
  ASSERT_TRUE(Parse({"--remarks=x"}).ok());
  EXPECT_EQ(remarks_, "x");
  EXPECT_FALSE(verbose_);
}

TEST_F(FlagsTest, ErrorsNameTheFlag) {
  EXPECT_THAT(Error({"--sed=7"}), HasSubstr("unknown flag --sed; did you mean --seed?"));
  EXPECT_THAT(Error({"--zzzzzzzz"}), HasSubstr("--help lists the flags"));
  // It is near to -o alone.
  EXPECT_THAT(Error({"--xox"}), HasSubstr("--help lists the flags"));
  EXPECT_THAT(Error({"--seed=x"}), HasSubstr("--seed takes an integer"));
  EXPECT_THAT(Error({"--rtol=x"}), HasSubstr("--rtol takes a number"));
  EXPECT_THAT(Error({"--verbose=x"}), HasSubstr("--verbose takes true or false"));
  EXPECT_THAT(Error({"--seed"}), HasSubstr("--seed needs a value: --seed=N"));
  EXPECT_THAT(Error({"-x"}), HasSubstr("unknown flag -x"));
}

TEST_F(FlagsTest, NumbersAreWithinTheirBounds) {
  int64_t threads = 7;
  flags_.IntBetween("threads", &threads, 0, 1024, "N", "Threads");
  for (const char* bad : {"--threads=-1", "--threads=1025", "--threads=99999999999",
                          "--threads=99999999999999999999", "--threads=2.5", "--threads="}) {
    EXPECT_THAT(Error({bad}), HasSubstr("--threads takes an integer from 0 to 1024, not ")) << bad;
  }
  EXPECT_EQ(threads, 7);
  EXPECT_TRUE(Parse({"--threads=1024"}).ok());
  EXPECT_EQ(threads, 1024);
  for (const char* bad : {"--rtol=nan", "--rtol=-nan", "--rtol=-1", "--rtol=inf", "--rtol=1e999"}) {
    EXPECT_THAT(Error({bad}), HasSubstr("--rtol takes a number of at least 0, not ")) << bad;
  }
  EXPECT_EQ(rtol_, 0);
}

TEST_F(FlagsTest, FlagsOfOneLetterHaveOneDash) {
  EXPECT_THAT(Error({"-x=3"}), HasSubstr("unknown flag -x;"));
  EXPECT_THAT(Error({"-seed=3"}), HasSubstr("unknown flag -seed; did you mean --seed?"));
  EXPECT_THAT(Error({"-o"}), HasSubstr("-o needs a value: -o FILE"));
}

TEST_F(FlagsTest, HelpListsEveryFlag) {
  ASSERT_TRUE(Parse({"--help"}).ok());
  EXPECT_TRUE(flags_.help_requested());
  const std::string help = flags_.Help();
  EXPECT_THAT(help, HasSubstr("Usage: tool [flags] FILE"));
  EXPECT_THAT(help, HasSubstr("Things:"));
  for (const char* flag :
       {"--verbose", "-o FILE", "--seed=N", "--rtol=X", "--remarks[=REGEX]", "--input=NAME=FILE"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
}

TEST_F(FlagsTest, ThePageIsForMan) {
  ASSERT_TRUE(Parse({"--help=man"}).ok());
  EXPECT_TRUE(flags_.help_requested());
  const std::string page = flags_.Help();
  EXPECT_THAT(page, testing::StartsWith(".TH WEFT-TOOL 1 "));
  EXPECT_THAT(page, HasSubstr("\n.SH NAME\nweft\\-tool \\- "));
  EXPECT_THAT(page, HasSubstr("\n.SH THINGS\n"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n.B \\-\\-input=NAME=FILE\n"));
}

TEST_F(FlagsTest, RoffDoesNotObeyTheText) {
  bool flag = false;
  flags_.Bool("odd", &flag, "one\n.two\n'three\nfour\\five");
  ASSERT_TRUE(Parse({"--help=man"}).ok());
  EXPECT_THAT(flags_.Help(), HasSubstr("one\n\\&.two\n\\&'three\nfour\\efive\n"));
}

TEST_F(FlagsTest, CompletionsAreTheFlags) {
  ASSERT_TRUE(Parse({"--help=flags"}).ok());
  const std::vector<std::string> lines = absl::StrSplit(flags_.Help(), '\n');
  for (const char* line : {"--help", "--version", "--verbose", "--seed=", "--remarks", "-o"}) {
    EXPECT_THAT(lines, testing::Contains(line));
  }
  EXPECT_THAT(Error({"--help=pdf"}), HasSubstr("--help"));
}

}  // namespace
}  // namespace weft::tools
