// Ten million events: recorded through a bound, and as a file of over a gigabyte that is written
// and read without taking memory for it. Takes minutes and disk, so it is asked for by name:
//
//   bazel test //tests/profiler:large_test --test_output=all
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "gtest/gtest.h"
#include "profiler/analysis/summary.h"
#include "profiler/read/read.h"
#include "profiler/record.h"
#include "profiler/session.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/perfetto.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

constexpr int64_t kEvents = 10'000'000;

int64_t PeakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST(LargeTest, RecordedThroughABound) {
  SessionOptions options;
  options.max_buffer_bytes = 64 << 20;
  options.overflow = OverflowPolicy::kOverwriteOldest;
  auto session = Session::Start(options);
  ASSERT_TRUE(session.ok());
  const int64_t before = PeakKilobytes();
  const Stopwatch watch;
  std::thread([] {
    const NameId name = InternName("op");
    for (int64_t i = 0; i < kEvents; ++i) Scope scope(Activity::kCpuOp, name);
  }).join();
  std::cout << "recording: " << 1e9 * watch.Seconds() / kEvents << " ns an event\n";
  auto trace = (*session)->Stop();
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->NumLost() + static_cast<int64_t>(trace->events.size()), kEvents);
  EXPECT_LT(PeakKilobytes() - before, 200 << 10);
}

// The sample, again and again, each time later.
class Repeat : public TraceSink {
 public:
  Repeat(TraceSink* sink, int64_t events) : sink_(*sink), left_(events) {}
  absl::Status Begin(const TraceHeader& header) override { return sink_.Begin(header); }
  absl::Status Add(const TraceEvent& event) override {
    if (event.phase == 'M') return sink_.Add(event);
    TraceEvent later = event;
    absl::Status status;
    for (; left_ > 0 && event.name == "convolution" && status.ok(); --left_) {
      status = sink_.Add(later);
      later.time_ns += 5000;
    }
    return status;
  }
  absl::Status Finish(const TraceHeader& trailer) override { return sink_.Finish(trailer); }

 private:
  TraceSink& sink_;
  int64_t left_;
};

void WriteAndRead(TraceSink& sink, const std::string& path, int64_t events) {
  const int64_t before = PeakKilobytes();
  const Stopwatch writing;
  Repeat repeat(&sink, events);
  ASSERT_TRUE(ExportTrace(SampleTrace(), repeat).ok());
  std::cout << path << ": " << std::filesystem::file_size(path) / 1e6 << " MB, written in "
            << writing.Seconds() << " s\n";
  const Stopwatch reading;
  Summary summary({});
  const absl::Status status = ReadTrace(path, summary);
  ASSERT_TRUE(status.ok()) << status;
  std::cout << "read in " << reading.Seconds() << " s; peak " << PeakKilobytes() / 1024 << " MB\n";
  EXPECT_GE(summary.num_events(), events);
  EXPECT_LT(PeakKilobytes() - before, 50 << 10);
  std::filesystem::remove(path);
}

TEST(LargeTest, JsonOfOverAGigabyte) {
  const std::string path = testing::TempDir() + "/large.json";
  ChromeJsonSink sink({path});
  WriteAndRead(sink, path, kEvents / 2);
}

TEST(LargeTest, CompressedJson) {
  const std::string path = testing::TempDir() + "/large.json.gz";
  ChromeJsonSink sink({path});
  WriteAndRead(sink, path, kEvents / 10);
}

TEST(LargeTest, Perfetto) {
  const std::string path = testing::TempDir() + "/large.pftrace";
  PerfettoSink sink(path);
  WriteAndRead(sink, path, kEvents / 10);
}

}  // namespace
}  // namespace weft::profiler
