#include "tools/bench/machine.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::bench {
namespace {

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "unknown";
}

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.cpu = CpuName();
  machine.logical_cpus = static_cast<int>(std::thread::hardware_concurrency());
  utsname names;
  if (uname(&names) == 0) {
    machine.system = absl::StrCat(names.sysname, " ", names.release, " ", names.machine);
  }
#if defined(__clang__)
  machine.compiler = absl::StrCat("clang ", __clang_version__);
#elif defined(__GNUC__)
  machine.compiler = absl::StrCat("gcc ", __VERSION__);
#else
  machine.compiler = "unknown";
#endif
  return machine;
}

double PeakRssMb() {
  // getrusage would include the peak before exec.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    double kb = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lf", &kb) == 1) return kb / 1024;
  }
  return 0;
}

double ProcessorMs() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace weft::bench
