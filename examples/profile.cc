// Records a loop of steps, writes a trace (examples/trace.json is one), and prints the times in the
// file. docs/profiling.md shows parts of it.
//
//   bazel run //examples:profile -- trace.json
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "profiler/read/read.h"
#include "profiler/record.h"
#include "profiler/session.h"
#include "profiler/sink.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/key_averages.h"

namespace {

namespace profiler = ::weft::profiler;
using profiler::Activity;

constexpr int64_t kSize = 1 << 14;

// The description of a kernel that reads two vectors and writes one.
profiler::DescriptionHandle Describe(std::vector<std::string> provenance) {
  const profiler::TensorDescription vector = {"float", {kSize}, {1}, ""};
  profiler::Description description;
  description.inputs = {vector, vector};
  description.outputs = {vector};
  description.flops = kSize;
  description.bytes = 3 * kSize * static_cast<int64_t>(sizeof(float));
  description.threads = 1;
  description.kernel = "example";
  description.provenance = std::move(provenance);
  return profiler::DescriptionHandle(std::move(description));
}

void Work() {
  static const profiler::NameId kAdd = profiler::InternName("add");
  static const profiler::NameId kSum = profiler::InternName("sum");
  static const profiler::NameId kQueue = profiler::InternName("queue");
  static const auto& described = *new profiler::DescriptionHandle(Describe({"layer/residual"}));
  const auto bytes = static_cast<int64_t>(kSize * sizeof(float));

  profiler::Annotation block("block");
  std::vector<float> a(kSize, 1), b(kSize, 2);
  const auto address = reinterpret_cast<uint64_t>(a.data());
  profiler::RecordMemory({bytes, address, bytes, profiler::MemoryCategory::kActivation});
  profiler::RecordCounter(kQueue, 1);
  {
    profiler::Scope scope(Activity::kCpuOp, kAdd, described.id());
    for (int64_t i = 0; i < kSize; ++i) a[i] += b[i];
  }
  {
    profiler::Scope scope(Activity::kCpuOp, kSum);
    if (std::accumulate(a.begin(), a.end(), 0.0f) < 0) std::abort();
  }
  profiler::RecordCounter(kQueue, 0);
  profiler::RecordMemory({-bytes, address, 0, profiler::MemoryCategory::kActivation});
}

absl::Status Run(const std::string& path) {
  absl::Status status;
  profiler::SessionOptions options;
  options.schedule = {/*wait=*/1, /*warmup=*/1, /*active=*/2, /*repeat=*/1};
  options.on_trace_ready = [&](const profiler::Trace& trace) {
    profiler::ChromeJsonSink file({path});
    status = profiler::ExportTrace(trace, file);
  };
  auto session = profiler::Session::Start(options);
  if (!session.ok()) return session.status();
  for (int step = 0; step < 6; ++step) {
    Work();
    (*session)->Step();
  }
  return status;
}

absl::Status PrintTimes(const std::string& path) {
  profiler::KeyAverages times;
  absl::Status status = profiler::ReadTrace(path, times);
  if (!status.ok()) return status;
  for (const profiler::KeyAveragesRow& row : times.rows()) {
    std::cout << row.name << ": " << row.calls << " calls, median " << row.MedianNs() << " ns\n";
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "trace.json";
  absl::Status status = Run(path);
  if (status.ok()) status = PrintTimes(path);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
