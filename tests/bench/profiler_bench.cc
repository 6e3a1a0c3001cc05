// The cost of recording an event, in a session and outside of one, and of collecting and exporting
// it. docs/profiling.md has the figures.
//
//   bazel run //tests/bench:profiler_bench -- --benchmark_repetitions=9
#include <filesystem>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "profiler/record.h"
#include "profiler/session.h"
#include "profiler/sink.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/key_averages.h"
#include "profiler/sinks/perfetto.h"

namespace weft::profiler {
namespace {

constexpr char kFolder[] = "/tmp";

std::unique_ptr<Session> StartSession(int64_t bytes, OverflowPolicy overflow) {
  SessionOptions options;
  options.max_buffer_bytes = bytes;
  options.overflow = overflow;
  return *Session::Start(options);
}

// Threads of a benchmark share the session.
std::unique_ptr<Session>& TheSession() {
  static auto& session = *new std::unique_ptr<Session>;
  return session;
}

void BM_SpanOff(benchmark::State& state) {
  const NameId name = InternName("op");
  for (auto _ : state) {
    Scope scope(Activity::kCpuOp, name);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SpanOff)->ThreadRange(1, 2);

void BM_MemoryOff(benchmark::State& state) {
  for (auto _ : state) {
    RecordMemory({64, 0x1000, 64});
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_MemoryOff);

// Into memory that is new, page by page.
void BM_Span(benchmark::State& state) {
  if (state.thread_index() == 0) {
    TheSession() = StartSession(int64_t{1} << 30, OverflowPolicy::kDropNewest);
  }
  const NameId name = InternName("op");
  for (auto _ : state) {
    Scope scope(Activity::kCpuOp, name);
  }
  if (state.thread_index() == 0) TheSession() = nullptr;
  state.counters["bytes_per_event"] =
      benchmark::Counter(sizeof(Event), benchmark::Counter::kAvgThreads);
}
BENCHMARK(BM_Span)->ThreadRange(1, 2)->Iterations(2'000'000);

// Over what was recorded before.
void BM_SpanOverwriting(benchmark::State& state) {
  if (state.thread_index() == 0) {
    TheSession() = StartSession(int64_t{1} << 20, OverflowPolicy::kOverwriteOldest);
  }
  const NameId name = InternName("op");
  for (auto _ : state) {
    Scope scope(Activity::kCpuOp, name);
  }
  if (state.thread_index() == 0) TheSession() = nullptr;
}
BENCHMARK(BM_SpanOverwriting)->ThreadRange(1, 2);

// The name is looked up.
void BM_SpanByText(benchmark::State& state) {
  auto session = StartSession(int64_t{1} << 20, OverflowPolicy::kOverwriteOldest);
  for (auto _ : state) {
    Scope scope(Activity::kCpuOp, "op");
  }
}
BENCHMARK(BM_SpanByText);

void BM_Memory(benchmark::State& state) {
  auto session = StartSession(int64_t{1} << 20, OverflowPolicy::kOverwriteOldest);
  for (auto _ : state) {
    RecordMemory({64, 0x1000, 64});
  }
}
BENCHMARK(BM_Memory);

// With shapes and without, as torch.profiler has it by default.
Trace RecordTrace(int64_t events, bool shapes = true) {
  SessionOptions options;
  options.max_buffer_bytes = int64_t{1} << 30;
  options.record_shapes = shapes;
  auto session = *Session::Start(options);
  Description description;
  description.inputs = {{"float", {4, 3, 32, 32}, {3072, 1024, 32, 1}, ""},
                        {"float", {64, 3, 8, 8}, {192, 64, 8, 1}, ""}};
  description.flops = 1000;
  const DescriptionHandle handle(std::move(description));
  const NameId name = InternName("aten::conv2d");
  for (int64_t i = 0; i < events; ++i) Scope scope(Activity::kCpuOp, name, handle.id());
  return *session->Stop();
}

// Stop(): nanoseconds to collect, convert and sort an event.
void BM_Collect(benchmark::State& state) {
  const int64_t events = state.range(0);
  for (auto _ : state) {
    state.PauseTiming();
    auto session = StartSession(int64_t{1} << 30, OverflowPolicy::kDropNewest);
    const NameId name = InternName("op");
    for (int64_t i = 0; i < events; ++i) Scope scope(Activity::kCpuOp, name);
    state.ResumeTiming();
    benchmark::DoNotOptimize(session->Stop());
  }
  state.SetItemsProcessed(state.iterations() * events);
}
BENCHMARK(BM_Collect)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

template <typename MakeSink>
void Export(benchmark::State& state, MakeSink make_sink, bool shapes = true) {
  const Trace trace = RecordTrace(200'000, shapes);
  for (auto _ : state) {
    auto sink = make_sink();
    if (!ExportTrace(trace, *sink).ok()) state.SkipWithError("cannot write");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace.events.size()));
}

void ExportJson(benchmark::State& state, bool shapes) {
  const std::string path = std::string(kFolder) + "/profiler_bench.json";
  const auto make_sink = [&] { return std::make_unique<ChromeJsonSink>(ChromeJsonOptions{path}); };
  Export(state, make_sink, shapes);
  state.counters["json_bytes_per_event"] =
      static_cast<double>(std::filesystem::file_size(path)) / 200'000;
}

void BM_ExportJson(benchmark::State& state) { ExportJson(state, false); }
BENCHMARK(BM_ExportJson)->Unit(benchmark::kMillisecond);

void BM_ExportJsonWithShapes(benchmark::State& state) { ExportJson(state, true); }
BENCHMARK(BM_ExportJsonWithShapes)->Unit(benchmark::kMillisecond);

void BM_ExportJsonGz(benchmark::State& state) {
  Export(state, [] {
    return std::make_unique<ChromeJsonSink>(
        ChromeJsonOptions{std::string(kFolder) + "/profiler_bench.json.gz"});
  });
}
BENCHMARK(BM_ExportJsonGz)->Unit(benchmark::kMillisecond);

void BM_ExportPerfetto(benchmark::State& state) {
  Export(state, [] {
    return std::make_unique<PerfettoSink>(std::string(kFolder) + "/profiler_bench.pftrace");
  });
}
BENCHMARK(BM_ExportPerfetto)->Unit(benchmark::kMillisecond);

void BM_KeyAverages(benchmark::State& state) {
  Export(state, [] { return std::make_unique<KeyAverages>(); });
}
BENCHMARK(BM_KeyAverages)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::profiler
