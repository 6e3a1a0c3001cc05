// The kernels of a trace: for each, its time, calls and bytes, and its source nodes.
#ifndef WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_
#define WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "profiler/sink.h"
#include "profiler/trace_event.h"

namespace weft {

struct KernelTime {
  std::string name;
  std::vector<std::string> sources;
  double microseconds = 0;
  int64_t calls = 0;
  int64_t bytes = 0;
};

// Collects spans with a list argument "Provenance", keyed by their name (or the argument "kernel")
// and that list. Bytes are the argument "Bytes moved". Traces of other programs may use
// "provenance" and "bytes". Memory grows with the number of kernels, not of events.
class KernelTimes : public profiler::TraceSink {
 public:
  absl::Status Begin(const profiler::TraceHeader&) override { return absl::OkStatus(); }
  absl::Status Add(const profiler::TraceEvent& event) override;
  absl::Status Finish(const profiler::TraceHeader&) override { return absl::OkStatus(); }

  // Kernels in the order of their first events.
  const std::vector<KernelTime>& kernels() const { return kernels_; }

 private:
  std::vector<KernelTime> kernels_;
  // By name and text of the list; -1: the list has no names.
  absl::flat_hash_map<std::string, int> numbers_;
  std::string key_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_
