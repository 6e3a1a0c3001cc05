#include "backends/reference/memory.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/node.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/eval.h"

namespace weft::reference {
namespace {

HostTensor Iota(absl::Span<const int64_t> dims, int64_t numel) {
  std::vector<int64_t> numbers(numel);
  std::iota(numbers.begin(), numbers.end(), 0);
  return HostTensor::FromInts(DType::kI64, dims, numbers);
}

absl::StatusOr<HostTensor> WithDType(const HostTensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> cast,
                        Evaluate(ops::bitcast, AttrList::Get({AttrValue(dtype)}), {tensor}));
  return cast[0];
}

}  // namespace

void Memory::Define(const Value* value, HostTensor tensor) {
  Place place;
  place.dtype = tensor.dtype();
  place.cell = std::make_shared<Cell>();
  place.cell->tensor = std::move(tensor);
  places_[value->id()] = std::move(place);
}

absl::Status Memory::DefineView(const Value* value, const Value* viewed, const AttrList* attrs) {
  Place place = places_[viewed->id()];
  place.dtype = value->type().dtype();
  const Node& node = *value->node();
  // A bitcast keeps all positions; other views select some.
  if (!node.Is(ops::bitcast)) {
    const HostTensor& all = place.cell->tensor;
    if (!place.positions.valid()) place.positions = Iota(all.dims(), all.numel());
    WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> picked,
                          Evaluate(node.op(), attrs, {place.positions}));
    place.positions = std::move(picked[value->index()]);
  }
  places_[value->id()] = std::move(place);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> Memory::Read(const Value* value) const {
  const Place& place = places_[value->id()];
  if (!place.positions.valid()) {
    return WithDType(place.cell->tensor, place.dtype);
  }
  HostTensor tensor(place.cell->tensor.dtype(), place.positions.dims());
  ops::Gather(place.cell->tensor, place.positions.ReadInts(), &tensor);
  return WithDType(tensor, place.dtype);
}

absl::Status Memory::Write(const Value* value, const HostTensor& tensor) {
  Place& place = places_[value->id()];
  Cell& cell = *place.cell;
  cell.written = true;
  WEFT_ASSIGN_OR_RETURN(const HostTensor stored, WithDType(tensor, cell.tensor.dtype()));
  if (!place.positions.valid()) {
    cell.tensor = stored;
    return absl::OkStatus();
  }
  const std::vector<int64_t> positions = place.positions.ReadInts();
  std::vector<bool> taken(cell.tensor.numel());
  for (int64_t position : positions) {
    if (taken[position]) {
      return absl::InvalidArgumentError("it writes a view that shows an element more than once");
    }
    taken[position] = true;
  }
  HostTensor next(cell.tensor.dtype(), cell.tensor.dims());
  ops::Gather(cell.tensor, Iota(next.dims(), next.numel()).ReadInts(), &next);
  ops::Scatter(stored, positions, &next);
  cell.tensor = std::move(next);
  return absl::OkStatus();
}

HostTensor Memory::Written(const Value* value) const {
  const Place& place = places_[value->id()];
  if (place.cell == nullptr || !place.cell->written) return HostTensor();
  return place.cell->tensor;
}

}  // namespace weft::reference
