// Shared by operators with sliding windows: convolutions and pools.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_WINDOW_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialize/onnx/import/import_context.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::onnx_import {

// An integer list attribute with `n` entries; all are `fill` if it is absent.
absl::StatusOr<std::vector<int64_t>> ListAttr(NodeContext& c, absl::string_view name, size_t n,
                                              int64_t fill);

// The list as the node has it; its entries must be positive and fit in 32 bits.
absl::StatusOr<std::vector<int64_t>> PositiveInts(NodeContext& c, absl::string_view name);

enum class AutoPad { kNotSet, kValid, kSameUpper, kSameLower };
absl::StatusOr<AutoPad> ReadAutoPad(NodeContext& c);

// Attributes strides, dilations, pads and auto_pad, for the spatial dims.
struct Window {
  std::vector<SymInt> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  // All begins, followed by all ends. Symbolic if auto_pad is SAME and the sizes are symbolic.
  std::vector<SymInt> padding;
  AutoPad auto_pad = AutoPad::kNotSet;
};
absl::StatusOr<Window> ReadWindow(NodeContext& c, absl::Span<const SymInt> in,
                                  std::vector<SymInt> kernel);

// The sizes of the spatial dims of [N, C, spatial...]; an error if there are none.
absl::StatusOr<std::vector<SymInt>> SpatialDims(NodeContext& c, Value* v);

// The convolution that the node's attributes describe, on values whose dtypes may differ from those
// of the node's inputs.
absl::StatusOr<Value*> Convolve(NodeContext& c, Value* x, Value* w, Value* bias);

// The average pool that the node's attributes describe, of a value with the dims of input 0.
absl::StatusOr<Value*> PoolAverage(NodeContext& c, Value* x);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_WINDOW_H_
