// Which values are known when a program is compiled, and whether a narrow float dtype holds them.
#ifndef WEFT_PASSES_AUTOCAST_RANGES_H_
#define WEFT_PASSES_AUTOCAST_RANGES_H_

#include "absl/container/flat_hash_map.h"
#include "graph/tensor/dtype.h"

namespace weft {

class Graph;
class HostTensor;
class Module;
class Node;
class Value;

class KnownValues {
 public:
  KnownValues(const Module& module, DType low);

  // The tensor whose elements the value has: the literal of a constant, or the initial value of an
  // input that the program does not write, behind ops that move elements and captures of nested
  // graphs. Null for other values.
  const HostTensor* Find(const Value* value) const;
  // Whether an element of a known value becomes infinite in the low dtype. False for other values.
  // Each tensor is read once.
  bool Overflows(const Value* value);
  // Whether a known value neither overflows nor has only elements so small that the low dtype loses
  // bits of all of them. True for other values.
  bool Fits(const Value* value);

  // The node that holds a nested graph; null for others.
  Node* OwnerOf(const Graph* graph) const;

 private:
  struct Range {
    bool overflows = false;
    bool vanishes = false;
  };
  Range RangeOf(const Value* value);

  DType low_;
  absl::flat_hash_map<const Graph*, Node*> owners_;
  absl::flat_hash_map<const HostTensor*, Range> ranges_;
};

// The f32 tensor in the low dtype, each element rounded to the nearest number.
HostTensor Narrowed(const HostTensor& tensor, DType low);

}  // namespace weft

#endif  // WEFT_PASSES_AUTOCAST_RANGES_H_
