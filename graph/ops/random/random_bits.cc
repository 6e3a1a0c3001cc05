// Random bits by counter, and uniform and normal numbers made from them.
//
// There is no generator with a state of its own: what is drawn is a function of
// `state`, a value like any other, and of `draw`, which tells the draws of one
// program apart. So the graph stays functional: equal draws may be merged,
// distinct ones differ in `draw`, and a program that should go on with other
// numbers at its next run takes its state as an input and writes back the next
// one. (JAX passes keys in the same way; Inductor makes seeds a value, too.)
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

constexpr uint64_t kWord = 0xFFFFFFFF;

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
// as 1, 2, 3).
constexpr int kRounds = 10;
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint64_t kWeyl0 = 0x9E3779B9;
constexpr uint64_t kWeyl1 = 0xBB67AE85;

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckDType(args, 0, DType::kI64));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 1));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(0).dim(0), 2, "the numbers of state"));
  const int64_t draw = args.attrs().Int("draw");
  if (draw < 0 || draw > static_cast<int64_t>(kWord)) {
    return Invalid("draw must fit in 32 bits, got ", draw);
  }
  return CheckSizesNotNegative(args, args.attrs().Syms("size"), "size");
}

absl::StatusOr<Types> InferBits(const OpArgs& args) {
  return Types{Type::Tensor(DType::kI64, args.attrs().Syms("size"))};
}

// Words of 32 bits, each in 64.
struct Counter {
  uint64_t word[4];
};

Counter Philox(Counter c, uint64_t key0, uint64_t key1) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultiplier0 * c.word[0];
    const uint64_t b = kMultiplier1 * c.word[2];
    c = {{(b >> 32) ^ c.word[1] ^ key0, b & kWord, (a >> 32) ^ c.word[3] ^ key1, a & kWord}};
    key0 = (key0 + kWeyl0) & kWord;
    key1 = (key1 + kWeyl1) & kWord;
  }
  return c;
}

absl::Status EvalBits(EvalContext& c) {
  const uint64_t seed = static_cast<uint64_t>(c.in(0).IntAt(0));
  const uint64_t run = static_cast<uint64_t>(c.in(0).IntAt(1));
  const uint64_t draw = static_cast<uint64_t>(c.attrs().Int("draw"));
  const uint64_t key0 = seed & kWord;
  const uint64_t key1 = (seed ^ run) >> 32;
  std::vector<int64_t> bits(c.out(0).numel());
  constexpr int64_t kGrain = 1 << 14;
  ParallelChunks(bits.size(), kGrain, [&](int64_t begin, int64_t end) {
    for (uint64_t i = begin; i < static_cast<uint64_t>(end); ++i) {
      const Counter drawn = Philox({{i & kWord, i >> 32, draw, run & kWord}}, key0, key1);
      bits[i] = static_cast<int64_t>(drawn.word[0] | drawn.word[1] << 32);
    }
  });
  Write(bits, &c.out(0));
  return absl::OkStatus();
}

// 64-bit arithmetic, of which the decompositions use the low bits alone.
class Words {
 public:
  explicit Words(Builder& b) : b_(b) {}

  Value* Number(uint64_t v) {
    return b_.Constant(HostTensor::ScalarInt(DType::kI64, static_cast<int64_t>(v)));
  }
  Value* And(Value* a, uint64_t mask) { return b_.Op(bitwise_and, {a, Number(mask)}); }
  Value* Low(Value* a) { return And(a, kWord); }
  Value* High(Value* a) { return Low(Right(a, 32)); }
  Value* Right(Value* a, int by) { return b_.Op(bitwise_right_shift, {a, Number(by)}); }
  Value* Xor(Value* a, Value* x) { return b_.Op(bitwise_xor, {a, x}); }
  Value* Mul(Value* a, uint64_t by) { return b_.Op(mul, {a, Number(by)}); }
  Value* Add(Value* a, uint64_t n) { return b_.Op(add, {a, Number(n)}); }

