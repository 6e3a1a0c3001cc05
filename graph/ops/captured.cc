#include "graph/ops/captured.h"

#include "graph/ops/ops.h"

namespace weft::ops {

int CapturedOperand(const Node& node, int input) {
  if (node.Is(cond)) return input + 1;
  if (!node.Is(loop) && !node.Is(scan)) return -1;
  // Inputs of the body are numbered as operands are: the iteration and the condition
  // stand for the two operands before the carried ones.
  int64_t first = node.attrs().Int("num_carried");
  first += node.Is(loop) ? 2 : node.attrs().Int("num_scanned");
  return input < first ? -1 : input;
}

int FirstOperandSeen(const Node& node) { return node.Is(cond) || node.Is(loop) ? 1 : 0; }

}  // namespace weft::ops
