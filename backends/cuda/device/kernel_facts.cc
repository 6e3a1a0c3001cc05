#include "backends/cuda/device/kernel_facts.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace weft::cuda {
namespace {

// The number that stands before `unit` in the line, as in "Used 32 registers"; 0: none.
int64_t NumberBefore(absl::string_view line, absl::string_view unit) {
  const size_t end = line.find(unit);
  if (end == absl::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t number = 0;
  return absl::SimpleAtoi(line.substr(begin, end - begin), &number) ? number : 0;
}

}  // namespace

std::vector<KernelFacts> ReadKernelFacts(absl::string_view log) {
  std::vector<KernelFacts> facts;
  constexpr absl::string_view kBegin = "Compiling entry function '";
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const size_t at = line.find(kBegin);
    if (at != absl::string_view::npos) {
      const absl::string_view name = line.substr(at + kBegin.size());
      facts.emplace_back().name = std::string(name.substr(0, name.find('\'')));
      continue;
    }
    if (facts.empty()) continue;
    KernelFacts& kernel = facts.back();
    if (line.find(" bytes spill stores") != absl::string_view::npos) {
      kernel.stack_bytes = NumberBefore(line, " bytes stack frame");
      kernel.spill_bytes = NumberBefore(line, " bytes spill stores");
    }
    if (line.find(" registers") != absl::string_view::npos) {
      kernel.registers = static_cast<int>(NumberBefore(line, " registers"));
      kernel.shared_bytes = NumberBefore(line, " bytes smem");
    }
  }
  return facts;
}

}  // namespace weft::cuda
