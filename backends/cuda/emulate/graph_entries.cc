// The driver's functions about graphs.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/emulate/entries.h"
#include "backends/cuda/emulate/graphs.h"
#include "backends/cuda/emulate/launches.h"

namespace weft::cuda {

struct CuGraphNodeRecord {
  CuGraph graph = nullptr;
  size_t number = 0;
};

struct CuGraphRecord {
  std::vector<emulate::Node> nodes;
  std::vector<std::unique_ptr<CuGraphNodeRecord>> handles;  // By node.
};

struct CuGraphExecRecord {
  std::shared_ptr<const std::vector<emulate::Node>> nodes;
  std::string fault;  // "": the nodes are in order.
  // The pieces of memory that the nodes access: an address, and the number of its piece.
  std::vector<std::pair<CuAddress, uint64_t>> pieces;
};

}  // namespace weft::cuda

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::Access;
using weft::cuda::emulate::FindRace;
using weft::cuda::emulate::Memory;
using weft::cuda::emulate::Node;
using weft::cuda::emulate::NodeKind;
using weft::cuda::emulate::Shadow;
using weft::cuda::emulate::State;
using weft::cuda::emulate::Stream;
using weft::cuda::emulate::Task;

// cuGraphExecUpdate's CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED.
constexpr int kTopologyChanged = 2;

// Adds a node behind those of `after`, which belong to the graph.
CuResult Add(CuGraph graph, const CuGraphNode* after, size_t count, Node node, CuGraphNode* added) {
  if (graph == nullptr) return kCuInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (after[i] == nullptr || after[i]->graph != graph) return kCuInvalidValue;
    node.after.push_back(after[i]->number);
  }
  std::sort(node.after.begin(), node.after.end());
  if (std::adjacent_find(node.after.begin(), node.after.end()) != node.after.end()) {
    return kCuInvalidValue;
  }
  auto handle = std::make_unique<CuGraphNodeRecord>();
  *handle = {graph, graph->nodes.size()};
  *added = handle.get();
  graph->nodes.push_back(std::move(node));
  graph->handles.push_back(std::move(handle));
  return kCuSuccess;
}

// Runs the nodes in some order that the edges allow.
CuResult RunNodes(State& state, const std::vector<Node>& nodes) {
  std::vector<size_t> waits;
  std::vector<size_t> ready;
  for (size_t n = 0; n < nodes.size(); ++n) {
    waits.push_back(nodes[n].after.size());
    if (waits[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    const auto at = ready.begin() + static_cast<std::ptrdiff_t>(state.Random(ready.size()));
    const size_t n = *at;
    ready.erase(at);
    const Node& node = nodes[n];
    if (node.task.run) {
      const CuResult result = node.task.run();
      if (result != kCuSuccess) return result;
    }
    if (node.child != nullptr) {
      const CuResult result = RunNodes(state, *node.child);
      if (result != kCuSuccess) return result;
    }
    for (size_t m = n + 1; m < nodes.size(); ++m) {
      const auto& after = nodes[m].after;
      if (std::find(after.begin(), after.end(), n) == after.end()) continue;
      if (--waits[m] == 0) ready.push_back(m);
    }
  }
  return kCuSuccess;
}

// The number of the piece around the address; 0: none.
uint64_t PieceAt(const State& state, CuAddress address) {
  const Memory::Piece* piece = state.memory.Find(address);
  return piece == nullptr ? 0 : piece->number;
}

void SetNodes(const State& state, CuGraphExec exec, const std::vector<Node>& nodes) {
  exec->nodes = std::make_shared<const std::vector<Node>>(nodes);
  exec->fault = FindRace(nodes);
  exec->pieces.clear();
  for (const Node& node : nodes) {
    for (const Access& access : node.task.accesses) {
      const CuAddress begin = Memory::Hide(access.begin);
      exec->pieces.emplace_back(begin, PieceAt(state, begin));
    }
  }
}

bool SameShape(const std::vector<Node>& a, const std::vector<Node>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Node& x, const Node& y) {
    if (x.kind != y.kind || x.after != y.after) return false;
    return x.child == nullptr || SameShape(*x.child, *y.child);
  });
}

}  // namespace

