// Sessions: schedules, steps, metadata, sources, one after another.
#include "profiler/session.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/record.h"

namespace weft::profiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<std::string> NamesIn(const Trace& trace) {
  std::vector<std::string> names;
  for (const Event& event : trace.events) names.push_back(trace.NameOf(event));
  return names;
}

std::string ActionsOf(const Schedule& schedule, int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    text.push_back(".wrS"[static_cast<int>(schedule.ActionAt(i))]);
  }
  return text;
}

TEST(ScheduleTest, IsTorchs) {
  EXPECT_EQ(ActionsOf({}, 3), "rrr");
  EXPECT_EQ(ActionsOf({/*wait=*/1, /*warmup=*/1, /*active=*/3}, 11), ".wrrS.wrrS.");
  EXPECT_EQ(ActionsOf({1, 1, 3, /*repeat=*/1}, 11), ".wrrS......");
  EXPECT_EQ(ActionsOf({0, 1, 1, 2, /*skip_first=*/3}, 9), "...wSwS..");
  EXPECT_EQ(ActionsOf({0, 0, 1}, 3), "SSS");
}

TEST(SessionTest, OneAtATime) {
  auto first = Session::Start({});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Session::Start({}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*first)->Stop().ok());
  EXPECT_EQ((*first)->Stop().status().code(), absl::StatusCode::kFailedPrecondition);
  // The stopped one may still be there.
  auto second = Session::Start({});
  ASSERT_TRUE(second.ok());
  first->reset();
  EXPECT_FALSE(Session::Start({}).ok());
  second->reset();  // Ends it, too.
  EXPECT_FALSE(IsRecording(Activity::kCpuOp));
  EXPECT_TRUE(Session::Start({}).ok());
}

TEST(SessionTest, RejectsNegativeSchedules) {
  SessionOptions options;
  options.schedule.wait = -1;
  EXPECT_EQ(Session::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Session::Start({}).ok());
}

TEST(SessionTest, ManyInARow) {
  for (int i = 0; i < 100; ++i) {
    auto session = Session::Start({});
    ASSERT_TRUE(session.ok());
    for (int k = 0; k <= i % 3; ++k) Scope scope(Activity::kCpuOp, "op");
    auto trace = (*session)->Stop();
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(trace->events.size(), i % 3 + 1u);
    EXPECT_EQ(trace->number, 0);
  }
}

TEST(SessionTest, EmptyTrace) {
  auto session = Session::Start({});
  auto trace = (*session)->Stop();
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE(trace->events.empty());
  EXPECT_TRUE(trace->tracks.empty());
  EXPECT_GE(trace->stop_ns, trace->start_ns);
  EXPECT_EQ(trace->id.size(), 32u);
}

TEST(SessionTest, StepsFollowTheSchedule) {
  std::vector<std::vector<std::string>> ready;
  SessionOptions options;
  options.schedule = {/*wait=*/1, /*warmup=*/1, /*active=*/2, /*repeat=*/2};
  options.on_trace_ready = [&](const Trace& trace) {
    EXPECT_EQ(trace.number, static_cast<int>(ready.size()));
    ready.push_back(NamesIn(trace));
  };
  auto session = Session::Start(options);
  ASSERT_TRUE(session.ok());
  for (int i = 0; i < 10; ++i) {
    { Scope scope(Activity::kCpuOp, "op " + std::to_string(i)); }
    (*session)->Step();
  }
  EXPECT_THAT(ready, ElementsAre(ElementsAre("ProfilerStep#2", "op 2", "ProfilerStep#3", "op 3"),
                                 ElementsAre("ProfilerStep#6", "op 6", "ProfilerStep#7", "op 7")));
  auto rest = (*session)->Stop();
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(rest->events.empty());
  EXPECT_EQ(ready.size(), 2u);
}

TEST(SessionTest, StopInTheMiddleOfACycle) {
  int ready = 0;
  SessionOptions options;
  options.schedule = {0, 1, 5};
  options.on_trace_ready = [&](const Trace& trace) { ++ready; };
  auto session = Session::Start(options);
  { Scope scope(Activity::kCpuOp, "thrown away"); }
  (*session)->Step();
  { Scope scope(Activity::kCpuOp, "kept"); }
  auto trace = (*session)->Stop();
  EXPECT_THAT(NamesIn(*trace), ElementsAre("ProfilerStep#1", "kept"));
  EXPECT_EQ(ready, 1);
}