 private:
  Builder& b_;
};

// Bit-exact: all of it is integer arithmetic.
std::vector<Value*> DecomposeBits(Builder& b, const OpArgs& args) {
  Words w(b);
  const auto size = args.attrs().Syms("size");
  const std::vector<SymInt> dims(size.begin(), size.end());
  SymInt numel = 1;
  for (SymInt d : dims) numel = numel * d;
  Value* i = Reshape(b, b.Op(arange, {}, {{"start", 0}, {"end", numel}}), dims);
  Value* seed = b.Op(select, {args.operand(0)}, {{"dim", 0}, {"index", 0}});
  Value* run = b.Op(select, {args.operand(0)}, {{"dim", 0}, {"index", 1}});
  Value* key0 = w.Low(seed);
  Value* key1 = w.High(w.Xor(seed, run));
  Value* c[4] = {w.Low(i), w.High(i), w.Number(static_cast<uint64_t>(args.attrs().Int("draw"))),
                 w.Low(run)};
  for (int round = 0; round < kRounds; ++round) {
    Value* a = w.Mul(c[0], kMultiplier0);
    Value* d = w.Mul(c[2], kMultiplier1);
    c[0] = w.Xor(w.Xor(w.High(d), c[1]), key0);
    c[1] = w.Low(d);
    c[2] = w.Xor(w.Xor(w.High(a), c[3]), key1);
    c[3] = w.Low(a);
    key0 = w.Low(w.Add(key0, kWeyl0));
    key1 = w.Low(w.Add(key1, kWeyl1));
  }
  Value* high = b.Op(bitwise_left_shift, {c[1], w.Number(32)});
  return {b.Op(bitwise_or, {c[0], high})};
}

// Bits of the significand: this number of random bits makes a number in [0, 1).
int Digits(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      return 0;
  }
}

absl::StatusOr<Types> InferFloats(const OpArgs& args) {
  const DType dtype = args.attrs().Dtype("dtype");
  if (Digits(dtype) == 0) {
    return Invalid("dtype must be f64, f32, f16 or bf16, got ", DTypeName(dtype));
  }
  return Types{Type::Tensor(dtype, args.attrs().Syms("size"))};
}

Value* BitsOf(Builder& b, const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const auto size = attrs.Syms("size");
  return b.Op(
      random_bits, {args.operand(0)},
      {{"size", std::vector<SymInt>(size.begin(), size.end())}, {"draw", attrs.Int("draw")}});
}

// As many high bits as the dtype holds, as a fraction: exact.
std::vector<Value*> DecomposeRand(Builder& b, const OpArgs& args) {
  Words w(b);
  const DType dtype = args.attrs().Dtype("dtype");
  const int digits = Digits(dtype);
  const uint64_t one = uint64_t{1} << digits;
  Value* top = w.And(w.Right(BitsOf(b, args), 64 - digits), one - 1);
  Value* whole = Convert(b, top, dtype);
  return {WithScalar(b, mul, whole, 1 / static_cast<double>(one))};
}

// Box and Muller: sqrt(-2 log u) cos(2 pi v), with u in (0, 1] from the high word and v from the
// low one.
std::vector<Value*> DecomposeRandn(Builder& b, const OpArgs& args) {
  constexpr double kTwoPi = 6.283185307179586;
  Words w(b);
  const DType dtype = args.attrs().Dtype("dtype");
  const DType wide = WideDType(dtype);
  Value* bits = BitsOf(b, args);
  Value* high = Convert(b, w.Add(w.High(bits), 1), wide);
  Value* low = Convert(b, w.Low(bits), wide);
  Value* logs = b.Op(log, {WithScalar(b, mul, high, 0x1p-32)});
  Value* radius = b.Op(sqrt, {WithScalar(b, mul, logs, -2)});
  Value* angle = WithScalar(b, mul, low, kTwoPi * 0x1p-32);
  return {Convert(b, b.Op(mul, {radius, b.Op(cos, {angle})}), dtype)};
}

