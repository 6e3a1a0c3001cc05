// Matmul with weights of 4 or 8 bits in groups.
#include <cstdint>
#include <vector>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

constexpr int kWeight = 1;
constexpr int kScale = 2;
constexpr int kZeroPoint = 3;
constexpr int kBias = 4;
constexpr int64_t kMaxGroup = int64_t{1} << 31;

bool IsProductFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

absl::Status CheckProductFloat(const OpArgs& args, int i) {
  if (IsProductFloat(args.type(i).dtype())) return absl::OkStatus();
  return Invalid(OperandName(args, i), " must be of f32, f16 or bf16, got ",
                 DTypeName(args.type(i).dtype()));
}

// Whether zero points are floats, which are not packed.
bool HasFloatZeroPoint(const OpArgs& args) {
  return args.has(kZeroPoint) && IsFloat(args.type(kZeroPoint).dtype());
}

absl::Status CheckZeroPoint(const OpArgs& args) {
  const bool floats = HasFloatZeroPoint(args);
  if (args.attrs().Bool("offset") && !floats) {
    return Invalid("zero_point must be of floats where it is an offset");
  }
  return CheckDType(args, kZeroPoint, floats ? args.type(kScale).dtype() : DType::kU8);
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckProductFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckDType(args, kWeight, DType::kU8));
  WEFT_RETURN_IF_ERROR(CheckProductFloat(args, kScale));
  WEFT_RETURN_IF_ERROR(CheckZeroPoint(args));
  WEFT_RETURN_IF_ERROR(CheckDType(args, kBias, args.type(0).dtype()));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, kWeight, 3));
  WEFT_RETURN_IF_ERROR(CheckRank(args, kScale, 2));
  WEFT_RETURN_IF_ERROR(CheckRank(args, kZeroPoint, 2));
  WEFT_RETURN_IF_ERROR(CheckRank(args, kBias, 1));
  const int64_t bits = args.attrs().Int("bits");
  const int64_t group = args.attrs().Int("group_size");
  if (bits != 4 && bits != 8) return Invalid("bits must be 4 or 8, got ", bits);
  if (group < 1 || group > kMaxGroup) return Invalid("group_size must be positive, got ", group);
  if (group * bits % 8 != 0) return Invalid("groups must be whole bytes, got ", group, " weights");
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type weight = args.type(kWeight);
  const Type scale = args.type(kScale);
  const int64_t bits = args.attrs().Int("bits");
  const int64_t group = args.attrs().Int("group_size");
  std::vector<SymInt> dims = DimsOf(args.type(0));
  const SymInt groups = CeilDiv(dims.back(), group);
  const SymInt columns = weight.dim(0);
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, weight.dim(1), groups, "the groups of weight"));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, weight.dim(2), group * bits / 8, "the bytes of a group"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, scale.dim(0), columns, "scale and weight"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, scale.dim(1), groups, "the groups of scale"));
  if (args.has(kZeroPoint)) {
    const Type zero = args.type(kZeroPoint);
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, zero.dim(0), columns, "zero_point and weight"));
    const bool floats = HasFloatZeroPoint(args);
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, zero.dim(1), floats ? groups : CeilDiv(groups * bits, 8),
                        floats ? "the groups of zero_point" : "the bytes of a row of zero_point"));
  }
  if (args.has(kBias)) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, args.type(kBias).dim(0), columns, "bias and weight"));
  }
  dims.back() = columns;
  return Types{args.type(0).WithDims(dims)};
}

// Packed bytes as u8[rows, numbers], the low bits of a byte first.
Value* Unpacked(Builder& b, Value* v, int64_t bits, SymInt rows, SymInt numbers) {
  if (bits == 4) {
    std::vector<SymInt> dims = DimsOf(v->type());
    dims.push_back(1);
    v = Reshape(b, v, dims);
    Value* shifts = b.Constant(HostTensor::FromInts(DType::kU8, {2}, {0, 4}));
    v = WithScalar(b, bitwise_and, b.Op(bitwise_right_shift, {v, shifts}), 15);
  }
  return Reshape(b, v, {rows, numbers});
}

