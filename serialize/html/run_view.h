// The contents of a trace and of a plan, as plain values for pictures.
#ifndef WEFT_SERIALIZE_HTML_RUN_VIEW_H_
#define WEFT_SERIALIZE_HTML_RUN_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace weft {

// All calls of one kernel.
struct KernelTime {
  std::string name;
  std::string routine;               // Runner of its last call ("library:gemm"); empty: unknown.
  std::vector<std::string> sources;  // Names of source nodes.
  double median_us = 0;              // Time of one call.
  int64_t calls = 0;
  int64_t bytes = 0;  // Bytes moved by the last call; 0: unknown.
  int64_t flops = 0;  // Operations of the last call; 0: unknown.
};

// The spans of a trace, and the memory that the program held. Times are relative to the first.
struct Timeline {
  struct Slice {
    int track = -1;   // In `tracks`.
    int name = -1;    // In `names`.
    int kernel = -1;  // In TraceView::kernels; -1: none.
    int64_t begin_ns = 0;
    int64_t duration_ns = 0;
  };
  // The memory that is held after it has changed.
  struct MemoryPoint {
    int64_t time_ns = 0;
    int64_t bytes = 0;
    int category = -1;  // Category of the change, in `categories`.
  };
  std::vector<std::string> tracks;
  std::vector<std::string> names;
  std::vector<Slice> slices;  // By track and begin, the longer first.
  std::vector<std::string> categories;
  std::vector<MemoryPoint> memory;
  int64_t left_out = 0;  // Slices and points past the limits.
};

struct TraceView {
  std::vector<KernelTime> kernels;  // In the order of their first events.
  // Runs of the program: steps of the profiler with kernels in them, or else the fewest calls of a
  // kernel.
  int64_t runs = 1;
  Timeline timeline;
  absl::flat_hash_map<std::string, double> pass_us;  // Time of each compiler pass, by path.
};

// A graph that a plan was made from: a function, or region `region` of a node of graph `parent`.
struct PlanGraph {
  std::string function;
  int parent = -1;  // In PlanView::graphs, before this one; -1: a function.
  int64_t node = 0;
  int region = 0;
};

struct PlanKernel {
  std::string text;  // With its schedule.
  std::string code;  // The target's code; empty: none.
};

struct PlanStep {
  std::string name;  // As events of traces have it.
  std::string text;
  int graph = 0;     // In PlanView::graphs.
  int64_t node = 0;  // Id of its node in that graph.
  int kernel = -1;   // In PlanView::kernels.
  // Whether it runs nested plans. Its time includes theirs.
  bool is_control = false;
  // Temporaries of the plan that are alive at this step, for PlanView::sizes; -1: unknown.
  int64_t live_bytes = -1;
  std::vector<std::string> sources;
};

struct PlanView {
  std::vector<PlanGraph> graphs;
  std::vector<PlanKernel> kernels;
  std::vector<PlanStep> steps;  // In the order in which they run.
  std::string sizes;            // Example sizes, as in " for s0=2"; empty without symbols.
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_RUN_VIEW_H_
