// com.microsoft MatMulNBits: a matmul with packed integer weights, as ONNX Runtime documents it. It
// becomes matmul_nbits where that has its bits and zero points; else unpacking, dequantize_linear
// by blocks, and matmul.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

struct Packing {
  int64_t bits = 4;
  int64_t block_size = 0;
  int64_t k = 0;  // Length of a row of weights.
  int64_t n = 0;  // Number of rows.
  int64_t blocks = 0;
  int64_t bytes = 0;  // Bytes of a block.
};

absl::StatusOr<Packing> ReadPacking(NodeContext& c) {
  Packing p;
  p.bits = c.Int("bits", 4);
  p.block_size = c.RequiredInt("block_size");
  p.k = c.RequiredInt("K");
  p.n = c.RequiredInt("N");
  WEFT_RETURN_IF_ERROR(c.status());
  if (p.bits != 2 && p.bits != 4 && p.bits != 8) {
    return c.Unsupported(absl::StrCat("bits must be 2, 4 or 8, got ", p.bits));
  }
  if (p.block_size < 16 || p.block_size > kMaxSize || (p.block_size & (p.block_size - 1)) != 0) {
    return c.Fail(
        absl::StrCat("block_size must be a power of two of at least 16, got ", p.block_size));
  }
  if (p.k < 1 || p.k > kMaxSize || p.n < 1 || p.n > kMaxSize) {
    return c.Fail(absl::StrCat("K and N must be sizes, got ", p.k, " and ", p.n));
  }
  p.blocks = (p.k + p.block_size - 1) / p.block_size;
  p.bytes = p.block_size * p.bits / 8;
  return p;
}

// The zero points as packed integers, u8[N, blocks]; the middle without any.
Value* PackedZeroPoints(NodeContext& c, const Packing& p) {
  if (!c.has_input(3)) {
    Value* middle = ScalarOf(c, DType::kU8, static_cast<double>(1 << (p.bits - 1)));
    return Expand(c, middle, {SymInt(p.n), SymInt(p.blocks)});
  }
  const int64_t bytes = (p.blocks * p.bits + 7) / 8;
  Value* v = Reshape(c, c.in(3), {SymInt(p.n), SymInt(bytes)});
  return Slice(c, UnpackBits(c, v, p.bits), 1, 0, p.blocks);
}

// (quantized - zero point) * scale, [N, K], in the dtype of A.
Value* Weights(NodeContext& c, const Packing& p) {
  const DType dtype = c.dtype(0);
  Value* v = Reshape(c, c.in(1), {SymInt(p.n), SymInt(p.blocks * p.bytes)});
  v = UnpackBits(c, v, p.bits);
  const SymInt n = p.n;
  Value* scale = Reshape(c, c.in(2), {n, SymInt(p.blocks)});
  if (c.has_input(3) && IsFloat(c.dtype(3))) {
    const std::vector<SymInt> per_block = {n, SymInt(p.blocks), SymInt(1)};
    v = Reshape(c, v, {n, SymInt(p.blocks), SymInt(p.block_size)});
    v = c.Op(ops::sub, {Convert(c, v, dtype), Reshape(c, Convert(c, c.in(3), dtype), per_block)});
    v = c.Op(ops::mul, {v, Reshape(c, Convert(c, scale, dtype), per_block)});
    v = Reshape(c, v, {n, SymInt(p.blocks * p.block_size)});
  } else {
    v = ops::BuildDequantizeLinear(c, v, scale, PackedZeroPoints(c, p), dtype, 1, p.block_size);
  }
  return Slice(c, v, 1, 0, p.k);
}

bool IsFloatOfNbits(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// matmul_nbits packs weights and integer zero points alike, and takes float ones of scale's dtype.
bool IsNbits(NodeContext& c, const Packing& p) {
  return p.bits != 2 && IsFloatOfNbits(c.dtype(0)) && IsFloatOfNbits(c.dtype(2)) &&
         (!c.has_input(3) || c.dtype(3) == DType::kU8 || c.dtype(3) == c.dtype(2)) &&
         (!c.has_input(5) || c.rank(5) == 1);
}

absl::Status Packed(NodeContext& c, const Packing& p) {
  const SymInt n = p.n;
  Value* w = Reshape(c, c.in(1), {n, SymInt(p.blocks), SymInt(p.bytes)});
  Value* scale = Reshape(c, c.in(2), {n, SymInt(p.blocks)});
  Value* zero = nullptr;
  if (c.has_input(3)) {
    const bool floats = IsFloat(c.dtype(3));
    zero = Reshape(c, c.in(3), {n, SymInt(floats ? p.blocks : (p.blocks * p.bits + 7) / 8)});
  }
  Value* bias = c.has_input(5) ? c.in(5) : nullptr;
  WEFT_RETURN_IF_ERROR(c.status());
  c.SetOutput(0, ops::BuildMatmulNbits(c, c.in(0), w, scale, zero, bias, p.block_size, p.bits));
  return c.status();
}

absl::Status MatMulNBits(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Packing p, ReadPacking(c));
  // The least accuracy that the matmul must have.
  c.Ignore({"accuracy_level"});
  if (c.Int("weight_prepacked", 0) != 0) {
    return c.Unsupported("weights in a layout of ONNX Runtime's own");
  }
  if (c.has_input(4)) return c.Unsupported("g_idx is deprecated");
  const DType packed = c.dtype(1);
  WEFT_RETURN_IF_ERROR(c.status());
  if (packed != DType::kU8) {
    return c.Unsupported(absl::StrCat("weights packed into ", DTypeName(packed)));
  }
  const bool packs = IsNbits(c, p);
  WEFT_RETURN_IF_ERROR(c.status());
  if (packs) return Packed(c, p);
  Value* w = Weights(c, p);
  WEFT_RETURN_IF_ERROR(c.status());
  Value* y = c.Op(ops::matmul, {c.in(0), Permute(c, w, {1, 0})});
  if (c.has_input(5)) y = c.Op(ops::add, {y, c.in(5)});
  c.SetOutput(0, y);
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"MatMulNBits", {1}, MatMulNBits, "com.microsoft"},
};

}  // namespace

absl::Span<const OnnxOp> ContribMatMulTable() { return kTable; }

}  // namespace weft::onnx_import
