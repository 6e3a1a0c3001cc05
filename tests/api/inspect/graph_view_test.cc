// The data that the recorder takes from a run of passes.
#include "api/inspect/graph_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;

constexpr char kModel[] = R"(
func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {
  %0 = permute(%x, dims=[1, 0]) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("b")
  %2 = sin(%1) loc("c")
  %3 = sin(%x) loc("d")
  %4 = cos(%x) loc("dead")
  return %2, %3
}
)";

class GraphRecorderTest : public testing::Test {
 protected:
  void Compile(const std::string& passes, const char* text = kModel) {
    auto module = ParseModule(text, ops::Registry(), "test");
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    CompileOptions options;
    options.passes = passes;
    ASSERT_TRUE(recorder_.Start(**module).ok());
    recorder_.Record(&options);
    const auto result = weft::Compile(**module, options);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ReadPage();
  }

  void ReadPage() {
    const std::string page = recorder_.Html();
    const std::string begin = "id=\"data\">\n";
    const size_t at = page.find(begin) + begin.size();
    data_ = Json::parse(page.substr(at, page.find("</script>", at) - at));
  }

  std::string Text(const Json& number) const {
    return number == -1 ? "" : data_["strings"][number.get<size_t>()].get<std::string>();
  }
  // The key of the only node of an op.
  int KeyOf(const std::string& op) const {
    int key = 0, found = -1;
    for (size_t r = 0; r < data_["rows"]["key"].size(); ++r) {
      key += data_["rows"]["key"][r].get<int>();
      if (Text(data_["rows"]["op"][r]) == op) found = key;
    }
    return found;
  }
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const Json& snapshot : data_["snapshots"]) paths.push_back(snapshot["path"]);
    return paths;
  }

  GraphRecorder recorder_{"m"};
  Json data_;
};

TEST_F(GraphRecorderTest, SnapshotsOfWhatChangedAlone) {
  Compile("dce,dce,canonicalize,cse,cse");
  EXPECT_THAT(Paths(), ElementsAre("import", "dce", "canonicalize", "cse"));
  EXPECT_EQ(data_["snapshots"][1]["removed"].size(), 1u);  // The cosine.
  EXPECT_EQ(data_["snapshots"][1]["rows"].size(), 0u);
  EXPECT_EQ(data_["snapshots"][2]["removed"].size(), 2u);  // Both permutes.
  EXPECT_EQ(data_["snapshots"][3]["removed"].size(), 1u);  // A sine.
}

TEST_F(GraphRecorderTest, RemarksWithTheirPassAndNodes) {
  Compile("canonicalize");
  const Json& remarks = data_["remarks"];
  ASSERT_GE(remarks["kind"].size(), 1u);
  bool found = false;
  for (size_t i = 0; i < remarks["kind"].size(); ++i) {
    if (Text(remarks["rule"][i]) != "fold.permute") continue;
    found = true;
    EXPECT_EQ(Text(remarks["kind"][i]), "passed");
    EXPECT_EQ(Text(remarks["path"][i]), "canonicalize");
    EXPECT_EQ(remarks["snapshot"][i], 1);
    EXPECT_GE(remarks["keys"][i].size(), 1u);
  }
  EXPECT_TRUE(found);
}

TEST_F(GraphRecorderTest, HistoriesNameTheRule) {
  // Two permutes become one.
  Compile("canonicalize", R"(
func @main(%x: f32[2, 3, 4]) {
  %0 = permute(%x, dims=[1, 2, 0]) loc("a")
  %1 = permute(%0, dims=[0, 2, 1]) loc("b")
  return %1
}
)");
  std::vector<std::string> steps;
  for (size_t i = 0; i < data_["changes"]["pass"].size(); ++i) {
    steps.push_back(
        absl::StrCat(Text(data_["changes"]["pass"][i]), ".", Text(data_["changes"]["rule"][i])));
  }
  EXPECT_THAT(steps, ElementsAre("canonicalize.permute-permute"));
  EXPECT_EQ(data_["snapshots"][1]["removed"].size(), 2u);
}

