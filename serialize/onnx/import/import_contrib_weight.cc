// com.microsoft operators that read rows of packed weights, as ONNX Runtime documents them:
// GatherBlockQuantized, and MatMulBnb4, whose 4-bit codes stand in a table.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

// --- GatherBlockQuantized -----------------------------------------------------

struct Rows {
  int gather_axis = 0;
  int quantize_axis = 0;
  int64_t block_size = 0;
  int64_t bits = 8;  // Of elements that are packed into u8; 8: not packed.
};

absl::StatusOr<Rows> ReadRows(NodeContext& c) {
  Rows r;
  WEFT_ASSIGN_OR_RETURN(r.gather_axis, c.Axis(c.Int("gather_axis", 0), c.rank(0)));
  WEFT_ASSIGN_OR_RETURN(r.quantize_axis, c.Axis(c.Int("quantize_axis", 1), c.rank(0)));
  r.block_size = c.Int("block_size", 128);
  const int64_t bits = c.Int("bits", 4);
  const DType dtype = c.dtype(0);
  WEFT_RETURN_IF_ERROR(c.status());
  if (r.block_size < 1 || r.block_size > kMaxSize) {
    return c.Fail(absl::StrCat("block_size must be positive, got ", r.block_size));
  }
  if (c.rank(2) != c.rank(0) || (c.has_input(3) && c.rank(3) != c.rank(0))) {
    return c.Fail("scales and zero_points must have the rank of data");
  }
  if (r.gather_axis == r.quantize_axis) return c.Unsupported("blocks along the gathered axis");
  if (dtype != DType::kU8) return r;
  if (bits != 4 && bits != 8) {
    return c.Unsupported(absl::StrCat("bits must be 4 or 8, got ", bits));
  }
  r.bits = bits;
  if (bits == 4 && r.quantize_axis != c.rank(0) - 1) {
    return c.Unsupported("elements of 4 bits that are not packed along the last axis");
  }
  return r;
}

// The gathered slices of input `i`, unpacked along the last axis where that is packed.
Value* Gathered(NodeContext& c, const Rows& r, int i, bool packed) {
  Value* v = c.Op(ops::index_select, {c.in(i), c.in(1)}, {{"dim", r.gather_axis}});
  if (!packed || r.bits == 8 || v == nullptr) return v;
  std::vector<SymInt> dims = Dims(v);
  const SymInt bytes = dims.back();
  dims.back() = bytes * (8 / r.bits);
  v = Reshape(c, v, {Product(absl::MakeConstSpan(dims).first(dims.size() - 1)), bytes});
  return Reshape(c, UnpackBits(c, v, r.bits), dims);
}

// Rows are gathered before they are dequantized.
absl::Status GatherBlockQuantized(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Rows r, ReadRows(c));
  const DType dtype = c.dtype(0);
  Value* q = Gathered(c, r, 0, true);
  Value* scale = Gathered(c, r, 2, false);
  Value* zero = nullptr;
  if (c.has_input(3)) {
    zero = Gathered(c, r, 3, true);
    WEFT_RETURN_IF_ERROR(c.status());
    // An odd number of blocks leaves half a byte.
    const int last = zero->type().rank() - 1;
    if (r.bits == 4) zero = Slice(c, zero, last, 0, scale->type().dim(last));
  } else if (dtype == DType::kU8) {
    zero = Expand(c, ScalarOf(c, dtype, static_cast<double>(1 << (r.bits - 1))), Dims(scale));
  }
  const int moved = r.quantize_axis > r.gather_axis ? c.rank(1) - 1 : 0;
  c.SetOutput(0, ops::BuildDequantizeLinear(c, q, scale, zero, c.dtype(2), r.quantize_axis + moved,
                                            r.block_size));
  return c.status();
}

// --- MatMulBnb4 ---------------------------------------------------------------

