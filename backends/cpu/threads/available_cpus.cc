#include "backends/cpu/threads/available_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weft::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The first line of the file; empty if there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// time / period in equal units; infinite for "max", -1 and text that is not a number.
double Quota(absl::string_view time, absl::string_view period) {
  double t = 0;
  double p = 0;
  if (!absl::SimpleAtod(time, &t) || !absl::SimpleAtod(period, &p)) return kInfinity;
  return t > 0 && p > 0 ? t / p : kInfinity;
}

double QuotaOfGroup(const std::string& folder) {
  const std::vector<std::string> both = absl::StrSplit(FirstLine(folder + "/cpu.max"), ' ');
  const double second = both.size() == 2 ? Quota(both[0], both[1]) : kInfinity;
  return std::min(second, Quota(FirstLine(folder + "/cpu.cfs_quota_us"),
                                FirstLine(folder + "/cpu.cfs_period_us")));
}

// The smallest quota of the group and its ancestors. A container sees its own group as the root, so
// the path may name folders that do not exist.
double QuotaUpwards(const std::string& mount, std::string group) {
  double quota = QuotaOfGroup(mount);
  while (group.size() > 1) {
    quota = std::min(quota, QuotaOfGroup(mount + group));
    group.resize(group.rfind('/'));
  }
  return quota;
}

}  // namespace

double CpuQuota(const std::string& root) {
  std::ifstream groups(root + "proc/self/cgroup");
  double quota = kInfinity;
  std::string line;
  while (std::getline(groups, line)) {
    // "0::/group" of version 2; "4:cpu,cpuacct:/group" of version 1.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool cpu = std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end();
    if (!parts[1].empty() && !cpu) continue;
    const std::string mount = absl::StrCat(root, "sys/fs/cgroup", cpu ? "/cpu" : "");
    quota = std::min(quota, QuotaUpwards(mount, parts[2]));
  }
  return quota;
}

int AvailableCpus() {
  // sched_getaffinity fails on machines with more processors than the set holds.
  cpu_set_t set;
  const int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
  const double quota = std::ceil(CpuQuota());
  return std::max(1, quota < cpus ? static_cast<int>(quota) : cpus);
}

int RunnableThreads() {
  // "0.20 0.18 0.12 1/80 11206": the fourth field counts threads that run or wait.
  const std::vector<std::string> fields = absl::StrSplit(FirstLine("/proc/loadavg"), ' ');
  int running = 0;
  if (fields.size() < 4) return 0;
  const std::vector<std::string> counts = absl::StrSplit(fields[3], '/');
  return absl::SimpleAtoi(counts[0], &running) ? running : 0;
}

}  // namespace weft::cpu
