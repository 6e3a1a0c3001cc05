// Kernels of a trace in Chrome's JSON: for each, its time, calls and bytes, and the
// source nodes that it stands for.
#ifndef WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_
#define WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weft {

struct KernelTime {
  std::string name;
  std::vector<std::string> sources;
  double microseconds = 0;
  int64_t calls = 0;
  int64_t bytes = 0;
};

// The complete events ("ph": "X") whose "args" have a list "Provenance", by their name
// (or the args' "kernel") and that list, in the order of their first event. Bytes are
// the args' "Bytes moved". Traces of others may write "provenance" and "bytes".
// Reads as it goes: memory grows with the kernels and not with the events. Errors name
// the byte.
absl::StatusOr<std::vector<KernelTime>> ReadKernelTimes(std::istream& trace);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_
