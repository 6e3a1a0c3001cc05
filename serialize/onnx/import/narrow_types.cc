#include "serialize/onnx/import/narrow_types.h"

#include "base/status_macros.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// TensorProto.DataType values newer than Debian's onnx.proto.
constexpr int kUInt2 = 25;
constexpr int kInt2 = 26;

constexpr NarrowType kNarrowTypes[] = {
    {kUInt2, 2, DType::kU4, 0, 3},
    {kInt2, 2, DType::kI4, -2, 1},
};

uint8_t HeldBits(const NarrowType& type, uint8_t code) {
  const bool negative = type.data_type == kInt2 && (code & 2) != 0;
  return negative ? code | 0xc : code;
}

Value* Binary(NodeContext& c, const OpDef& op, Value* x, double number) {
  return WithScalar(c, op, x, number);
}

}  // namespace

const NarrowType* FindNarrowType(int64_t data_type) {
  for (const NarrowType& type : kNarrowTypes) {
    if (type.data_type == data_type) return &type;
  }
  return nullptr;
}

int64_t PackedBytes(const NarrowType& type, int64_t n) {
  const int64_t per_byte = 8 / type.bits;
  return n / per_byte + (n % per_byte != 0);
}

absl::StatusOr<HostTensor> Unpack(const NarrowType& type, const std::vector<int64_t>& dims,
                                  absl::Span<const uint8_t> bytes, int64_t max_bytes) {
  WEFT_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Allocate(type.held, dims, max_bytes));
  const int per_byte = 8 / type.bits;
  const int held_bits = DTypeBits(type.held);
  const int held_per_byte = 8 / held_bits;
  const int64_t n = t.numel();
  for (int64_t i = 0; i < n; ++i) {
    const int shift = static_cast<int>(i % per_byte) * type.bits;
    const auto code = static_cast<uint8_t>(bytes[i / per_byte] >> shift & ((1 << type.bits) - 1));
    const auto bits = static_cast<uint8_t>(HeldBits(type, code)
                                           << static_cast<int>(i % held_per_byte) * held_bits);
    uint8_t& to = t.raw()[i / held_per_byte];
    to = i % held_per_byte == 0 ? bits : to | bits;
  }
  return t;
}

Value* CastToNarrow(NodeContext& c, Value* x, const NarrowType& type) {
  if (x == nullptr) return nullptr;
  constexpr double kLowBits = 3;
  // Relative to the least value, the low bits have no sign.
  x = Binary(c, ops::sub, Convert(c, x, DType::kI32), type.min);
  x = Binary(c, ops::bitwise_and, x, kLowBits);
  return Convert(c, Binary(c, ops::add, x, type.min), type.held);
}

Value* ClampToNarrow(NodeContext& c, Value* x, const NarrowType& type) {
  const DType wide = DType::kI32;
  x = c.Op(ops::clamp,
           {Convert(c, x, wide), ScalarOf(c, wide, type.min), ScalarOf(c, wide, type.max)});
  return Convert(c, x, type.held);
}

NarrowUse NarrowUseOf(absl::string_view op_type) {
  for (absl::string_view mover :
       {"Flatten", "Identity", "Pad", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}) {
    if (op_type == mover) return NarrowUse::kMoves;
  }
  for (absl::string_view reader :
       {"Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"}) {
    if (op_type == reader) return NarrowUse::kReads;
  }
  return NarrowUse::kNone;
}

}  // namespace weft::onnx_import