// The zero points as an operand of dequantize_linear; null for offsets.
Value* ZeroPoints(Builder& b, const OpArgs& args) {
  const int64_t bits = args.attrs().Int("bits");
  const SymInt columns = args.type(kWeight).dim(0);
  const SymInt groups = args.type(kWeight).dim(1);
  if (args.attrs().Bool("offset")) return nullptr;
  if (HasFloatZeroPoint(args)) return args.operand(kZeroPoint);
  if (args.has(kZeroPoint)) {
    const SymInt numbers = args.type(kZeroPoint).dim(1) * (8 / bits);
    Value* zero = Unpacked(b, args.operand(kZeroPoint), bits, columns, numbers);
    return Slice(b, zero, 1, 0, groups);
  }
  Value* middle = b.Constant(HostTensor::ScalarInt(DType::kU8, int64_t{1} << (bits - 1)));
  return Expand(b, middle, {columns, groups});
}

// Adds each offset to the weights of its group.
Value* AddOffsets(Builder& b, const OpArgs& args, Value* w) {
  const SymInt columns = args.type(kWeight).dim(0);
  const SymInt groups = args.type(kWeight).dim(1);
  const int64_t group = args.attrs().Int("group_size");
  Value* offset = Convert(b, args.operand(kZeroPoint), DType::kF32);
  w = b.Op(add,
           {Reshape(b, w, {columns, groups, group}), Reshape(b, offset, {columns, groups, 1})});
  return Reshape(b, w, {columns, groups * group});
}

// Reassociating, as matmul: the sum is that of f32, for narrow floats too.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const int64_t group = args.attrs().Int("group_size");
  const Type weight = args.type(kWeight);
  const SymInt columns = weight.dim(0);
  const SymInt groups = weight.dim(1);
  Value* q = Unpacked(b, args.operand(kWeight), args.attrs().Int("bits"), columns, groups * group);
  Value* w = b.Op(dequantize_linear, {q, args.operand(kScale), ZeroPoints(b, args)},
                  {{"dtype", DType::kF32}, {"axis", 1}, {"block_size", group}});
  if (args.attrs().Bool("offset")) w = AddOffsets(b, args, w);
  const SymInt depth = args.type(0).dims().back();
  if (groups * group != depth) w = Slice(b, w, 1, 0, depth);
  Value* y = b.Op(matmul, {Convert(b, args.operand(0), DType::kF32), Transpose(b, w)});
  if (args.has(kBias)) y = b.Op(add, {y, Convert(b, args.operand(kBias), DType::kF32)});
  return {Convert(b, y, args.type(0).dtype())};
}

// The weights as doubles, which hold them exactly, but for float zero points.
class Weights {
 public:
  explicit Weights(EvalContext& c)
      : bits_(c.attrs().Int("bits")),
        group_(c.attrs().Int("group_size")),
        groups_(c.in(kWeight).dim(1)),
        weight_(c.in(kWeight).Contiguous()),
        scale_(Read<double>(c.in(kScale))) {
    if (!c.has(kZeroPoint)) return;
    if (IsFloat(c.in(kZeroPoint).dtype())) {
      float_zero_ = Read<double>(c.in(kZeroPoint));
      offset_ = c.attrs().Bool("offset");
      return;
    }
    zero_ = c.in(kZeroPoint).Contiguous();
    zero_bytes_ = zero_.dim(1);
  }

  double At(int64_t column, int64_t k) const {
    const int64_t g = k / group_;
    const int64_t at = (column * groups_ + g) * group_ + k % group_;
    const auto number = static_cast<double>(Number(weight_, at));
    const double scale = scale_[column * groups_ + g];
    if (offset_) return number * scale + float_zero_[column * groups_ + g];
    return (number - ZeroPoint(column, g)) * scale;
  }

