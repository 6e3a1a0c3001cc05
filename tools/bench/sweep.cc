#include "tools/bench/sweep.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "tools/bench/measure.h"

namespace weft::bench {
namespace {

// A session and its inputs.
struct Runner {
  Prepared prepared;
  std::vector<HostTensor> inputs;

  absl::StatusOr<double> RunMs() {
    absl::Status status;
    const double ms =
        TimeMs([&] { status = prepared.session->Run(absl::MakeConstSpan(inputs)).status(); });
    WEFT_RETURN_IF_ERROR(status);
    return ms;
  }
};

absl::StatusOr<Program> LoadAt(const SweepRange& range, ProgramOptions options, int64_t size) {
  options.sizes[range.symbol] = size;
  return LoadProgram(options);
}

// A program compiled for `size` alone.
absl::StatusOr<Runner> MakeStatic(const SweepRange& range, int64_t size, Program program,
                                  PrepareOptions options) {
  options.pipeline.passes = absl::StrCat("specialize_symbols{values=\"", range.symbol, "=", size,
                                         "\"},", options.pipeline.passes);
  Runner runner;
  WEFT_ASSIGN_OR_RETURN(runner.prepared, Prepare(options, std::move(program.module)));
  runner.inputs = InOrder(runner.prepared.session->main(), program.inputs);
  WEFT_RETURN_IF_ERROR(runner.RunMs().status());
  return runner;
}

// Runs both in turn.
absl::Status Measure(Runner& dynamic, Runner& fixed, int64_t iterations, SweepPoint* point) {
  std::vector<double> times[2];
  for (int64_t i = 0; i < 2 * iterations; ++i) {
    WEFT_ASSIGN_OR_RETURN(const double ms, (i % 2 == 0 ? dynamic : fixed).RunMs());
    times[i % 2].push_back(ms);
  }
  point->median_ms = Quantile(times[0], 0.5);
  point->static_ms = Quantile(times[1], 0.5);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SweepRange> ParseSweep(absl::string_view text) {
  constexpr int64_t kMaxPoints = 1000;
  SweepRange range;
  const std::vector<std::string> parts = absl::StrSplit(text, '=');
  const std::vector<std::string> numbers =
      absl::StrSplit(parts.size() == 2 ? parts[1] : std::string(), ':');
  int64_t n[3] = {};
  bool good = numbers.size() == 3 && !parts[0].empty();
  for (size_t i = 0; good && i < 3; ++i) good = absl::SimpleAtoi(numbers[i], &n[i]);
  good = good && n[0] >= 1 && n[1] >= n[0] && n[2] >= 1 && (n[1] - n[0]) / n[2] < kMaxPoints;
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep takes NAME=FROM:TO:STEP, not \"", text, "\""));
  }
  range.symbol = parts[0];
  for (int64_t size = n[0]; size <= n[1]; size += n[2]) range.sizes.push_back(size);
  return range;
}

absl::StatusOr<SweepResult> Sweep(const SweepRange& range, const ProgramOptions& program,
                                  const PrepareOptions& prepare, int64_t iterations) {
  SweepResult result;
  Runner dynamic;
  // Runs once with another size, so that work done once per process is not counted.
  WEFT_ASSIGN_OR_RETURN(Program loaded, LoadAt(range, program, range.sizes.back() + 1));
  WEFT_ASSIGN_OR_RETURN(dynamic.prepared, Prepare(prepare, std::move(loaded.module)));
  const Graph& graph = dynamic.prepared.session->main();
  dynamic.inputs = InOrder(graph, loaded.inputs);
  for (int i = 0; i < 2; ++i) WEFT_RETURN_IF_ERROR(dynamic.RunMs().status());
  result.before = dynamic.prepared.session->counters();
  for (int64_t size : range.sizes) {
    WEFT_ASSIGN_OR_RETURN(Program at, LoadAt(range, program, size));
    dynamic.inputs = InOrder(graph, at.inputs);
    // Measured before the static program, which would leave primitives of this size in caches.
    SweepPoint point;
    point.size = size;
    WEFT_ASSIGN_OR_RETURN(point.first_ms, dynamic.RunMs());
    WEFT_ASSIGN_OR_RETURN(Runner fixed, MakeStatic(range, size, std::move(at), prepare));
    WEFT_RETURN_IF_ERROR(Measure(dynamic, fixed, iterations, &point));
    result.points.push_back(point);
  }
  result.after = dynamic.prepared.session->counters();
  return result;
}

}  // namespace weft::bench
