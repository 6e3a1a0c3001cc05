// Work of a device as a CUDA graph, whose edges are the order of the memory that the work accesses.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_GRAPH_H_
#define WEFT_BACKENDS_CUDA_DEVICE_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/memory_order.h"
#include "backends/cuda/driver/driver_api.h"
#include "backends/runtime/device.h"

namespace weft::cuda {

// An executable graph.
class GraphRecording : public Recording {
 public:
  GraphRecording(const DriverApi& driver, CuGraphExec exec) : driver_(driver), exec_(exec) {}
  // An error there is one of earlier work, which the next synchronization reports.
  ~GraphRecording() override { driver_.graph_exec_destroy(exec_); }

  CuGraphExec exec() const { return exec_; }
  StepLabels labels;

 private:
  const DriverApi& driver_;
  const CuGraphExec exec_;
};

// A graph that is being made. Each call that adds a node may return an error of the driver.
class GraphBuilder {
 public:
  GraphBuilder(const DriverApi& driver, CuContext context) : driver_(driver), context_(context) {}
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  CuResult Begin() { return driver_.graph_create(&graph_, 0); }
  CuResult AddKernel(CuFunction function, const LaunchShape& shape, absl::Span<void*> parameters,
                     absl::Span<const OperandRange> operands);
  CuResult AddFill(const OperandRange& to, unsigned char value);
  CuResult AddCopy(const OperandRange& to, const OperandRange& from);
  // `child` remains the caller's.
  CuResult AddChild(CuGraph child, absl::Span<const OperandRange> operands);

  // Makes an executable graph of the nodes, or `reuse` into it if only addresses, sizes and kernels
  // differ; `reuse` may be null. `updated` says which of the two it was.
  CuResult Finish(std::unique_ptr<GraphRecording> reuse, std::unique_ptr<GraphRecording>* made,
                  bool* updated);

 private:
  using AddNode =
      absl::FunctionRef<CuResult(CuGraphNode* added, const CuGraphNode* after, size_t count)>;
  CuResult Add(absl::Span<const OperandRange> operands, AddNode add);

  const DriverApi& driver_;
  const CuContext context_;
  CuGraph graph_ = nullptr;
  MemoryOrder order_;
  std::vector<CuGraphNode> nodes_;
  std::vector<CuGraphNode> after_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_GRAPH_H_
