// Facts about the machine and the process, for reports.
#ifndef WEFT_TOOLS_BENCH_MACHINE_H_
#define WEFT_TOOLS_BENCH_MACHINE_H_

#include <string>

namespace weft::bench {

struct Machine {
  std::string cpu;  // "unknown" if the system does not report it.
  int logical_cpus = 0;
  std::string system;  // "Linux 6.1.0 x86_64"
  std::string compiler;
};

Machine DescribeMachine();

// The largest memory that the process has had so far.
double PeakRssMb();
// Processor time of all threads so far, with that of the system on their behalf.
double ProcessorMs();

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_MACHINE_H_
