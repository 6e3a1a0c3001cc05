// The page: names cannot leave their strings, nothing is requested, and the data says
// what the view does.
#include "serialize/html/html.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serialize/html/json_text.h"
#include "serialize/html/view_json.h"
#include "serialize/html/viewer_page.h"
#include "tests/serialize/html/view_text.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

int CountOf(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The text of the element with the data.
std::string DataOf(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">\n";
  const size_t at = page.find(begin);
  EXPECT_NE(at, std::string::npos);
  return page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size());
}

constexpr const char* kEvil[] = {"</script><script>alert(1)</script>",
                                 "<!--<script>",
                                 "]]>",
                                 "\" onload=\"x",
                                 "\\",
                                 "\n\r\t",
                                 "\xff\xfe",
                                 "\xe2\x80\xa8",
                                 "\xed\xa0\x80",
                                 "\xf0\x9f\x99\x82",
                                 "'&amp;",
                                 "\x01\x7f"};

TraceView EvilTrace() {
  TraceView trace;
  KernelTime& kernel = trace.kernels.emplace_back();
  kernel.name = kEvil[0];
  kernel.routine = kEvil[1];
  kernel.sources = {kEvil[0]};
  trace.timeline.tracks = {kEvil[0]};
  trace.timeline.names = {kEvil[1]};
  trace.timeline.slices.push_back({0, 0, 0, 0, 1});
  trace.timeline.categories = {kEvil[0]};
  return trace;
}

PlanView EvilPlan() {
  PlanView plan;
  plan.graphs.emplace_back().function = kEvil[0];
  plan.kernels.push_back({kEvil[0], kEvil[1]});
  PlanStep& step = plan.steps.emplace_back();
  step.name = kEvil[0];
  step.text = kEvil[1];
  step.kernel = 0;
  step.sources = {kEvil[2]};
  return plan;
}

TEST(Html, NamesStayText) {
  auto module = MakeChain(12);
  int i = 0;
  for (Node* node : module->main()->nodes()) {
    node->set_provenance(module->provenance().Leaf(absl::StrCat("s", kEvil[i++])));
  }
  ModuleViewBuilder builder(kEvil[0]);
  ASSERT_TRUE(builder.AddSnapshot(*module, kEvil[0], kEvil[1]).ok());
  builder.AddRemark({kEvil[0], kEvil[1], kEvil[2], kEvil[0], "main", {}, {kEvil[0]}});
  builder.AddTrace(EvilTrace());
  builder.AddPlan(EvilPlan());
  const std::string page = ToHtml(builder.view());
  const std::string frame = absl::StrCat(kViewerHead, kViewerTail);
  EXPECT_THAT(page, HasSubstr("alert"));
  for (const char* part : {"<script", "</script", "<!--", "<"}) {
    EXPECT_EQ(CountOf(page, part), CountOf(frame, part)) << part;
  }
  // Valid text comes back unchanged.
  const Json data = Json::parse(DataOf(page));
  EXPECT_EQ(data["title"], kEvil[0]);
  std::set<std::string> strings = data["strings"].get<std::set<std::string>>();
  for (int k : {0, 1, 2, 3, 4, 5, 7, 9, 10, 11}) {
    EXPECT_EQ(strings.count(absl::StrCat("s", kEvil[k])), 1u) << k;
  }
  EXPECT_EQ(strings.count("s\xef\xbf\xbd\xef\xbf\xbd"), 1u);
}

TEST(Html, OpensOffline) {
  // The name of SVG's elements is no address.
  const std::string frame = absl::StrReplaceAll(absl::StrCat(kViewerHead, kViewerTail),
                                                {{"xmlns=\"http://www.w3.org/2000/svg\"", ""}});
  EXPECT_THAT(frame, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(frame, HasSubstr("content=\"default-src 'none'; script-src 'unsafe-inline'; "
                               "style-src 'unsafe-inline'\""));
  for (const char* part : {"http:", "https:", "src=", "href=\"", "url(", "@import", "fetch(",
                           "XMLHttpRequest", "WebSocket", "import("}) {
    EXPECT_THAT(frame, Not(HasSubstr(part)));
  }
}

TEST(Html, TheViewerMakesNoMarkup) {
  const std::string frame = absl::StrCat(kViewerHead, kViewerTail);
  for (const char* part : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                           "eval(", "new Function", "setTimeout("}) {
    EXPECT_THAT(frame, Not(HasSubstr(part)));
  }
  EXPECT_EQ(CountOf(frame, "<script"), 2);
}

TEST(Html, SameBytes) {
  const auto make = [] {
    auto module = MakeChain(500);
    ModuleViewBuilder builder("m");
    EXPECT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
    module->main()->first_node()->set_provenance(module->provenance().Leaf("other/x"));
    EXPECT_TRUE(builder.AddSnapshot(*module, "pass", "").ok());
    TraceView trace;
    trace.kernels.emplace_back().sources = {"other/x"};
    trace.kernels[0].median_us = 1.23456;
    builder.AddTrace(trace);
    return ToHtml(builder.view());
  };
  EXPECT_EQ(make(), make());
}

std::vector<int64_t> Sums(const Json& column) {
  std::vector<int64_t> values = column.get<std::vector<int64_t>>();
  for (size_t i = 1; i < values.size(); ++i) values[i] += values[i - 1];
  return values;
}