// What the codes of bitsandbytes' FP4 and NF4 stand for, as shares of a block's largest magnitude.
constexpr double kFp4[] = {
    0, 0.0052083333,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
    0, -0.0052083333, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
constexpr double kNf4[] = {-1,
                           -0.6961928009986877,
                           -0.5250730514526367,
                           -0.39491748809814453,
                           -0.28444138169288635,
                           -0.18477343022823334,
                           -0.09105003625154495,
                           0,
                           0.07958029955625534,
                           0.16093020141124725,
                           0.24611230194568634,
                           0.33791524171829224,
                           0.44070982933044434,
                           0.5626170039176941,
                           0.7229568362236023,
                           1};

struct CodeBook {
  int64_t k = 0;
  int64_t n = 0;
  int64_t block_size = 0;
  bool normal = true;  // NF4, else FP4.
};

absl::StatusOr<CodeBook> ReadCodeBook(NodeContext& c) {
  CodeBook book;
  book.k = c.RequiredInt("K");
  book.n = c.RequiredInt("N");
  book.block_size = c.RequiredInt("block_size");
  const int64_t type = c.RequiredInt("quant_type");
  c.Ignore({"training_mode"});
  WEFT_RETURN_IF_ERROR(c.status());
  if (c.Int("transB", 1) != 1) return c.Unsupported("transB = 0 is not supported");
  if (type != 0 && type != 1) return c.Fail(absl::StrCat("quant_type is 0 or 1, got ", type));
  book.normal = type == 1;
  if (book.k < 1 || book.k > kMaxSize || book.n < 1 || book.n > kMaxSize) {
    return c.Fail(absl::StrCat("K and N must be sizes, got ", book.k, " and ", book.n));
  }
  if (book.block_size < 1 || book.block_size > kMaxSize) {
    return c.Fail(absl::StrCat("block_size must be positive, got ", book.block_size));
  }
  return book;
}

// Codes of four bits, the high ones of a byte first, in rows of [N, K]; a scale for each block of
// the flattened weights.
absl::Status MatMulBnb4(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const CodeBook book, ReadCodeBook(c));
  const DType dtype = c.dtype(0);
  const int64_t numel = book.k * book.n;
  const int64_t blocks = (numel + book.block_size - 1) / book.block_size;
  Value* bytes = Reshape(c, c.in(1), {SymInt((numel + 1) / 2), SymInt(1)});
  Value* high = WithScalar(c, ops::bitwise_right_shift, bytes, 4);
  Value* low = WithScalar(c, ops::bitwise_and, bytes, 15);
  WEFT_RETURN_IF_ERROR(c.status());
  Value* codes = Reshape(c, ops::BuildCat(c, std::vector<Value*>{high, low}, 1),
                         {SymInt((numel + 1) / 2 * 2)});
  codes = Convert(c, Slice(c, codes, 0, 0, numel), DType::kI64);
  const absl::Span<const double> values = book.normal ? kNf4 : kFp4;
  Value* table = c.b().Constant(HostTensor::FromDoubles(dtype, {16}, values));
  Value* share = c.Op(ops::index_select, {table, codes}, {{"dim", 0}});
  // The scale of each element.
  Value* scale = Reshape(c, c.in(2), {SymInt(blocks), SymInt(1)});
  scale = Expand(c, scale, {SymInt(blocks), SymInt(book.block_size)});
  scale = Slice(c, Reshape(c, scale, {SymInt(blocks * book.block_size)}), 0, 0, numel);
  Value* w = c.Op(ops::mul, {share, Convert(c, scale, dtype)});
  w = Permute(c, Reshape(c, w, {SymInt(book.n), SymInt(book.k)}), {1, 0});
  c.SetOutput(0, c.Op(ops::matmul, {c.in(0), w}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"GatherBlockQuantized", {1}, GatherBlockQuantized, "com.microsoft"},
    {"MatMulBnb4", {1}, MatMulBnb4, "com.microsoft"},
};

}  // namespace

absl::Span<const OnnxOp> ContribWeightTable() { return kTable; }

}  // namespace weft::onnx_import
