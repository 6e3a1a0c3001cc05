// The number of processors that the process may keep busy.
#ifndef WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_
#define WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_

#include <string>

namespace weft::cpu {

// Processors that the process's control groups allow, read from their files under `root`: cpu.max
// of version 2, cpu.cfs_quota_us over cpu.cfs_period_us of version 1, the minimum over the group
// and its ancestors. Infinite without a quota. `root` ends with "/"; tests use other roots.
double CpuQuota(const std::string& root = "/");

// Processors that the calling thread may run on, limited by the quota rounded up. At least 1.
int AvailableCpus();

// Threads of the whole machine that run or wait for a processor, the caller among them; 0 if the
// system does not report it.
int RunnableThreads();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_AVAILABLE_CPUS_H_
