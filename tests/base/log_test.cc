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
using testing::Not;

LogComponent fusion("fusion", "what was fused");
LogComponent shapes("shapes", "sizes");
LogComponent passes("passes", "passes that ran");
LogArtifact graph("graph", "the module");
LogArtifact guards("guards", "the guards");
LogArtifact plan("plan", "plans");
LogArtifact other_plan("plan", "plans");

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
  for (const LogComponent* component : {&fusion, &shapes, &passes}) {
    EXPECT_FALSE(component->IsLogged(LogSeverity::kDebug));
    EXPECT_FALSE(component->IsLogged(LogSeverity::kError));
  }
  for (const LogArtifact* artifact : {&graph, &guards, &plan}) EXPECT_FALSE(artifact->IsLogged());
  Log(fusion, LogSeverity::kError, "nothing");
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(LogTest, SettingsAreThoseOfTorch) {
  ASSERT_TRUE(SetLogs("+fusion, -shapes ,guards,passes").ok());
  EXPECT_TRUE(fusion.IsLogged(LogSeverity::kDebug));
  EXPECT_TRUE(passes.IsLogged(LogSeverity::kInfo));
  EXPECT_FALSE(passes.IsLogged(LogSeverity::kDebug));
  EXPECT_TRUE(shapes.IsLogged(LogSeverity::kError));
  EXPECT_FALSE(shapes.IsLogged(LogSeverity::kWarning));
  EXPECT_TRUE(guards.IsLogged());
  EXPECT_FALSE(plan.IsLogged());
}

TEST_F(LogTest, AllIsEveryComponentAndLaterWordsWin) {
  ASSERT_TRUE(SetLogs("+all,-fusion,plan,-plan").ok());
  EXPECT_TRUE(shapes.IsLogged(LogSeverity::kDebug));
  EXPECT_FALSE(fusion.IsLogged(LogSeverity::kInfo));
  EXPECT_FALSE(plan.IsLogged());
}

TEST_F(LogTest, ErrorsNameTheWordAndWhatIsNear) {
  ASSERT_TRUE(SetLogs("fusion").ok());
  const absl::Status status = SetLogs("passes,+fusin");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"+fusin\""));
  EXPECT_TRUE(fusion.IsLogged()) << "what is wrong changes nothing";
  EXPECT_THAT(std::string(SetLogs("plam").message()), HasSubstr("did you mean passes or plan?"));
  EXPECT_THAT(std::string(SetLogs("gards").message()), HasSubstr("graph or guards? \"help\""));
  EXPECT_THAT(std::string(SetLogs("memory").message()),
              HasSubstr("\"memory\" is no component or artifact; \"help\" lists them"));
}

TEST_F(LogTest, LinesHaveTheFormOfAbseil) {
  ASSERT_TRUE(SetLogs("fusion,plan").ok());
  Log(fusion, LogSeverity::kWarning, "one\ntwo\n");
  Log(plan, "plan @main");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_THAT(lines_[0], MatchesRegex("W[0-9]{4} [0-9:]{8}\\.[0-9]{6} +[0-9]+ \\[fusion\\] one"));
  EXPECT_THAT(lines_[1], EndsWith("[fusion] two"));
  EXPECT_THAT(lines_[2], EndsWith("[plan] plan @main"));
}

TEST_F(LogTest, TopicsOfOneNameAreOne) {
  ASSERT_TRUE(SetLogs("plan").ok());
  EXPECT_TRUE(plan.IsLogged());
  EXPECT_TRUE(other_plan.IsLogged());
  EXPECT_THAT(LogsHelp(), EndsWith("\n  plan         plans\n"));
  EXPECT_THAT(LogsHelp(), Not(HasSubstr("plans\n  plan ")));
}

TEST_F(LogTest, HelpListsWhatThereIsByName) {
  const std::string help = LogsHelp();
  EXPECT_THAT(help, HasSubstr("Components:\n  fusion       what was fused\n  passes "));
  EXPECT_THAT(help, HasSubstr("Artifacts:\n  graph        the module\n  guards "));
  for (const char* name : {"fusion", "shapes", "graph", "plan"}) EXPECT_TRUE(SetLogs(name).ok());
}

}  // namespace
}  // namespace weft
