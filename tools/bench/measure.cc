#include "tools/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/status_macros.h"

namespace weft::bench {
namespace {

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

double TimeMs(absl::FunctionRef<void()> work) {
  const double start = Now();
  work();
  return Now() - start;
}

absl::StatusOr<std::vector<double>> MeasureMs(const MeasureOptions& options,
                                              absl::FunctionRef<absl::Status()> run) {
  const bool counted = options.iterations > 0;
  const double warm = Now() + 1e3 * options.warmup_seconds;
  while (!counted && Now() < warm) {
    WEFT_RETURN_IF_ERROR(run());
  }
  std::vector<double> times;
  const int64_t least = counted ? options.iterations : options.min_iterations;
  const double end = counted ? 0 : Now() + 1e3 * options.seconds;
  while (static_cast<int64_t>(times.size()) < least || Now() < end) {
    absl::Status status;
    times.push_back(TimeMs([&] { status = run(); }));
    WEFT_RETURN_IF_ERROR(status);
  }
  return times;
}

double Quantile(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  const double at = share * static_cast<double>(times.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, times.size() - 1);
  const double part = at - static_cast<double>(below);
  return times[below] + part * (times[above] - times[below]);
}

}  // namespace weft::bench
