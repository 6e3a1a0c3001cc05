// Graphs of the emulated driver.
//
// The nodes of a graph run in any order that its edges allow, which the seed determines. A graph is
// refused when it is launched if two nodes access the same memory, one of them to write, and
// neither has to wait for the other, or if a node accesses memory that was freed since.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_GRAPHS_H_
#define WEFT_BACKENDS_CUDA_EMULATE_GRAPHS_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/emulate/state.h"

namespace weft::cuda::emulate {

enum class NodeKind { kKernel, kFill, kCopy, kChild };

struct Node {
  NodeKind kind = NodeKind::kKernel;
  Task task;
  std::vector<size_t> after;                       // Numbers of nodes before it.
  std::shared_ptr<const std::vector<Node>> child;  // Instead of `run`.
};

// "" or what is wrong with the order of the nodes.
std::string FindRace(const std::vector<Node>& nodes);

// Adds the next work of a stream.
void AddCaptured(CuGraph graph, Task task);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_GRAPHS_H_
