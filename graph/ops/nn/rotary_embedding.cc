// Rotation of pairs of features by position dependent angles.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// The dims of x with one element per pair.
std::vector<SymInt> PairDims(const OpArgs& args) {
  std::vector<SymInt> dims = DimsOf(args.type(0));
  dims.back() = FloorDiv(dims.back(), 2);
  return dims;
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, Mod(args.type(0).dims().back(), 2), 0, "the last size of x modulo 2"));
  const std::vector<SymInt> dims = PairDims(args);
  for (int i : {1, 2}) {
    const Type angle = args.type(i);
    const int shift = static_cast<int>(dims.size()) - angle.rank();
    bool fits = shift >= 0;
    for (int d = 0; fits && d < angle.rank(); ++d) {
      fits = MayBroadcastTo(args, angle.dim(d), dims[shift + d]);
    }
    if (fits) continue;
    return Invalid(OperandName(args, i), " of ", angle.ToString(),
                   " does not broadcast to the pairs of ", ToString(dims));
  }
  return absl::OkStatus();
}

// v with a last dim of size 1.
Value* AppendDim(Builder& b, Value* v) {
  if (v == nullptr) return v;
  std::vector<SymInt> dims = DimsOf(v->type());
  dims.push_back(1);
  return Reshape(b, v, std::move(dims));
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Type type = args.type(0);
  const DType wide = ComputeDType(type.dtype());
  const bool interleaved = args.attrs().Bool("interleaved");
  std::vector<SymInt> dims = PairDims(args);
  const SymInt half = dims.back();
  const int64_t last = interleaved ? type.rank() : type.rank() - 1;
  Value* x = Convert(b, args.operand(0), wide);
  Value* c = Convert(b, args.operand(1), wide);
  Value* s = Convert(b, args.operand(2), wide);
  if (interleaved) {  // Pairs are neighbours: a last dim of size 2.
    dims.push_back(2);
    x = Reshape(b, x, dims);
    c = AppendDim(b, c);
    s = AppendDim(b, s);
  }
  const SymInt middle = interleaved ? SymInt(1) : half;
  Value* re = Slice(b, x, last, 0, middle);
  Value* im = Slice(b, x, last, middle, 2 * middle);
  Value* y_re = b.Op(sub, {b.Op(mul, {re, c}), b.Op(mul, {im, s})});
  Value* y_im = b.Op(add, {b.Op(mul, {re, s}), b.Op(mul, {im, c})});
  Value* y = b.Op(cat, {y_re, y_im}, {{"dim", last}});
  return {Convert(b, Reshape(b, y, DimsOf(type)), type.dtype())};
}

absl::Status Eval(EvalContext& c) {
  std::vector<double> x = Read<double>(c.in(0));
  const std::vector<double> cosines = Read<double>(c.in(1));
  const std::vector<double> sines = Read<double>(c.in(2));
  const bool interleaved = c.attrs().Bool("interleaved");
  std::vector<int64_t> dims(c.in(0).dims().begin(), c.in(0).dims().end());
  dims.back() /= 2;
  const int64_t half = dims.back();
  ForEachOffset<2>(dims,
                   {BroadcastStrides(c.in(1).dims(), dims), BroadcastStrides(c.in(2).dims(), dims)},
                   [&](int64_t i, const std::array<int64_t, 2>& at) {
                     const int64_t row = i / half * half * 2;
                     const int64_t re = interleaved ? 2 * i : row + i % half;
                     const int64_t im = interleaved ? re + 1 : re + half;
                     const double u = x[re];
                     const double v = x[im];
                     x[re] = u * cosines[at[0]] - v * sines[at[1]];
                     x[im] = u * sines[at[1]] + v * cosines[at[0]];
                   });
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(rotary_embedding,
               OpSpec("rotary_embedding(Tensor x, Tensor cos, Tensor sin, "
                      "bool interleaved=False) -> Tensor",
                      "Pairs (u, v) of features in the last dim become "
                      "(u cos - v sin, u sin + v cos); cos and sin broadcast to one "
                      "element a pair. A pair is elements i and i + size / 2 or, "
                      "interleaved, 2i and 2i + 1. Floats of less than 32 bits are "
                      "computed in f32. ONNX: the rotation of RotaryEmbedding-23.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerResult{3})
                   .Samples(R"(
rotary_embedding(f32[2, 3, 5, 8], f32[5, 4], f32[5, 4])
rotary_embedding(f32[2, 3, 5, 8], f32[2, 1, 5, 4], f32[5, 1], interleaved=true)
rotary_embedding(f64[6], f64[3], f64[1])
rotary_embedding(f16[5, 4], f16[5, 2], f16[5, 2])
rotary_embedding(bf16[5, 4], bf16[5, 2], bf16[5, 2], interleaved=true)
rotary_embedding(f32[0, 4], f32[0, 2], f32[2])
rotary_embedding(f32[5, 3], f32[5, 1], f32[5, 1]) ! "the last size of x modulo 2: 1 and 0 differ"
rotary_embedding(f32[5, 8], f32[5, 8], f32[5, 4]) ! "cos of f32[5, 8] does not broadcast to the pairs of [5, 4]"
rotary_embedding(f32[5, 8], f32[5, 4], f32[2, 5, 4]) ! "sin of f32[2, 5, 4] does not broadcast"
rotary_embedding(f32[5, 8], f64[5, 4], f32[5, 4]) ! "different dtypes"
rotary_embedding(i32[5, 8], i32[5, 4], i32[5, 4]) ! "a float dtype"
)"));

}  // namespace weft::ops
