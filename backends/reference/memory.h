// Values of a graph that writes, as what they are: places in memory.
//
// A cell is the memory of a value that owns some. Every value is a cell and the
// positions in it where its elements lie; a view has its operand's cell and the
// positions that the view op itself picks from its operand's positions, so that
// any view of any view is exact. A cell's tensor is never written over: a write
// gives the cell another one, and who has the old one keeps it.
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

  // In a cell of its own.
  void Define(const Value* value, HostTensor tensor);
  // `value` is a view, by `op` with these attributes, of `viewed`.
  absl::Status DefineView(const Value* value, const Value* viewed, const AttrList* attrs);
  // `value` is where `other` is.
  void DefineAlias(const Value* value, const Value* other) {
    places_[value->id()] = places_[other->id()];
  }
  void Drop(const Value* value) { places_[value->id()] = Place(); }

  absl::StatusOr<HostTensor> Read(const Value* value) const;
  // An error when two elements of the value lie in one place.
  absl::Status Write(const Value* value, const HostTensor& tensor);
  // True when both are defined and in one cell.
  bool Share(const Value* a, const Value* b) const {
    return places_[a->id()].cell != nullptr && places_[a->id()].cell == places_[b->id()].cell;
  }
  // What is in the cell that `value`, which owns it, has; nothing when it was
  // never written.
  HostTensor Written(const Value* value) const;

 private:
  struct Cell {
    HostTensor tensor;
    bool written = false;
  };
  struct Place {
    std::shared_ptr<Cell> cell;
    HostTensor positions;  // i64, of the value's dims; invalid: the whole cell.
    DType dtype = DType::kF32;
  };

  std::vector<Place> places_;  // By value id.
};

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_MEMORY_H_
