// What a trace of compiling and running a program holds: a transformer and a conv net.
#include "api/profile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "api/session.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "profiler/session.h"
#include "profiler/sinks/key_averages.h"

namespace weft {
namespace {

using profiler::Activity;
using profiler::Event;
using profiler::Trace;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Compiles and runs the small variant, twice.
void CompileAndRun(const char* name, const char* target) {
  models::ModelOptions options;
  options.small = true;
  auto model = models::BuildModel(name, options);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto inputs = models::MakeInputs(*model, {}, /*seed=*/1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  CompileOptions compile;
  compile.passes = target == std::string("cpu") ? "cpu" : "default";
  ASSERT_TRUE(Compile(*model->module, compile).ok());
  auto session = Session::Create(std::move(model->module), target);
  ASSERT_TRUE(session.ok()) << session.status();
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->Run(absl::MakeConstSpan(*inputs)).ok());
  }
}

Trace Record(const char* name, const char* target) {
  auto session = profiler::Session::Start({});
  EXPECT_TRUE(session.ok()) << session.status();
  CompileAndRun(name, target);
  auto trace = (*session)->Stop();
  EXPECT_TRUE(trace.ok()) << trace.status();
  return *std::move(trace);
}

std::set<std::string> NamesOf(const Trace& trace, Activity activity) {
  std::set<std::string> names;
  for (const Event& event : trace.events) {
    if (event.activity == activity) names.insert(trace.names[event.name]);
  }
  return names;
}

class ProfileOf : public testing::TestWithParam<const char*> {};

TEST_P(ProfileOf, CompilationAndRunsAreOnOneTimeline) {
  const Trace trace = Record(GetParam(), "cpu");
  const std::set<std::string> compiling = NamesOf(trace, Activity::kCompilerPass);
  for (const char* stage :
       {"compile", "functionalize", "lower", "make executable", "prepare sizes"}) {
    EXPECT_THAT(compiling, Contains(HasSubstr(stage)));
  }
  EXPECT_THAT(NamesOf(trace, Activity::kCpuOp), Contains("main"));
}

TEST_P(ProfileOf, StepsSayWhatTheyAre) {
  const Trace trace = Record(GetParam(), "cpu");
  int steps = 0;
  bool provenance = false;
  for (const Event& event : trace.events) {
    if (event.activity != Activity::kCpuOp || trace.names[event.name] == "main") continue;
    ++steps;
    const auto& d = trace.descriptions[event.description];
    ASSERT_NE(d, nullptr) << trace.names[event.name];
    EXPECT_THAT(d->outputs, Not(IsEmpty()));
    EXPECT_GE(d->flops, 0);
    EXPECT_GT(d->bytes, 0);
    EXPECT_GT(d->threads, 0);
    EXPECT_THAT(d->kernel, Not(IsEmpty()));
    provenance = provenance || !d->provenance.empty();
    EXPECT_THAT(d->symbols, Contains(testing::Key("batch")));
  }
  EXPECT_GT(steps, 4);
  EXPECT_TRUE(provenance);
}

// Spans nest, so self times add up to the time of the outermost ones.
TEST_P(ProfileOf, SelfTimesAddUp) {
  const Trace trace = Record(GetParam(), "cpu");
  profiler::KeyAverages averages;
  ASSERT_TRUE(profiler::ExportTrace(trace, averages).ok());
  EXPECT_EQ(averages.num_unordered(), 0);
  int64_t outermost = 0;
  std::map<uint32_t, int64_t> end;  // By track.
  for (const Event& event : trace.events) {
    if (!profiler::IsSpan(event.activity)) continue;
    int64_t& last = end[event.track];
    if (event.time < last) continue;
    outermost += event.value;
    last = event.time + event.value;
  }
  EXPECT_EQ(averages.SelfTotal(), outermost);
}

TEST_P(ProfileOf, MemoryBalancesAndPeaksAtThePlan) {
  const Trace trace = Record(GetParam(), "cpu");
  int64_t held = 0, changes = 0, arena = 0;
  std::map<uint64_t, int64_t> live;
  for (const Event& event : trace.events) {
    if (event.activity != Activity::kMemory) continue;
    ++changes;
    held += event.value;
    live[event.id] += event.value;
    if (event.memory_category == profiler::MemoryCategory::kActivation) {
      arena = std::max(arena, event.value);
    }
  }
  EXPECT_GT(changes, 0);
  EXPECT_EQ(held, 0);
  for (const auto& [address, bytes] : live) EXPECT_EQ(bytes, 0) << address;
  EXPECT_GT(arena, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, ProfileOf, testing::Values("minilm", "mobilenet_v2"),
                         [](const auto& info) { return info.param; });

TEST(ProfileTest, ReferenceRecordsEachNode) {
  const Trace trace = Record("mlp", "reference");
  EXPECT_THAT(NamesOf(trace, Activity::kCpuOp), Contains("linear"));
}

TEST(ProfileTest, WritesAFileAndATable) {
  const std::string path = absl::StrCat(testing::TempDir(), "/profile.json");
  ProfileOptions options;
  options.path = path;
  options.sort_by = "cpu_time_total";
  auto profile = Profile::Start(options);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_FALSE(Profile::Start({}).ok());  // One at a time.
  CompileAndRun("mlp", "cpu");
  (*profile)->Step();
  ASSERT_TRUE((*profile)->Finish().ok());
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["schemaVersion"], 1);
  std::set<std::string> categories;
  for (const auto& event : json["traceEvents"]) categories.insert(event.value("cat", ""));
  for (const char* category : {"cpu_op", "compiler_pass", "cpu_instant_event", "user_annotation"}) {
    EXPECT_THAT(categories, Contains(category));
  }
  const auto table = (*profile)->Table();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table, HasSubstr("linear"));
}

TEST(ProfileTest, ErrorsNameTheFlag) {
  ProfileOptions options;
  options.path = "trace.xml";
  EXPECT_THAT(std::string(Profile::Start(options).status().message()), HasSubstr("trace.xml"));
}

}  // namespace
}  // namespace weft
