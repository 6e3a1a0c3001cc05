// Runs any number of random programs:
//
//   bazel run //tests/backends/cpu:differential_main -- 10000 [SEED]
#include <cstdlib>
#include <iostream>

#include "tests/backends/cpu/differential.h"
#include "tools/common/progress.h"

int main(int argc, char** argv) {
  const uint64_t programs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  weft::cpu::DifferentialCounts counts;
  weft::tools::ProgressLine progress("programs");
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const absl::Status status = weft::cpu::CheckRandomProgram(seed, &counts);
    progress.Show(static_cast<int64_t>(seed - first + 1), static_cast<int64_t>(programs));
    if (status.ok()) continue;
    progress.Clear();
    std::cout << status.message() << "\n";
    return 1;
  }
  progress.Clear();
  std::cout << counts.programs << " programs, " << counts.steps << " steps, " << counts.groups
            << " groups by passes, " << counts.generated << " generated kernels, "
            << counts.fallbacks << " calls without a routine; no difference\n";
  return 0;
}
