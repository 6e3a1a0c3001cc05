// Element types of ONNX that have no dtype of their own: FLOAT4E2M1, UINT2 and INT2.
//
// Tensors of them are held in the narrowest dtype that has all of their values: f8e4m3, u4 and
// i4. The importer remembers by name which values these are (Scope::narrow), so that casts and
// quantization to them give no other values, and refuses operators that ONNX does not define for
// them. In the module they are tensors of the wider dtype; an exported model says so too.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_NARROW_TYPES_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_NARROW_TYPES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {
class HostTensor;
class Value;
}  // namespace weft

namespace weft::onnx_import {

class NodeContext;

struct NarrowType {
  int data_type;  // TensorProto.DataType.
  int bits;
  DType held;
  // Range of the values.
  double min, max;
};

// Null for other element types.
const NarrowType* FindNarrowType(int64_t data_type);

// Bytes that `n` packed elements take.
int64_t PackedBytes(const NarrowType& type, int64_t n);
// Elements are packed from the low bits of each byte on. `bytes` holds all of them.
absl::StatusOr<HostTensor> Unpack(const NarrowType& type, const std::vector<int64_t>& dims,
                                  absl::Span<const uint8_t> bytes, int64_t max_bytes);

// `x`, a number of any dtype but complex, as ONNX casts it: integers keep the low bits, FLOAT4E2M1
// rounds to nearest even and saturates.
Value* CastToNarrow(NodeContext& c, Value* x, const NarrowType& type);
// The same for integers that are clamped instead.
Value* ClampToNarrow(NodeContext& c, Value* x, const NarrowType& type);

// How operators use inputs of these types.
enum class NarrowUse {
  kNone,   // The operator does not take them.
  kReads,  // Its import function says what the outputs are.
  kMoves,  // Output 0 has the type of input 0.
};
NarrowUse NarrowUseOf(absl::string_view op_type);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_NARROW_TYPES_H_
