// The grammar of log settings, what they let through, and the form of a line.
#include "base/log.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  LogTest() {
    SetLogSink([this](absl::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    SetLogSink(nullptr);
    EXPECT_TRUE(SetLogs("").ok());
  }

  std::vector<std::string> lines_;
};

TEST_F(LogTest, IsOffToBeginWith) {
  for (int c = 0; c < kNumLogComponents; ++c) {
    for (auto severity : {LogSeverity::kDebug, LogSeverity::kError}) {
      EXPECT_FALSE(IsLogged(static_cast<LogComponent>(c), severity));
    }
  }
  for (int a = 0; a < kNumLogArtifacts; ++a) EXPECT_FALSE(IsLogged(static_cast<LogArtifact>(a)));
  Log(LogComponent::kFusion, LogSeverity::kError, "nothing");
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(LogTest, SettingsAreThoseOfTorch) {
  ASSERT_TRUE(SetLogs("+fusion, -shapes ,guards,passes").ok());
  EXPECT_TRUE(IsLogged(LogComponent::kFusion, LogSeverity::kDebug));
  EXPECT_TRUE(IsLogged(LogComponent::kPasses, LogSeverity::kInfo));
  EXPECT_FALSE(IsLogged(LogComponent::kPasses, LogSeverity::kDebug));
  EXPECT_TRUE(IsLogged(LogComponent::kShapes, LogSeverity::kError));
  EXPECT_FALSE(IsLogged(LogComponent::kShapes, LogSeverity::kWarning));
  EXPECT_FALSE(IsLogged(LogComponent::kCodegen, LogSeverity::kError));
  EXPECT_TRUE(IsLogged(LogArtifact::kGuards));
  EXPECT_FALSE(IsLogged(LogArtifact::kPlan));
}

TEST_F(LogTest, AllIsEveryComponentAndLaterWordsWin) {
  ASSERT_TRUE(SetLogs("+all,-fusion,plan,-plan").ok());
  EXPECT_TRUE(IsLogged(LogComponent::kDynamic, LogSeverity::kDebug));
  EXPECT_FALSE(IsLogged(LogComponent::kFusion, LogSeverity::kInfo));
  EXPECT_FALSE(IsLogged(LogArtifact::kPlan));
}

TEST_F(LogTest, ErrorsNameTheWordAndWhatIsNear) {
  ASSERT_TRUE(SetLogs("fusion").ok());
  const absl::Status status = SetLogs("passes,+fusin");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"+fusin\""));
  EXPECT_TRUE(IsLogged(LogComponent::kFusion)) << "what is wrong changes nothing";
  EXPECT_THAT(std::string(SetLogs("gards").message()), HasSubstr("graph or guards"));
}

TEST_F(LogTest, LinesHaveTheFormOfAbseil) {
  ASSERT_TRUE(SetLogs("fusion,plan").ok());
  Log(LogComponent::kFusion, LogSeverity::kWarning, "one\ntwo\n");
  Log(LogArtifact::kPlan, "plan @main");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_THAT(lines_[0], MatchesRegex("W[0-9]{4} [0-9:]{8}\\.[0-9]{6} +[0-9]+ \\[fusion\\] one"));
  EXPECT_THAT(lines_[1], EndsWith("[fusion] two"));
  EXPECT_THAT(lines_[2], EndsWith("[plan] plan @main"));
}

TEST_F(LogTest, HelpListsWhatThereIs) {
  for (const char* name : {"import", "dynamic", "perf_hints", "output_code"}) {
    EXPECT_THAT(LogsHelp(), HasSubstr(std::string("  ") + name));
    EXPECT_TRUE(SetLogs(name).ok());
  }
}

}  // namespace
}  // namespace weft
