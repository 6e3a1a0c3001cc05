#include "backends/cuda/device/graph.h"

#include <utility>

namespace weft::cuda {

GraphBuilder::~GraphBuilder() {
  if (graph_ != nullptr) driver_.graph_destroy(graph_);
}

CuResult GraphBuilder::Add(absl::Span<const OperandRange> operands, AddNode add) {
  after_.clear();
  for (const int work : order_.Add(operands)) after_.push_back(nodes_[work]);
  CuGraphNode added = nullptr;
  const CuResult result = add(&added, after_.data(), after_.size());
  nodes_.push_back(added);
  return result;
}

CuResult GraphBuilder::AddKernel(CuFunction function, const LaunchShape& shape,
                                 absl::Span<void*> parameters,
                                 absl::Span<const OperandRange> operands) {
  CuKernelNode kernel;
  kernel.function = function;
  kernel.grid_x = shape.blocks;
  kernel.block_x = shape.threads;
  kernel.shared_bytes = shape.shared_bytes;
  kernel.parameters = parameters.data();
  return Add(operands, [&](CuGraphNode* added, const CuGraphNode* after, size_t count) {
    return driver_.graph_add_kernel(added, graph_, after, count, &kernel);
  });
}

CuResult GraphBuilder::AddFill(const OperandRange& to, unsigned char value) {
  CuFillNode fill;
  fill.to = to.begin;
  fill.value = value;
  fill.width = static_cast<size_t>(to.bytes);
  return Add({to}, [&](CuGraphNode* added, const CuGraphNode* after, size_t count) {
    return driver_.graph_add_fill(added, graph_, after, count, &fill, context_);
  });
}

CuResult GraphBuilder::AddCopy(const OperandRange& to, const OperandRange& from) {
  CuCopyNode copy;
  copy.to.device = to.begin;
  copy.from.device = from.begin;
  copy.width_bytes = static_cast<size_t>(to.bytes);
  return Add({to, from}, [&](CuGraphNode* added, const CuGraphNode* after, size_t count) {
    return driver_.graph_add_copy(added, graph_, after, count, &copy, context_);
  });
}

CuResult GraphBuilder::AddChild(CuGraph child, absl::Span<const OperandRange> operands) {
  return Add(operands, [&](CuGraphNode* added, const CuGraphNode* after, size_t count) {
    return driver_.graph_add_child(added, graph_, after, count, child);
  });
}

CuResult GraphBuilder::Finish(std::unique_ptr<GraphRecording> reuse,
                              std::unique_ptr<GraphRecording>* made, bool* updated) {
  *updated = false;
  if (reuse != nullptr) {
    CuGraphUpdate info;
    const CuResult result = driver_.graph_update(reuse->exec(), graph_, &info);
    *updated = result == kCuSuccess;
    if (*updated) {
      *made = std::move(reuse);
      return kCuSuccess;
    }
    if (result != kCuGraphUpdateFailed) return result;
    reuse = nullptr;
  }
  CuGraphExec exec = nullptr;
  const CuResult result = driver_.graph_instantiate(&exec, graph_, 0);
  if (result == kCuSuccess) *made = std::make_unique<GraphRecording>(driver_, exec);
  return result;
}

}  // namespace weft::cuda