namespace weft::cuda::emulate {

void AddCaptured(CuGraph graph, Task task) {
  Node node;
  node.task = std::move(task);
  CuGraphNode last = graph->handles.empty() ? nullptr : graph->handles.back().get();
  CuGraphNode added = nullptr;
  Add(graph, &last, last == nullptr ? 0 : 1, std::move(node), &added);
}

}  // namespace weft::cuda::emulate

// --- Capture -------------------------------------------------------------------------------

WEFT_EXPORT CuResult cuStreamBeginCapture_v2(CuStream stream, CuCaptureMode) {
  WEFT_ENTER("cuStreamBeginCapture_v2");
  Stream* found = state.FindStream(stream);
  if (found == nullptr || stream == nullptr || found->capture != nullptr) return kCuInvalidValue;
  found->capture = new CuGraphRecord;
  ++state.graphs;
  return kCuSuccess;
}
WEFT_SAME(cuStreamBeginCapture_v2, capture_begin);

WEFT_EXPORT CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuStreamEndCapture");
  Stream* found = state.FindStream(stream);
  if (found == nullptr || found->capture == nullptr) return kCuInvalidValue;
  *graph = std::exchange(found->capture, nullptr);
  if (entered == kCuSuccess) return kCuSuccess;
  // The capture ends with the error.
  delete *graph;
  *graph = nullptr;
  --state.graphs;
  return entered;
}
WEFT_SAME(cuStreamEndCapture, capture_end);

// --- Graphs --------------------------------------------------------------------------------

WEFT_EXPORT CuResult cuGraphCreate(CuGraph* graph, unsigned flags) {
  WEFT_ENTER("cuGraphCreate");
  if (flags != 0) return kCuInvalidValue;
  *graph = new CuGraphRecord;
  ++state.graphs;
  return kCuSuccess;
}
WEFT_SAME(cuGraphCreate, graph_create);

// Freed after an error of a kernel all the same, so that tests can look for leaks.
WEFT_EXPORT CuResult cuGraphDestroy(CuGraph graph) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuGraphDestroy");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  if (graph == nullptr) return kCuInvalidValue;
  state.forgets.clear();
  delete graph;
  --state.graphs;
  return entered;
}
WEFT_SAME(cuGraphDestroy, graph_destroy);

WEFT_EXPORT CuResult cuGraphAddKernelNode_v2(CuGraphNode* added, CuGraph graph,
                                             const CuGraphNode* after, size_t count,
                                             const CuKernelNode* kernel) {
  WEFT_ENTER("cuGraphAddKernelNode_v2");
  Node node;
  const CuResult made = emulate::MakeKernelTask(state, *kernel, &node.task);
  if (made != kCuSuccess) return made;
  state.TakeForgets(&node.task);
  return Add(graph, after, count, std::move(node), added);
}
WEFT_SAME(cuGraphAddKernelNode_v2, graph_add_kernel);

WEFT_EXPORT CuResult cuGraphAddMemsetNode(CuGraphNode* added, CuGraph graph,
                                          const CuGraphNode* after, size_t count,
                                          const CuFillNode* fill, CuContext) {
  WEFT_ENTER("cuGraphAddMemsetNode");
  if (fill->element_bytes != 1 || fill->height != 1) return kCuInvalidValue;
  Node node;
  node.kind = NodeKind::kFill;
  const CuResult made = emulate::MakeFillTask(
      state, fill->to, static_cast<unsigned char>(fill->value), fill->width, &node.task);
  if (made != kCuSuccess) return made;
  state.TakeForgets(&node.task);
  return Add(graph, after, count, std::move(node), added);
}
WEFT_SAME(cuGraphAddMemsetNode, graph_add_fill);

