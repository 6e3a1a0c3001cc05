#include "backends/cuda/emulate/graphs.h"

#include <utility>

namespace weft::cuda::emulate {
namespace {

bool Conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  for (const Access& x : a) {
    for (const Access& y : b) {
      if ((x.written || y.written) && x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

}  // namespace

std::string FindRace(const std::vector<Node>& nodes) {
  std::vector<std::vector<bool>> before(nodes.size());  // By node: those that it waits for.
  for (size_t n = 0; n < nodes.size(); ++n) {
    before[n].resize(n);
    for (const size_t direct : nodes[n].after) {
      before[n][direct] = true;
      for (size_t m = 0; m < direct; ++m) before[n][m] = before[n][m] || before[direct][m];
    }
    for (size_t m = 0; m < n; ++m) {
      if (before[n][m] || !Conflict(nodes[m].task.accesses, nodes[n].task.accesses)) continue;
      return "the graph has no order between node " + std::to_string(m) + " (" +
             nodes[m].task.name + ") and node " + std::to_string(n) + " (" + nodes[n].task.name +
             "), which access the same memory";
    }
  }
  return "";
}

}  // namespace weft::cuda::emulate
