// Values of a graph with writes, as places in memory.
//
// A cell is the memory of a value that is not a view. Every value is a cell and the positions of
// its elements in it. A view has its operand's cell, and its positions are found by applying the
// view op to its operand's positions, so any view of any view is exact. A write replaces the tensor
// of the cell; readers that hold the old tensor keep it.
#ifndef WEFT_BACKENDS_REFERENCE_MEMORY_H_
#define WEFT_BACKENDS_REFERENCE_MEMORY_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"

namespace weft {
class AttrList;
}  // namespace weft

namespace weft::reference {

class Memory {
 public:
  explicit Memory(const Graph& graph) : places_(graph.value_id_limit()) {}

  // Gives `value` a new cell.
  void Define(const Value* value, HostTensor tensor);
  // Defines `value` as a view of `viewed`; `attrs` are those of its op.
  absl::Status DefineView(const Value* value, const Value* viewed, const AttrList* attrs);
  // Defines `value` as the same place as `other`.
  void DefineAlias(const Value* value, const Value* other) {
    places_[value->id()] = places_[other->id()];
  }
  void Drop(const Value* value) { places_[value->id()] = Place(); }

  absl::StatusOr<HostTensor> Read(const Value* value) const;
  // Fails if two elements of the value are at one position.
  absl::Status Write(const Value* value, const HostTensor& tensor);
  // True if both values are defined and share a cell.
  bool Share(const Value* a, const Value* b) const {
    return places_[a->id()].cell != nullptr && places_[a->id()].cell == places_[b->id()].cell;
  }
  // The present content of the cell of `value`, which must not be a view; invalid if it was never
  // written.
  HostTensor Written(const Value* value) const;

 private:
  struct Cell {
    HostTensor tensor;
    bool written = false;
  };
  struct Place {
    std::shared_ptr<Cell> cell;
    HostTensor positions;  // i64 with the value's dims; invalid: the whole cell.
    DType dtype = DType::kF32;
  };

  std::vector<Place> places_;  // By value id.
};

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_MEMORY_H_
