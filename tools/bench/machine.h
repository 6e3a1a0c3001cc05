// The machine and the process, for reports.
#ifndef WEFT_TOOLS_BENCH_MACHINE_H_
#define WEFT_TOOLS_BENCH_MACHINE_H_

#include <string>

namespace weft::bench {

struct Machine {
  std::string cpu;  // "unknown" where the system does not say.
  int logical_cpus = 0;
  std::string system;  // "Linux 6.1.0 x86_64"
  std::string compiler;
};

Machine DescribeMachine();

// The most memory that the process has had so far.
double PeakRssMb();
// Time of processors that it has taken so far, of all threads, with the system's for it.
double ProcessorMs();

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_MACHINE_H_
