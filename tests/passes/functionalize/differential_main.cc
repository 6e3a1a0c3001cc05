// Runs any number of random programs:
//
//   bazel run -c opt //tests/passes/functionalize:differential -- 100000 [SEED]
#include <cstdlib>
#include <iostream>

#include "tests/passes/functionalize/differential.h"
#include "tools/common/progress.h"

int main(int argc, char** argv) {
  const int64_t programs = argc > 1 ? std::atoll(argv[1]) : 100000;
  const uint32_t first = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  weft::DifferentialCounts counts;
  weft::tools::ProgressLine progress("programs");
  for (int64_t i = 0; i < programs; ++i) {
    const uint32_t seed = first + static_cast<uint32_t>(i);
    const absl::Status status = weft::CheckRandomProgram(seed, &counts);
    progress.Show(i + 1, programs);
    if (status.ok()) continue;
    progress.Clear();
    std::cout << status.message() << "\n";
    return 1;
  }
  progress.Clear();
  std::cout << "seeds " << first << " to " << first + static_cast<uint32_t>(programs) - 1 << ": "
            << counts.ToString() << "; no difference\n";
  return 0;
}