// Ten rounds of Philox, of 14 operations each, make one element.
constexpr int64_t kPhilox = 140;

}  // namespace

WEFT_DEFINE_OP(random_bits,
               OpSpec("random_bits(Tensor state, SymInt[] size, int draw) -> Tensor",
                      "64 random bits for each element (i64). state is i64[2]: a seed, and "
                      "a number that counts the runs; `draw` (0 to 2^32 - 1) tells draws "
                      "from one state apart. Element i of the row-major order has words 0 "
                      "and 1 (the high one) of Philox 4x32-10 with counter (i low, i high, "
                      "draw, run low) and key (seed low, seed high ^ run high).")
                   .Verify(Verify)
                   .Infer(InferBits)
                   .Decompose(DecomposeBits)
                   .DecomposeContract(NumericContract::kBitExact)
                   .Eval(EvalBits)
                   .Flops(PerResult{kPhilox})
                   .Samples(R"(
random_bits(i64[2]{42, 7}, size=[2, 3], draw=1)
random_bits(i64[2]{-1, -1}, size=[5], draw=4294967295)
random_bits(i64[2]{0, 0}, size=[], draw=0)
random_bits(i64[2], size=[0, 4], draw=3)
random_bits(i64[3], size=[2], draw=0) ! "the numbers of state: 3 and 2 differ"
random_bits(i32[2], size=[2], draw=0) ! "state must have dtype i64"
random_bits(i64[2], size=[2], draw=-1) ! "draw must fit in 32 bits, got -1"
random_bits(i64[2], size=[-2], draw=0) ! "size[0] is negative: -2"
)"));

WEFT_DEFINE_OP(rand, OpSpec("rand(Tensor state, SymInt[] size, int draw, ScalarType dtype=f32) "
                            "-> Tensor",
                            "Uniform in [0, 1), from the high bits of random_bits. ATen: "
                            "aten::rand; ONNX: RandomUniform.")
                         .Verify(Verify)
                         .Infer(InferFloats)
                         .Decompose(DecomposeRand)
                         .Flops(PerResult{kPhilox + 3})
                         .Samples(R"(
rand(i64[2]{42, 7}, size=[2, 3], draw=1)
rand(i64[2]{42, 7}, size=[4], draw=1, dtype=f64)
rand(i64[2]{42, 7}, size=[4], draw=1, dtype=f16)
rand(i64[2]{42, 7}, size=[], draw=2, dtype=bf16)
rand(i64[2], size=[0], draw=0)
rand(i64[2], size=[2], draw=0, dtype=i32) ! "dtype must be f64, f32, f16 or bf16, got i32"
rand(i64[2, 2], size=[2], draw=0) ! "state must have rank 1"
)"));

WEFT_DEFINE_OP(randn, OpSpec("randn(Tensor state, SymInt[] size, int draw, ScalarType dtype=f32) "
                             "-> Tensor",
                             "Normal with mean 0 and variance 1, by Box and Muller from the two "
                             "words of random_bits, in f32 at least. ATen: aten::randn; ONNX: "
                             "RandomNormal.")
                          .Verify(Verify)
                          .Infer(InferFloats)
                          .Decompose(DecomposeRandn)
                          .Flops(PerResult{kPhilox + 8, 3})
                          .Samples(R"(
randn(i64[2]{42, 7}, size=[2, 3], draw=1)
randn(i64[2]{42, 7}, size=[4], draw=1, dtype=f64)
randn(i64[2]{42, 7}, size=[4], draw=1, dtype=f16)
randn(i64[2]{42, 7}, size=[], draw=2, dtype=bf16)
randn(i64[2], size=[0], draw=0)
randn(i64[2], size=[2], draw=0, dtype=c64) ! "dtype must be f64"
randn(i64[1], size=[2], draw=0) ! "the numbers of state: 1 and 2 differ"
)"));

}  // namespace weft::ops