WEFT_EXPORT CuResult cuGraphAddMemcpyNode(CuGraphNode* added, CuGraph graph,
                                          const CuGraphNode* after, size_t count,
                                          const CuCopyNode* copy, CuContext) {
  WEFT_ENTER("cuGraphAddMemcpyNode");
  const bool within = copy->from.type == kCuDeviceMemory && copy->to.type == kCuDeviceMemory;
  if (!within || copy->height != 1 || copy->depth != 1) return kCuInvalidValue;
  Node node;
  node.kind = NodeKind::kCopy;
  const CuResult made = emulate::MakeCopyTask(state, copy->to.device, copy->from.device,
                                              copy->width_bytes, &node.task);
  if (made != kCuSuccess) return made;
  state.TakeForgets(&node.task);
  return Add(graph, after, count, std::move(node), added);
}
WEFT_SAME(cuGraphAddMemcpyNode, graph_add_copy);

WEFT_EXPORT CuResult cuGraphAddChildGraphNode(CuGraphNode* added, CuGraph graph,
                                              const CuGraphNode* after, size_t count,
                                              CuGraph child) {
  WEFT_ENTER("cuGraphAddChildGraphNode");
  if (child == nullptr || child == graph) return kCuInvalidValue;
  Node node;
  node.kind = NodeKind::kChild;
  node.task.name = "a graph";
  for (const Node& inner : child->nodes) {
    std::copy(inner.task.accesses.begin(), inner.task.accesses.end(),
              std::back_inserter(node.task.accesses));
  }
  node.child = std::make_shared<const std::vector<Node>>(child->nodes);
  return Add(graph, after, count, std::move(node), added);
}
WEFT_SAME(cuGraphAddChildGraphNode, graph_add_child);

// --- Executable graphs -----------------------------------------------------------------------

WEFT_EXPORT CuResult cuGraphInstantiateWithFlags(CuGraphExec* exec, CuGraph graph,
                                                 unsigned long long) {  // NOLINT(runtime/int)
  WEFT_ENTER("cuGraphInstantiateWithFlags");
  if (graph == nullptr) return kCuInvalidValue;
  *exec = new CuGraphExecRecord;
  SetNodes(state, *exec, graph->nodes);
  ++state.graphs;
  return kCuSuccess;
}
WEFT_SAME(cuGraphInstantiateWithFlags, graph_instantiate);

WEFT_EXPORT CuResult cuGraphExecUpdate_v2(CuGraphExec exec, CuGraph graph, CuGraphUpdate* info) {
  WEFT_ENTER("cuGraphExecUpdate_v2");
  if (exec == nullptr || graph == nullptr) return kCuInvalidValue;
  *info = {};
  if (!SameShape(*exec->nodes, graph->nodes)) {
    info->result = kTopologyChanged;
    return kCuGraphUpdateFailed;
  }
  SetNodes(state, exec, graph->nodes);
  return kCuSuccess;
}
WEFT_SAME(cuGraphExecUpdate_v2, graph_update);

WEFT_EXPORT CuResult cuGraphLaunch(CuGraphExec exec, CuStream stream) {
  WEFT_ENTER("cuGraphLaunch");
  if (exec == nullptr) return kCuInvalidValue;
  std::string fault = exec->fault;
  for (const auto& [address, number] : exec->pieces) {
    if (PieceAt(state, address) != number) fault = "the graph accesses memory that was freed";
  }
  Task task;
  task.name = "a graph";
  task.run = [&state, nodes = exec->nodes, fault] {
    if (fault.empty()) return RunNodes(state, *nodes);
    if (state.report.empty()) state.report = fault;
    return kCuLaunchFailed;
  };
  return state.Submit(stream, std::move(task));
}
WEFT_SAME(cuGraphLaunch, graph_launch);

WEFT_EXPORT CuResult cuGraphExecDestroy(CuGraphExec exec) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuGraphExecDestroy");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  if (exec == nullptr) return kCuInvalidValue;
  delete exec;
  --state.graphs;
  return entered;
}
WEFT_SAME(cuGraphExecDestroy, graph_exec_destroy);