TEST(SessionTest, StepsWithoutASchedule) {
  auto session = Session::Start({});
  { Scope scope(Activity::kCpuOp, "a"); }
  (*session)->Step();
  { Scope scope(Activity::kCpuOp, "b"); }
  EXPECT_THAT(NamesIn(*(*session)->Stop()),
              ElementsAre("ProfilerStep#0", "a", "ProfilerStep#1", "b"));
}

TEST(SessionTest, Metadata) {
  auto session = Session::Start({});
  (*session)->AddMetadata("model", "a \"b\"");
  (*session)->AddMetadataJson("sizes", "[1, 2]");
  (*session)->AddMetadata("model", "c");
  EXPECT_THAT((*session)->Stop()->metadata,
              ElementsAre(Pair("model", "\"c\""), Pair("sizes", "[1, 2]")));
}

class FakeDevice : public EventSource {
 public:
  absl::string_view name() const override { return "fake"; }
  absl::Status Start(ActivityMask) override {
    log.push_back("start");
    return fails ? absl::UnavailableError("no device") : absl::OkStatus();
  }
  absl::Status Stop(SourceEvents* events) override {
    log.push_back(events ? "stop" : "discard");
    if (events == nullptr) return absl::OkStatus();
    Event event;
    event.track = events->AddTrack({/*pid=*/0, /*tid=*/7, "stream 7", /*is_device=*/true});
    event.activity = Activity::kKernel;
    event.name = InternName("gemm");
    event.id = 3;
    event.time = MonotonicNanos();
    event.value = 1000;
    events->Add(event);
    event.time = 1;  // Before the session.
    events->Add(event);
    event.track = 99;  // None.
    events->Add(event);
    return absl::OkStatus();
  }
  std::vector<std::string> log;
  bool fails = false;
};

TEST(SessionTest, SourcesAddTracks) {
  auto device = std::make_shared<FakeDevice>();
  SessionOptions options;
  options.sources = {device};
  options.schedule = {0, 1, 1};
  auto session = Session::Start(options);
  (*session)->Step();
  auto trace = (*session)->Stop();
  EXPECT_THAT(device->log, ElementsAre("start", "discard", "start", "stop"));
  ASSERT_EQ(trace->events.size(), 2u);
  const Event& kernel = trace->events[1];
  EXPECT_EQ(trace->tracks[kernel.track].name, "stream 7");
  EXPECT_EQ(kernel.value, 1000);
  EXPECT_EQ(trace->NameOf(kernel), "gemm");
}

Description Of(std::string kernel, std::vector<std::string> rules) {
  Description description;
  description.kernel = std::move(kernel);
  description.rules = std::move(rules);
  return description;
}

TEST(SessionTest, EqualDescriptionsAreOne) {
  EXPECT_EQ(InternDescription(Of("a", {})), 0u);  // Nobody records.
  const int64_t before = internal::NumDescriptions();
  auto session = Session::Start({});
  const DescriptionId first = InternDescription(Of("a", {"b"}));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(InternDescription(Of("a", {"b"})), first);
  EXPECT_NE(InternDescription(Of("ab", {""})), first);
  EXPECT_NE(InternDescription(Of("a", {"b", ""})), first);
  EXPECT_EQ(internal::NumDescriptions(), before + 3);
  { Scope scope(Activity::kCpuOp, InternName("op"), first); }
  const auto trace = (*session)->Stop();
  EXPECT_EQ(trace->descriptions[trace->events[0].description]->kernel, "a");
  EXPECT_EQ(internal::NumDescriptions(), before);
  EXPECT_EQ(InternDescription(Of("a", {"b"})), 0u);
}

TEST(SessionTest, ASourceThatFailsIsLeftOut) {
  auto device = std::make_shared<FakeDevice>();
  device->fails = true;
  SessionOptions options;
  options.sources = {device};
  auto session = Session::Start(options);
  auto trace = (*session)->Stop();
  EXPECT_THAT(device->log, ElementsAre("start"));
  EXPECT_THAT(trace->metadata, ElementsAre(Pair("source_fake", HasSubstr("no device"))));
}

}  // namespace
}  // namespace weft::profiler