 private:
  double ZeroPoint(int64_t column, int64_t g) const {
    if (!float_zero_.empty()) return float_zero_[column * groups_ + g];
    return static_cast<double>(zero_.valid() ? Number(zero_, column * zero_bytes_ * (8 / bits_) + g)
                                             : int64_t{1} << (bits_ - 1));
  }

  // The number at `i`, the low bits of a byte first.
  int64_t Number(const HostTensor& packed, int64_t i) const {
    const uint8_t* bytes = packed.data<uint8_t>();
    return bits_ == 8 ? bytes[i] : (bytes[i / 2] >> (i % 2 * 4)) & 15;
  }

  const int64_t bits_;
  const int64_t group_;
  const int64_t groups_;
  const HostTensor weight_;
  const std::vector<double> scale_;
  HostTensor zero_;
  int64_t zero_bytes_ = 0;
  std::vector<double> float_zero_;
  bool offset_ = false;
};

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int64_t k = self.dim(self.rank() - 1);
  const int64_t n = c.in(kWeight).dim(0);
  const int64_t m = Numel(self.dims().first(self.rank() - 1));
  const std::vector<double> x = Read<double>(self);
  const Weights weights(c);
  std::vector<double> y = Multiply<double>({1, m, n, k, [&](int64_t) { return x.data(); },
                                            [&](int64_t, const Panel& p, double* to) {
                                              for (int64_t r = 0; r < p.rows; ++r) {
                                                for (int64_t j = 0; j < p.cols; ++j) {
                                                  to[r * p.stride + j] =
                                                      weights.At(p.col + j, p.row + r);
                                                }
                                              }
                                            }});
  if (c.has(kBias)) {
    const std::vector<double> bias = Read<double>(c.in(kBias));
    for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % n];
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

SymInt Flops(const FlopsArgs& args) {
  const SymInt bias = args.has(kBias) ? args.result_size() : SymInt(0);
  return 2 * args.result_size() * args.operands[0].dims().back() + bias;
}

}  // namespace

