// ONNX element types without a Weft dtype: UINT2 and INT2.
//
// Such tensors are stored in the narrowest dtype that has all of their values: u4 and i4.
// The importer records the names of these values (Scope::narrow), so that casts and quantization
// give only valid values, and refuses operators that ONNX does not define for them. In the module
// they are tensors of the wider dtype, also when it is exported.
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
  int min, max;
};

// Null for other element types.
const NarrowType* FindNarrowType(int64_t data_type);

// Bytes of `n` packed elements.
int64_t PackedBytes(const NarrowType& type, int64_t n);
// Elements are packed from the low bits of each byte. `bytes` must hold all of them.
absl::StatusOr<HostTensor> Unpack(const NarrowType& type, const std::vector<int64_t>& dims,
                                  absl::Span<const uint8_t> bytes, int64_t max_bytes);

// Casts `x`, of any real dtype, as ONNX does: the low bits are kept.
Value* CastToNarrow(NodeContext& c, Value* x, const NarrowType& type);
// The same, but clamped.
Value* ClampToNarrow(NodeContext& c, Value* x, const NarrowType& type);

// Support of these types by operators.
enum class NarrowUse {
  kNone,   // The operator does not support them.
  kReads,  // Its import function sets the types of outputs.
  kMoves,  // Output 0 has the type of input 0.
};
NarrowUse NarrowUseOf(absl::string_view op_type);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_NARROW_TYPES_H_
