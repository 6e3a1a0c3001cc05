// The kernels of a trace: for each, its time, calls and bytes, and the source nodes that it stands
// for.
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

// Takes the spans whose arguments have a list "Provenance", by their name (or the argument
// "kernel") and that list. Bytes are the argument "Bytes moved". Traces of others may write
// "provenance" and "bytes". Memory grows with the kernels and not with the events.
class KernelTimes : public profiler::TraceSink {
 public:
  absl::Status Begin(const profiler::TraceHeader&) override { return absl::OkStatus(); }
  absl::Status Add(const profiler::TraceEvent& event) override;
  absl::Status Finish(const profiler::TraceHeader&) override { return absl::OkStatus(); }

  // In the order of their first events.
  const std::vector<KernelTime>& kernels() const { return kernels_; }

 private:
  std::vector<KernelTime> kernels_;
  // By the name and the text of the list; -1: the list is none of names.
  absl::flat_hash_map<std::string, int> numbers_;
  std::string key_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_KERNEL_TIMES_H_
