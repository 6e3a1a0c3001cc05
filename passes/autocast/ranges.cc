#include "passes/autocast/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/support/region.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Steps from a value to the constant that it shows. Longer chains are left to fold_constants.
constexpr int kMaxSteps = 16;

// The number as `dtype` holds it.
double Rounded(DType dtype, double number) { return HostTensor::Scalar(dtype, number).DoubleAt(0); }

float LargestOf(const HostTensor& tensor) {
  const HostTensor dense = tensor.Contiguous();
  float largest = 0;
  for (const float number : absl::Span<const float>(dense.data<float>(), dense.numel())) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

// Below it, a number has fewer bits.
double SmallestNormal(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-14 : std::numeric_limits<float>::min();
}

// The upper half of the bits, rounded to even; NaN stays one.
uint16_t ToBF16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  if (std::isnan(number)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

const HostTensor* InitialOf(const Value* input) {
  const Graph& graph = *input->graph();
  const int initial = graph.input_info(input->index()).initial;
  const std::vector<int>& writes = graph.write_backs();
  if (initial < 0 || std::find(writes.begin(), writes.end(), input->index()) != writes.end()) {
    return nullptr;
  }
  return &graph.module().constants().tensor(initial);
}

}  // namespace

KnownValues::KnownValues(const Module& module, DType low) : low_(low) {
  for (const Graph* graph : module.AllGraphs()) {
    for (Node* node : graph->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) owners_[node->region(r)] = node;
    }
  }
}

Node* KnownValues::OwnerOf(const Graph* graph) const {
  const auto owner = owners_.find(graph);
  return owner == owners_.end() ? nullptr : owner->second;
}

const HostTensor* KnownValues::Find(const Value* value) const {
  for (int step = 0; step < kMaxSteps && value != nullptr; ++step) {
    if (value->is_input()) {
      const Node* owner = OwnerOf(value->graph());
      if (owner == nullptr) return InitialOf(value);
      const int operand = ops::CapturedOperand(*owner, value->index());
      if (operand < 0 || !owner->has_operand(operand)) return nullptr;
      value = owner->operand(operand);
      continue;
    }
    if (const HostTensor* literal = LiteralOf(value)) return literal;
    const Node& node = *value->node();
    const bool moves = node.op().has(kDataMovement) && node.num_operands() == 1;
    value = moves ? node.operand(0) : nullptr;
  }
  return nullptr;
}

KnownValues::Range KnownValues::RangeOf(const Value* value) {
  const HostTensor* tensor = Find(value);
  if (tensor == nullptr || tensor->dtype() != DType::kF32) return {};
  const auto [at, is_new] = ranges_.try_emplace(tensor);
  if (is_new) {
    const float largest = LargestOf(*tensor);
    at->second.overflows = !std::isfinite(Rounded(low_, largest));
    at->second.vanishes = largest > 0 && largest < SmallestNormal(low_);
  }
  return at->second;
}

bool KnownValues::Overflows(const Value* value) { return RangeOf(value).overflows; }

bool KnownValues::Fits(const Value* value) {
  const Range range = RangeOf(value);
  return !range.overflows && !range.vanishes;
}

HostTensor Narrowed(const HostTensor& tensor, DType low) {
  HostTensor narrow(low, tensor.dims());
  if (low != DType::kBF16) {
    narrow.WriteDoubles(tensor.ReadDoubles());
    return narrow;
  }
  const HostTensor dense = tensor.Contiguous();
  std::transform(dense.data<float>(), dense.data<float>() + dense.numel(), narrow.data<uint16_t>(),
                 ToBF16);
  return narrow;
}

}  // namespace weft