WEFT_DEFINE_OP(
    matmul_nbits,
    OpSpec("matmul_nbits(Tensor self, Tensor weight, Tensor scale, Tensor? zero_point, "
           "Tensor? bias, int group_size, int bits=4, bool offset=False) -> Tensor",
           "self [..., K] times the transpose of weights [N, K] of 4 or 8 bits, plus bias [N]. A "
           "weight is (number - zero point) * scale; `group_size` weights of a row share both, and "
           "the last group of a row may be cut. weight is u8 [N, groups, group_size * bits / 8], "
           "the low bits of a byte first, with any bits behind the last weight; scale is "
           "[N, groups], zero_point u8 [N, groups * bits / 8 rounded up], packed alike, and "
           "2^(bits - 1) where it is absent. zero_point may also be floats [N, groups] of scale's "
           "dtype, which lie between two numbers; with `offset` they are added: number * scale + "
           "zero_point. The sum is not rounded to a narrow dtype before the end. ONNX Runtime: "
           "com.microsoft MatMulNBits.")
        .Verify(Verify)
        .Infer(Infer)
        .Decompose(Decompose)
        .DecomposeContract(NumericContract::kReassociating)
        .Eval(Eval)
        .Flops(Flops)
        .Samples(R"(
matmul_nbits(f32[2, 3, 48], u8[5, 3, 8]{0..255}, f32[5, 3]{0.1..0.3}, none, none, group_size=16)
matmul_nbits(f32[7, 41], u8[9, 3, 8]{0..255}, f32[9, 3]{0.1..0.3}, u8[9, 2]{0..255}, f32[9], group_size=16)
matmul_nbits(f32[64], u8[19, 2, 16]{0..255}, f32[19, 2]{0.1..0.3}, u8[19, 1]{0..255}, none, group_size=32)
matmul_nbits(f32[3, 40], u8[7, 3, 16]{0..255}, f32[7, 3]{0.1..0.3}, u8[7, 3]{0..255}, f32[7], group_size=16, bits=8)
matmul_nbits(f32[1, 33], u8[2, 1, 33]{0..255}, f16[2, 1]{0.1..0.3}, none, none, group_size=33, bits=8)
matmul_nbits(f16[2, 32], u8[3, 2, 8]{0..255}, f16[3, 2]{0.1..0.3}, u8[3, 1]{0..255}, f16[3], group_size=16)
matmul_nbits(bf16[2, 30], u8[3, 3, 5]{0..255}, f32[3, 3]{0.1..0.3}, none, bf16[3], group_size=10)
matmul_nbits(f32[2, 41], u8[5, 3, 8]{0..255}, f32[5, 3]{0.1..0.3}, f32[5, 3]{5.5..9.5}, f32[5], group_size=16)
matmul_nbits(f32[3, 40], u8[7, 3, 16]{0..255}, f32[7, 3]{0.1..0.3}, f32[7, 3]{-9..9}, none, group_size=16, bits=8, offset=true)
matmul_nbits(f16[1, 40], u8[7, 2, 16]{0..255}, f16[7, 2]{0.1..0.3}, f16[7, 2]{-9..9}, f16[7], group_size=32, offset=true)
matmul_nbits(f32[0, 16], u8[3, 1, 8], f32[3, 1], none, none, group_size=16)
matmul_nbits(f32[2, 0], u8[3, 0, 8], f32[3, 0], u8[3, 0], f32[3], group_size=16)
matmul_nbits(f32[2, 32], u8[3, 3, 8], f32[3, 2], none, none, group_size=16) ! "the groups of weight: 3 and 2 differ"
matmul_nbits(f32[2, 32], u8[3, 2, 4], f32[3, 2], none, none, group_size=16) ! "the bytes of a group: 4 and 8 differ"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[3, 1], none, none, group_size=16) ! "the groups of scale: 1 and 2 differ"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[4, 2], none, none, group_size=16) ! "scale and weight: 4 and 3 differ"
matmul_nbits(f32[2, 48], u8[3, 3, 8], f32[3, 3], u8[3, 3], none, group_size=16) ! "the bytes of a row of zero_point: 3 and 2 differ"
matmul_nbits(f32[2, 48], u8[3, 3, 8], f32[3, 3], f32[3, 2], none, group_size=16) ! "the groups of zero_point: 2 and 3 differ"
matmul_nbits(f32[2, 48], u8[3, 3, 8], f32[3, 3], f16[3, 3], none, group_size=16) ! "zero_point must have dtype f32"
matmul_nbits(f32[2, 48], u8[3, 3, 8], f32[3, 3], u8[3, 2], none, group_size=16, offset=true) ! "zero_point must be of floats where it is an offset"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[3, 2], none, f32[2], group_size=16) ! "bias and weight: 2 and 3 differ"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[3, 2], none, f16[3], group_size=16) ! "bias must have dtype f32"
matmul_nbits(f64[2, 32], u8[3, 2, 8], f64[3, 2], none, none, group_size=16) ! "self must be of f32, f16 or bf16, got f64"
matmul_nbits(f32[2, 32], i8[3, 2, 8], f32[3, 2], none, none, group_size=16) ! "weight must have dtype u8"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[3, 2], none, none, group_size=16, bits=2) ! "bits must be 4 or 8, got 2"
matmul_nbits(f32[2, 32], u8[3, 2, 8], f32[3, 2], none, none, group_size=0) ! "group_size must be positive"
matmul_nbits(f32[2, 33], u8[3, 3, 5], f32[3, 3], none, none, group_size=11) ! "groups must be whole bytes"
)"));

}  // namespace weft::ops
