// Buffers, names, descriptions, and the events of threads that a session collects.
#include "profiler/record.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/recorder.h"
#include "profiler/session.h"

namespace weft::profiler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::unique_ptr<Session> StartSession(SessionOptions options = {}) {
  auto session = Session::Start(std::move(options));
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

Trace StopSession(Session& session) {
  auto trace = session.Stop();
  EXPECT_TRUE(trace.ok()) << trace.status();
  return *std::move(trace);
}

std::vector<std::string> NamesIn(const Trace& trace) {
  std::vector<std::string> names;
  for (const Event& event : trace.events) names.push_back(trace.NameOf(event));
  return names;
}

TEST(NamesTest, EqualTextsHaveOneId) {
  const NameId a = InternName("names test");
  EXPECT_EQ(InternName(std::string("names ") + "test"), a);
  EXPECT_NE(InternName("names test 2"), a);
  EXPECT_EQ(NameOf(a), "names test");
  EXPECT_EQ(InternName(""), 0u);
  EXPECT_EQ(NameOf(~NameId{0}), "");
}

TEST(NamesTest, ThreadsAgree) {
  std::vector<std::vector<NameId>> ids(4);
  std::vector<std::thread> threads;
  for (auto& list : ids) {
    threads.emplace_back([&list] {
      for (int i = 0; i < 1000; ++i) list.push_back(InternName(absl::StrCat("shared ", i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& list : ids) EXPECT_EQ(list, ids[0]);
}

TEST(RecordTest, NothingWithoutASession) {
  { Scope scope(Activity::kCpuOp, "before"); }
  RecordInstant(InternName("before"));
  auto session = StartSession();
  EXPECT_THAT(StopSession(*session).events, IsEmpty());
}

TEST(RecordTest, SpansNest) {
  auto session = StartSession();
  {
    Scope outer(Activity::kCpuOp, "outer");
    { Scope first(Activity::kCpuOp, "first"); }
    { Annotation second("second"); }
  }
  const Trace trace = StopSession(*session);
  EXPECT_THAT(NamesIn(trace), ElementsAre("outer", "first", "second"));
  const Event& outer = trace.events[0];
  EXPECT_EQ(trace.events[2].activity, Activity::kUserAnnotation);
  for (const Event& inner : {trace.events[1], trace.events[2]}) {
    EXPECT_GE(inner.time, outer.time);
    EXPECT_LE(inner.time + inner.value, outer.time + outer.value);
  }
  EXPECT_GE(outer.time, trace.start_ns);
  EXPECT_LE(outer.time + outer.value, trace.stop_ns);
}

TEST(RecordTest, EndIsOnce) {
  auto session = StartSession();
  {
    Scope scope(Activity::kCpuOp, "ends early");
    scope.End();
    scope.End();
  }
  EXPECT_THAT(StopSession(*session).events, testing::SizeIs(1));
}

TEST(RecordTest, EveryKind) {
  auto session = StartSession();
  const NameId flow = InternName("ac2g");
  const uint64_t id = NewFlowId();
  RecordFlowStart(flow, id);
  RecordFlowFinish(flow, id);
  RecordCounter(InternName("queue"), 2.5);
  RecordMemory({-64, 0x1000, 192, MemoryCategory::kActivation});
  RecordInstant(InternName("mark"));
  const Trace trace = StopSession(*session);
  EXPECT_THAT(NamesIn(trace), ElementsAre("ac2g", "ac2g", "queue", "[memory]", "mark"));
  EXPECT_EQ(trace.events[0].id, id);
  EXPECT_EQ(trace.events[1].activity, Activity::kFlowFinish);
  double value;
  std::memcpy(&value, &trace.events[2].value, sizeof(value));
  EXPECT_EQ(value, 2.5);
  const Event& memory = trace.events[3];
  EXPECT_EQ(memory.value, -64);
  EXPECT_EQ(memory.id, 0x1000u);
  EXPECT_EQ(memory.total, 192);
  EXPECT_EQ(memory.memory_category, MemoryCategory::kActivation);
}

TEST(RecordTest, OnlyWhatIsAskedFor) {
  SessionOptions options;
  options.activities = MaskOf(Activity::kMemory);
  auto session = StartSession(options);
  EXPECT_TRUE(IsRecording(Activity::kMemory));
  EXPECT_FALSE(IsRecording(Activity::kCpuOp));
  { Scope scope(Activity::kCpuOp, "op"); }
  RecordMemory({8, 1, 8});
  EXPECT_THAT(NamesIn(StopSession(*session)), ElementsAre("[memory]"));
  EXPECT_FALSE(IsRecording(Activity::kMemory));
}

TEST(RecordTest, SpansAcrossTheEndsOfASessionAreLeftOut) {
  auto outer = std::make_unique<Scope>(Activity::kCpuOp, "before");
  auto session = StartSession();
  outer = nullptr;
  auto open = std::make_unique<Scope>(Activity::kCpuOp, "open");
  EXPECT_THAT(StopSession(*session).events, IsEmpty());
  session = StartSession();
  open = nullptr;  // Of the session before.
  { Scope scope(Activity::kCpuOp, "inside"); }
  EXPECT_THAT(NamesIn(StopSession(*session)), ElementsAre("inside"));
}

TEST(RecordTest, ThreadsHaveTracks) {
  auto session = StartSession();
  constexpr int kThreads = 8, kEach = 5000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      const NameId name = InternName("work");
      for (int i = 0; i < kEach; ++i) Scope scope(Activity::kCpuOp, name);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = StopSession(*session);
  ASSERT_EQ(trace.tracks.size(), kThreads);
  std::vector<int> counts(kThreads);
  std::vector<int64_t> ends(kThreads);
  for (const Event& event : trace.events) {
    ++counts[event.track];
    // The spans of one thread follow each other.
    EXPECT_GE(event.time, ends[event.track]);
    ends[event.track] = event.time + event.value;
  }
  EXPECT_THAT(counts, testing::Each(kEach));
  EXPECT_EQ(trace.NumLost(), 0);
  EXPECT_EQ(trace.pid, getpid());
}

TEST(RecordTest, ThreadsThatEndLeaveNothingBehind) {
  auto session = StartSession();
  std::thread([] { Scope scope(Activity::kCpuOp, "short"); }).join();
  EXPECT_THAT(NamesIn(StopSession(*session)), ElementsAre("short"));
  const int64_t before = internal::NumThreadBuffers();
  for (int i = 0; i < 10; ++i) {
    auto again = StartSession();
    std::thread([] { Scope scope(Activity::kCpuOp, "short"); }).join();
    StopSession(*again);
  }
  EXPECT_EQ(internal::NumThreadBuffers(), before);
}

TEST(RecordTest, StopsWhileThreadsRecord) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&done] {
      const NameId name = InternName("busy");
      while (!done.load(std::memory_order_relaxed)) {
        Scope scope(Activity::kCpuOp, name);
        RecordMemory({1, 2, 3});
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    SessionOptions options;
    options.max_buffer_bytes = 4 << 20;
    options.overflow = i % 2 ? OverflowPolicy::kOverwriteOldest : OverflowPolicy::kDropNewest;
    auto session = StartSession(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Trace trace = StopSession(*session);
    for (const Event& event : trace.events) {
      ASSERT_GE(event.time, trace.start_ns);
      ASSERT_LT(event.name, trace.names.size());
      ASSERT_NE(event.name, 0u);
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

Trace RecordNumbered(OverflowPolicy policy, int64_t bytes, int count) {
  SessionOptions options;
  options.max_buffer_bytes = bytes;
  options.overflow = policy;
  auto session = StartSession(options);
  // A thread of its own has no chunk yet.
  std::thread([count] {
    for (int i = 1; i <= count; ++i) RecordMemory({i, 0, 0});
  }).join();
  return StopSession(*session);
}

constexpr int kChunkEvents = internal::Chunk::kCapacity;
constexpr int64_t kChunkBytes = sizeof(internal::Chunk);

TEST(OverflowTest, DropsTheNewest) {
  const Trace trace = RecordNumbered(OverflowPolicy::kDropNewest, 3 * kChunkBytes, 100000);
  ASSERT_EQ(trace.events.size(), 3u * kChunkEvents);
  EXPECT_EQ(trace.events.front().value, 1);
  EXPECT_EQ(trace.events.back().value, 3 * kChunkEvents);
  EXPECT_EQ(trace.NumLost(), 100000 - 3 * kChunkEvents);
}

TEST(OverflowTest, OverwritesTheOldest) {
  const Trace trace = RecordNumbered(OverflowPolicy::kOverwriteOldest, 3 * kChunkBytes, 100000);
  EXPECT_LE(trace.events.size(), 3u * kChunkEvents);
  EXPECT_GT(trace.events.size(), 2u * kChunkEvents);
  EXPECT_EQ(trace.events.back().value, 100000);
  EXPECT_EQ(trace.NumLost() + static_cast<int64_t>(trace.events.size()), 100000);
}

TEST(OverflowTest, OneChunkIsReused) {
  const Trace trace = RecordNumbered(OverflowPolicy::kOverwriteOldest, 1, 10 * kChunkEvents);
  EXPECT_EQ(trace.events.size(), kChunkEvents);
  EXPECT_EQ(trace.events.back().value, 10 * kChunkEvents);
}

TEST(DescriptionTest, IdsOutliveTheirHandlesInASession) {
  const int64_t before = internal::NumDescriptions();
  auto session = StartSession();
  {
    Description description;
    description.flops = 42;
    const DescriptionHandle handle(std::move(description));
    { Scope scope(Activity::kCpuOp, InternName("described"), handle.id()); }
    { Scope scope(Activity::kCpuOp, InternName("described"), handle.id()); }
  }
  EXPECT_EQ(internal::NumDescriptions(), before + 1);
  const Trace trace = StopSession(*session);
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.descriptions.size(), 2u);
  EXPECT_EQ(trace.descriptions[trace.events[1].description]->flops, 42);
  EXPECT_EQ(internal::NumDescriptions(), before);
}

TEST(DescriptionTest, HandlesMove) {
  const int64_t before = internal::NumDescriptions();
  {
    DescriptionHandle a{Description()};
    DescriptionHandle b(std::move(a));
    EXPECT_EQ(a.id(), 0u);
    a = DescriptionHandle(Description());
    EXPECT_NE(a.id(), b.id());
    EXPECT_EQ(internal::NumDescriptions(), before + 2);
  }
  EXPECT_EQ(internal::NumDescriptions(), before);
}

TEST(ClockTest, TicksFollowTheMonotonicClock) {
  const ClockReading first = ReadClocks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const ClockReading second = ReadClocks();
  const TickConverter converter(first, second);
  EXPECT_EQ(converter.ToMonotonicNanos(first.ticks), first.monotonic_ns);
  EXPECT_NEAR(converter.ToMonotonicNanos(second.ticks), second.monotonic_ns, 1);
  const TickConverter same(first, first);
  EXPECT_EQ(same.ToMonotonicNanos(first.ticks + 5), first.monotonic_ns + 5);
}

}  // namespace
}  // namespace weft::profiler
