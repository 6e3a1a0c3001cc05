// torch.profiler's key_averages(): the total cost of equal spans, as rows and as a table. As there,
// Python functions are left out, because they are recorded beside the ops that they call.
//
// Work of a device counts as device time: of its own row, and of the span that caused it, which the
// field "External id" of both names.
#ifndef WEFT_PROFILER_SINKS_KEY_AVERAGES_H_
#define WEFT_PROFILER_SINKS_KEY_AVERAGES_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "profiler/sink.h"
#include "profiler/sinks/span_stack.h"

namespace weft::profiler {

struct KeyAveragesOptions {
  // kProvenance leaves out spans without a provenance. kStep has a row for each step of a plan or
  // node of a graph that ran, and leaves out other spans. It also leaves out the first
  // ProfilerStep, in which the program warms up, if steps of a plan ran after it.
  enum class Group { kName, kNameAndShapes, kProvenance, kStep };
  Group group = Group::kName;
  // Leave out the spans that kStep shows.
  bool without_steps = false;
  // Beyond this many rows, all others share the row "(other)".
  int64_t max_rows = 1'000'000;
};

struct KeyAveragesRow {
  std::string name;      // Steps of a session are one row, "ProfilerStep*".
  std::string shapes;    // `Input Dims`, if grouped by them.
  std::string category;  // Category of the first span.
  std::string ran_by;    // With kStep: what ran it, as in "generated" or "library:gemm".
  std::string source;    // With kStep: its source nodes, with commas between.
  int64_t calls = 0;
  int64_t self_ns = 0;  // Without nested spans.
  int64_t total_ns = 0;
  int64_t self_memory = 0;  // Bytes allocated minus bytes released.
  int64_t total_memory = 0;
  int64_t flops = 0;
  int64_t bytes = 0;        // Bytes moved.
  int64_t measured_ns = 0;  // Total time of the spans with known bytes or operations.
  // Time of a device's work: caused by the spans themselves, and with nested spans.
  int64_t self_device_ns = 0;
  int64_t device_ns = 0;
  int64_t kernel_ns = 0;   // Part of self_device_ns: kernels.
  bool on_device = false;  // The spans are work of a device.
  // Times of calls, for their median: every `sample_step`-th, which keeps a bounded number.
  std::vector<int64_t> samples;
  int64_t sample_step = 1;

  int64_t MedianNs() const;
  // Time that bytes and operations took: of kernels if there were any, else of the spans.
  int64_t RatedNs() const { return kernel_ns > 0 ? kernel_ns : measured_ns; }
};

// The measured limits of the machine; 0: unknown.
struct Roofline {
  double gbytes_per_second = 0;
  double gflops_per_second = 0;
};

struct TableOptions {
  // self_cpu_time_total, cpu_time_total, cpu_time (the average), self_device_time_total,
  // device_time_total, device_time, median, count,
  // self_cpu_memory_usage, cpu_memory_usage, flops, bytes or name; "" for the order of appearance.
  std::string sort_by;
  int64_t row_limit = 100;  // Negative: all rows.
  int64_t max_name_width = 55;
  Roofline roofline;
};

class KeyAverages : public TraceSink {
 public:
  explicit KeyAverages(KeyAveragesOptions options = {}) : options_(options) {}
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override { return absl::OkStatus(); }

  // In order of appearance.
  const std::vector<KeyAveragesRow>& rows() const { return rows_; }
  int64_t SelfTotal() const;
  // Time of all work of devices; 0 if there was none.
  int64_t DeviceTotal() const { return device_total_; }
  // Calls of steps that kStep leaves out because the program warmed up in them.
  int64_t num_warm_up_calls() const { return num_warm_up_calls_; }
  // If above 0, self times and memory are estimates (see SpanStacks).
  int64_t num_unordered() const { return stacks_.num_unordered(); }

  // InvalidArgument for an unknown `sort_by`. The last columns show the share of the roofline: the
  // time that a machine at its limits would take, relative to the row's time.
  absl::StatusOr<std::string> Table(const TableOptions& options = {}) const;

 private:
  static constexpr int64_t kNoRow = -1;
  static constexpr size_t kMaxSamples = 1024;
  int64_t RowOf(const TraceEvent& event);
  // Forgets the steps of the first ProfilerStep when the first step after it begins.
  void LeaveWarmUp(const TraceEvent& event);
  static void AddSample(int64_t duration_ns, KeyAveragesRow* row);
  void AddSpan(const TraceEvent& event);
  void AddDeviceSpan(const TraceEvent& event);
  void AddMemory(const TraceEvent& event);

  const KeyAveragesOptions options_;
  std::vector<KeyAveragesRow> rows_;
  absl::flat_hash_map<std::string, int64_t> row_of_key_;
  // A span that is open, or that may have caused later work of a device.
  struct Caller {
    int64_t row = kNoRow;
    int64_t external_id = 0;
    int64_t outer = 0;  // External id of the span around it; 0: none.
  };
  SpanStacks<Caller> stacks_;
  bool has_devices_ = false;
  absl::flat_hash_map<int64_t, Caller> callers_;  // By External id; only with devices.
  int64_t device_total_ = 0;
  // End of the first ProfilerStep: kUnknown before it, kOver when it was left out.
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kOver = kUnknown - 1;
  int64_t warm_up_end_ = kUnknown;
  int64_t num_warm_up_calls_ = 0;
  std::string key_;
};

// The rows in the table's order; InvalidArgument for an unknown `sort_by`.
absl::StatusOr<std::vector<KeyAveragesRow>> SortRows(std::vector<KeyAveragesRow> rows,
                                                     const std::string& sort_by);

// "1.234ms", "1.50 Mb".
std::string FormatNanos(double nanoseconds);
std::string FormatBytes(int64_t bytes);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_KEY_AVERAGES_H_
