// Bits of integers; on bool the logical functions.
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status EvalNot(EvalContext& c) {
  const bool is_bool = c.in(0).dtype() == DType::kBool;
  return EvalUnary(c, [=](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, double>) {
      return x;  // Refused by Infer.
    } else {
      return is_bool ? static_cast<T>(x == 0) : static_cast<T>(~x);
    }
  });
}

// EvalBinary for functions of integers; Infer refuses floats.
template <typename Fn>
absl::Status EvalInts(EvalContext& c, Fn f) {
  if (DomainOf(c.in(0).dtype()) == Domain::kUnsigned) {
    EvalBinaryIn<uint64_t>(c, f);
  } else {
    EvalBinaryIn<int64_t>(c, f);
  }
  return absl::OkStatus();
}

absl::Status EvalAnd(EvalContext& c) {
  return EvalInts(c, [](auto a, auto b) { return a & b; });
}
absl::Status EvalOr(EvalContext& c) {
  return EvalInts(c, [](auto a, auto b) { return a | b; });
}
absl::Status EvalXor(EvalContext& c) {
  return EvalInts(c, [](auto a, auto b) { return a ^ b; });
}

// Index of an operand that is 0 everywhere, or -1.
int ZeroOperand(const OpArgs& args) {
  for (int i : {1, 0}) {
    if (IsIntSplatOf(args.operand(i), 0)) return i;
  }
  return -1;
}

// x & x = x; x & 0 = 0.
Folded FoldAnd(const OpArgs& args) {
  const int zero = ZeroOperand(args);
  if (zero >= 0) return FoldTo(args, zero);
  return FoldEqualOperands(args);
}

// x | x = x | 0 = x.
Folded FoldOr(const OpArgs& args) {
  const int zero = ZeroOperand(args);
  if (zero >= 0) return FoldTo(args, 1 - zero);
  return FoldEqualOperands(args);
}

// x ^ 0 = x.
Folded FoldXor(const OpArgs& args) {
  const int zero = ZeroOperand(args);
  if (zero >= 0) return FoldTo(args, 1 - zero);
  return {};
}

// True when a shift by `count` leaves no bit in a number of `bits` bits.
template <typename T>
bool ShiftsOut(T count, int bits) {
  return count < 0 || count >= static_cast<T>(bits);
}

absl::Status EvalLeft(EvalContext& c) {
  const int bits = DTypeBits(c.in(0).dtype());
  return EvalInts(c, [bits](auto a, auto b) {
    using T = decltype(a);
    if (ShiftsOut(b, bits)) return T{0};
    return static_cast<T>(static_cast<uint64_t>(a) << b);
  });
}

absl::Status EvalRight(EvalContext& c) {
  const int bits = DTypeBits(c.in(0).dtype());
  return EvalInts(c, [bits](auto a, auto b) {
    using T = decltype(a);
    if (ShiftsOut(b, bits)) return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> b);
  });
}

// Shifting by 0 is the identity.
Folded FoldShift(const OpArgs& args) {
  if (IsIntSplatOf(args.operand(1), 0)) return FoldTo(args, 0);
  return {};
}

constexpr OpSpec Bitwise(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise | kCommutative).Infer(InferBinaryIntOrBool);
}

constexpr OpSpec Shift(const char* schema, const char* doc) {
  return OpSpec(schema, doc).Traits(kPointwise).Infer(InferBinaryInt).Fold(FoldShift);
}

}  // namespace

WEFT_DEFINE_OP(bitwise_not, OpSpec("bitwise_not(Tensor self) -> Tensor",
                                   "Inverts every bit. ATen: aten::bitwise_not.")
                                .Traits(kPointwise)
                                .Infer(InferUnaryIntOrBool)
                                .Fold(FoldInvolution)
                                .Eval(EvalNot)
                                .Samples(R"(
bitwise_not(i32[2, 3])
bitwise_not(u8[3])
bitwise_not(bool[2])
bitwise_not(f32[2]) ! "integer or bool"
)"));

WEFT_DEFINE_OP(bitwise_and, Bitwise("bitwise_and(Tensor self, Tensor other) -> Tensor",
                                    "ATen: aten::bitwise_and.Tensor.")
                                .Fold(FoldAnd)
                                .Eval(EvalAnd)
                                .Samples(R"(
bitwise_and(i32[2, 3], i32[3])
bitwise_and(u64[2], u64[2])
bitwise_and(bool[4], bool[1])
bitwise_and(f32[2], f32[2]) ! "integer or bool"
)"));

WEFT_DEFINE_OP(bitwise_or, Bitwise("bitwise_or(Tensor self, Tensor other) -> Tensor",
                                   "ATen: aten::bitwise_or.Tensor.")
                               .Fold(FoldOr)
                               .Eval(EvalOr)
                               .Samples(R"(
bitwise_or(i32[2, 3], i32[3])
bitwise_or(bool[4], bool[4])
bitwise_or(f32[2], f32[2]) ! "integer or bool"
)"));

WEFT_DEFINE_OP(bitwise_xor, Bitwise("bitwise_xor(Tensor self, Tensor other) -> Tensor",
                                    "ATen: aten::bitwise_xor.Tensor.")
                                .Fold(FoldXor)
                                .Eval(EvalXor)
                                .Samples(R"(
bitwise_xor(i32[2, 3], i32[3])
bitwise_xor(bool[4], bool[4])
bitwise_xor(f32[2], f32[2]) ! "integer or bool"
)"));

WEFT_DEFINE_OP(bitwise_left_shift,
               Shift("bitwise_left_shift(Tensor self, Tensor other) -> Tensor",
                     "self * 2**other, keeping the low bits; 0 for counts that are negative "
                     "or not below the width. ATen: aten::bitwise_left_shift.Tensor.")
                   .Eval(EvalLeft)
                   .Samples(R"(
bitwise_left_shift(u8[2, 3], u8[3])
bitwise_left_shift(i32[4], i32[4]{0, 1, 31, 32})
bitwise_left_shift(bool[2], bool[2]) ! "integer"
)"));

WEFT_DEFINE_OP(bitwise_right_shift,
               Shift("bitwise_right_shift(Tensor self, Tensor other) -> Tensor",
                     "Arithmetic on signed, logical on unsigned integers. Counts that are "
                     "negative or not below the width leave only copies of the sign. ATen: "
                     "aten::bitwise_right_shift.Tensor.")
                   .Eval(EvalRight)
                   .Samples(R"(
bitwise_right_shift(u8[2, 3]{0..255}, u8[3])
bitwise_right_shift(i32[4]{-8, -1, 5, -5}, i32[4]{0, 1, 1, 32})
bitwise_right_shift(bool[2], bool[2]) ! "integer"
)"));

}  // namespace weft::ops
