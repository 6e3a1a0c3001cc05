// Files that killed processes leave behind, and limits of memory.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/read/read.h"
#include "profiler/record.h"
#include "profiler/session.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/sinks/key_averages.h"
#include "tests/profiler/recording_sink.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

namespace fs = std::filesystem;

// A trace that takes some milliseconds to write. Ends with a span of the name.
Trace LongTrace(const std::string& last) {
  Trace trace = SampleTrace();
  const std::vector<Event> events = trace.events;
  for (int i = 0; i < 500; ++i) {
    trace.events.insert(trace.events.end(), events.begin(), events.end());
  }
  trace.names.push_back(last);
  trace.events.push_back(trace.events[1]);
  trace.events.back().name = static_cast<NameId>(trace.names.size() - 1);
  return trace;
}

void Export(const Trace& trace, const std::string& path) {
  auto sink = MakeFileSink(path);
  ASSERT_TRUE(sink.ok());
  const absl::Status status = ExportTrace(trace, **sink);
  ASSERT_TRUE(status.ok()) << status;
}

class KilledTest : public testing::TestWithParam<const char*> {};

TEST_P(KilledTest, LeavesTheOldFileOrTheNewOne) {
  const fs::path folder =
      fs::path(testing::TempDir()) / absl::StrCat("killed_", GetParam() + sizeof("trace.") - 1);
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / GetParam()).string();
  const Trace before = LongTrace("old"), after = LongTrace("new");
  const auto begin = std::chrono::steady_clock::now();
  Export(before, path);
  const auto whole = std::chrono::steady_clock::now() - begin;
  constexpr int kRounds = 25;
  int num_old = 0, num_new = 0;
  for (int i = 0; i < kRounds; ++i) {
    Export(before, path);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Export(after, path);
      _exit(0);
    }
    // From at once to when the child is done.
    std::this_thread::sleep_for(whole * 2 * i / kRounds);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    RecordingSink sink;
    const absl::Status read = ReadTrace(path, sink);
    ASSERT_TRUE(read.ok()) << read;
    std::string all;
    for (const std::string& event : sink.events) {
      if (absl::StrContains(event, "cpu_op|old")) ++num_old;
      if (absl::StrContains(event, "cpu_op|new")) ++num_new;
    }
  }
  EXPECT_EQ(num_old + num_new, kRounds);
  EXPECT_GT(num_old, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, KilledTest,
                         testing::Values("trace.json", "trace.json.gz", "trace.pftrace"));

TEST(BoundsTest, ManyEventsInBoundedMemory) {
  // 2 million events through a bound of 8 MiB, which holds 8 % of them.
  SessionOptions options;
  options.max_buffer_bytes = 8 << 20;
  options.overflow = OverflowPolicy::kOverwriteOldest;
  auto session = Session::Start(options);
  ASSERT_TRUE(session.ok());
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  constexpr int64_t kEvents = 2'000'000;
  std::thread([] {
    const NameId name = InternName("op");
    for (int64_t i = 0; i < kEvents; ++i) Scope scope(Activity::kCpuOp, name);
  }).join();
  auto trace = (*session)->Stop();
  getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->NumLost() + static_cast<int64_t>(trace->events.size()), kEvents);
  EXPECT_LE(trace->events.size() * sizeof(Event), size_t{8} << 20);
  // Buffers and the trace: 16 MiB, and what sorting takes.
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 40 << 10);
  // The file says that events are missing.
  RecordingSink sink;
  Trace small = *trace;
  small.events.clear();
  ASSERT_TRUE(ExportTrace(small, sink).ok());
  EXPECT_THAT(sink.header.fields,
              testing::Contains(testing::Pair("lost_events", absl::StrCat(trace->NumLost()))));
}

// The outermost spans of a thread cover a run but for what lies between them; self times add up
// to the outermost spans exactly.
TEST(BoundsTest, SelfTimesAddUp) {
  auto session = Session::Start({});
  ASSERT_TRUE(session.ok());
  const auto spin = [](int64_t nanos) {
    const int64_t end = MonotonicNanos() + nanos;
    while (MonotonicNanos() < end) {
    }
  };
  const int64_t begin = MonotonicNanos();
  for (int i = 0; i < 200; ++i) {
    Scope outer(Activity::kCpuOp, "outer");
    spin(20'000);
    for (int k = 0; k < 3; ++k) {
      Scope inner(Activity::kCpuOp, "inner");
      spin(20'000);
    }
  }
  const int64_t wall = MonotonicNanos() - begin;
  auto trace = (*session)->Stop();
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(*trace, averages).ok());
  EXPECT_NEAR(static_cast<double>(averages.SelfTotal()) / static_cast<double>(wall), 1, 0.01);
  int64_t outermost = 0;
  for (const KeyAveragesRow& row : averages.rows()) {
    if (row.name == "outer") outermost = row.total_ns;
  }
  EXPECT_EQ(averages.SelfTotal(), outermost);
}

}  // namespace
}  // namespace weft::profiler