TEST(ViewJson, HasTheView) {
  auto module = MakeChain(50);
  ModuleViewBuilder builder("m");
  ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
  Graph& main = *module->main();
  Node* last = main.return_node()->prev();
  last->result()->ReplaceAllUsesWith(main.input(0));
  main.EraseNode(last);
  main.first_node()->set_provenance(module->provenance().Leaf("other/x"));
  ASSERT_TRUE(builder.AddSnapshot(*module, "dce", "dce{x=1}").ok());
  const ModuleView& view = builder.view();
  const Json data = Json::parse(ViewJson(view));
  const std::vector<int64_t> keys = Sums(data["rows"]["key"]);
  const std::vector<int64_t> sources = Sums(data["rows"]["sources"]);
  ASSERT_EQ(keys.size(), view.rows.size());
  for (const auto& [name, column] : data["rows"].items()) {
    EXPECT_EQ(column.size(), view.rows.size()) << name;
  }
  size_t edge = 0;
  for (size_t r = 0; r < view.rows.size(); ++r) {
    const ModuleView::Row& row = view.rows[r];
    EXPECT_EQ(keys[r], row.key);
    EXPECT_EQ(sources[r], row.sources);
    EXPECT_EQ(data["rows"]["scope"][r], row.scope);
    ASSERT_EQ(data["rows"]["edges"][r], row.edges.size());
    for (const auto& e : row.edges) {
      EXPECT_EQ(data["edges"]["from"][edge++], row.key - e.key);
    }
  }
  EXPECT_EQ(data["snapshots"][0]["count"], 52);
  const Json& delta = data["snapshots"][1];
  EXPECT_EQ(delta["path"], "dce");
  EXPECT_EQ(delta["text"], "dce{x=1}");
  EXPECT_EQ(delta["removed"].size(), 1u);
  // The first node and the return.
  ASSERT_EQ(delta["rows"].size(), 2u);
  EXPECT_EQ(Sums(delta["rows"]), (std::vector<int64_t>{52, 53}));
  EXPECT_EQ(Sums(delta["after"]), (std::vector<int64_t>{-2, -2}));
}

TEST(ViewJson, NamesTheOpsThatAreViews) {
  auto module = ParseText(R"(
func @main(%x: f32[2, 3]) -> (f32[3, 2]) {
  %0 = sin(%x)
  %1 = permute(%0, dims=[1, 0])
  %2 = permute(%1, dims=[0, 1])
  return %2
}
)");
  ASSERT_NE(module, nullptr);
  ModuleViewBuilder builder("m");
  ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
  const Json data = Json::parse(ViewJson(builder.view()));
  ASSERT_EQ(data["viewOps"].size(), 1u);
  EXPECT_EQ(data["strings"][data["viewOps"][0].get<size_t>()], "permute");
}

TEST(ViewJson, HasTheRunAndThePlan) {
  auto module = MakeChain(3);
  ModuleViewBuilder builder("m");
  ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
  ASSERT_TRUE(builder.AddSnapshot(*module, "dce", "", 12.5).ok());
  TraceView trace;
  KernelTime& kernel = trace.kernels.emplace_back();
  kernel.name = "add";
  kernel.routine = "generated";
  kernel.median_us = 2;
  kernel.calls = 6;
  kernel.bytes = 7;
  kernel.flops = 8;
  trace.runs = 3;
  trace.timeline.tracks = {"main"};
  trace.timeline.names = {"add"};
  trace.timeline.slices = {{0, 0, 0, 5, 2}, {0, 0, 0, 9, 3}};
  trace.timeline.categories = {"output"};
  trace.timeline.memory = {{5, 64, 0}, {9, 16, 0}};
  builder.AddTrace(trace);
  PlanView plan;
  plan.graphs.emplace_back().function = "main";
  plan.kernels = {{"text", "code"}};
  PlanStep& step = plan.steps.emplace_back();
  step.name = "add";
  step.text = "launch @add";
  step.node = module->main()->first_node()->id();
  step.kernel = 0;
  step.live_bytes = 96;
  plan.sizes = " for s0=2";
  builder.AddPlan(plan);
  const Json data = Json::parse(ViewJson(builder.view()));
  EXPECT_FALSE(data["snapshots"][0].contains("us"));
  EXPECT_EQ(data["snapshots"][1]["us"], 12.5);
  EXPECT_EQ(data["errors"], false);
  EXPECT_EQ(data["runs"], 3);
  EXPECT_EQ(data["kernels"], Json::parse(R"({"name": ["add"], "routine": ["generated"],
      "us": [2.0], "calls": [6], "bytes": [7], "flops": [8], "sources": [-1]})"));
  EXPECT_EQ(data["timeline"], Json::parse(R"({"tracks": ["main"], "names": ["add"],
      "track": [0, 0], "name": [0, 0], "kernel": [0, 0], "begin": [5, 4], "duration": [2, 3],
      "memoryTime": [5, 4], "memoryBytes": [64, -48], "categories": ["output"],
      "memoryCategory": [0, 0], "leftOut": 0})"));
  EXPECT_EQ(data["plan"], Json::parse(R"({"name": ["add"], "text": ["launch @add"], "kernel": [0],
      "control": [0], "live": [96], "sizes": " for s0=2", "sources": [-1], "key": [1],
      "kernelText": ["text"], "kernelCode": ["code"]})"));
}

TEST(ViewJson, BytesANodeAreTheSameInLargeModules) {
  const auto bytes = [](int n) {
    ModuleViewBuilder builder("m");
    EXPECT_TRUE(builder.AddSnapshot(*MakeChain(n), "import", "").ok());
    return static_cast<double>(ViewJson(builder.view()).size()) / n;
  };
  const double small = bytes(10'000), large = bytes(100'000);
  EXPECT_LT(large, 1.15 * small);
  EXPECT_LT(large, 110);
}

}  // namespace
}  // namespace weft
