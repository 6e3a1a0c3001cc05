// Tensors of integers, and inputs that become constants, for tests of integer matmuls.
#ifndef WEFT_TESTS_BACKENDS_CPU_BYTE_PRODUCTS_H_
#define WEFT_TESTS_BACKENDS_CPU_BYTE_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {

// Pseudo-random integers from `low` to `high`, both among them.
inline HostTensor Integers(DType dtype, std::vector<int64_t> dims, int low, int high,
                           uint32_t seed) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (double& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = low + static_cast<int>((seed >> 8) % static_cast<uint32_t>(high - low + 1));
  }
  if (values.size() > 1) {
    values[0] = low;
    values[1] = high;
  }
  t.WriteDoubles(values);
  return t;
}

// The users of the input read a constant from now on.
inline void MakeConstant(Graph& main, int input, const HostTensor& value) {
  const int64_t id = main.module().constants().Add(value);
  Node* constant = main.CreateNode(ops::constant, {}, AttrList::Get({AttrValue(id)}),
                                   {value.type()}, main.first_node());
  main.input(input)->ReplaceAllUsesWith(constant->result());
}

}  // namespace weft

#endif  // WEFT_TESTS_BACKENDS_CPU_BYTE_PRODUCTS_H_