// A constant that gets another number stays what it is.
TEST_F(GraphRecorderTest, RenumberedConstantsHaveNotChanged) {
  Compile("dce,drop_constants", R"(
func @main(%x: f32[2]) -> (f32[2]) {
  %0 = constant(dense<[1.0, 2.0]>) : f32[2]
  %1 = constant(dense<[3.0, 4.0]>) : f32[2]
  %2 = add(%x, %1)
  return %2
}
)");
  EXPECT_THAT(Paths(), ElementsAre("import", "dce", "drop_constants"));
  EXPECT_EQ(data_["snapshots"][2]["rows"].size(), 0u);
}

// What a step of the plan computes is its node, whose name other nodes may share.
TEST_F(GraphRecorderTest, StepsOfThePlanAreNodes) {
  constexpr char kText[] = R"(
func @main(%x: f32[2, 3]) -> (f32[3, 2]) {
  %0 = sin(%x) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("a")
  return %1
}
)";
  auto module = ParseModule(kText, ops::Registry(), "test");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  ASSERT_TRUE(recorder_.Start(**module).ok());
  ASSERT_TRUE(recorder_.AddPlan(**module, (*BuiltinBackends().Find("cpu"))->target()).ok());
  ReadPage();
  const Json& plan = data_["plan"];
  ASSERT_GE(plan["key"].size(), 1u);
  EXPECT_EQ(KeyOf("sin"), plan["key"][0]);
  EXPECT_THAT(plan["text"][0], StartsWith("launch @sin.0 ("));
  const size_t kernel = plan["kernel"][0];
  EXPECT_THAT(plan["kernelText"][kernel], StartsWith("kernel @sin.0("));
  EXPECT_THAT(plan["kernelCode"][kernel], HasSubstr("extern \"C\""));
}

TEST_F(GraphRecorderTest, StepsOfNestedPlansAreNodesOfTheirGraphs) {
  constexpr char kText[] = R"(
func @main(%c: bool[], %x: f32[3]) -> (f32[3]) {
  %0 = cond(%c, %x) : f32[3] {
    then_graph(%a: f32[3]) {
      %0 = sin(%a)
      return %0
    }
    else_graph(%a: f32[3]) {
      %0 = cos(%a)
      return %0
    }
  }
  return %0
}
)";
  auto module = ParseModule(kText, ops::Registry(), "test");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  ASSERT_TRUE(recorder_.Start(**module).ok());
  ASSERT_TRUE(recorder_.AddPlan(**module, (*BuiltinBackends().Find("cpu"))->target()).ok());
  ReadPage();
  const std::vector<int> keys = data_["plan"]["key"];
  EXPECT_THAT(keys, IsSupersetOf({KeyOf("cond"), KeyOf("sin"), KeyOf("cos")}));
  const std::vector<int> control = data_["plan"]["control"];
  EXPECT_EQ(std::count(control.begin(), control.end(), 1), 1);
}

TEST_F(GraphRecorderTest, TimesOfPassesOnRequest) {
  auto module = ParseModule(kModel, ops::Registry(), "test");
  CompileOptions options;
  options.passes = "dce";
  ASSERT_TRUE(recorder_.Start(**module).ok());
  recorder_.Record(&options, GraphRecorder::PassTimes::kMeasured);
  ASSERT_TRUE(weft::Compile(**module, options).ok());
  ReadPage();
  EXPECT_GT(data_["snapshots"][1]["us"], 0);
}

TEST_F(GraphRecorderTest, APassThatFailsEndsTheRecording) {
  auto module = ParseModule(kModel, ops::Registry(), "test");
  CompileOptions options;
  options.passes = "no_such_pass";
  ASSERT_TRUE(recorder_.Start(**module).ok());
  recorder_.Record(&options);
  EXPECT_FALSE(weft::Compile(**module, options).ok());
  EXPECT_NE(recorder_.Html().find("\"path\":\"import\""), std::string::npos);
}

}  // namespace
}  // namespace weft
