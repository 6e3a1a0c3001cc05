// How many processors the process may keep busy.
#ifndef WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_
#define WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_

#include <string>

namespace weft::cpu {

// Processors' worth of time that the process's control groups allow, as their files under `root`
// say: cpu.max of version 2, cpu.cfs_quota_us over cpu.cfs_period_us of version 1, the least of
// the group and those above it. Infinite without a quota. `root` ends with "/"; tests have
// their own.
double CpuQuota(const std::string& root = "/");

// Processors that the calling thread may run on, and no more than the quota rounded up. At
// least 1.
int AvailableCpus();

// Threads in the whole machine that run or wait for a processor, the caller among them; 0 where
// the system does not say.
int RunnableThreads();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_
