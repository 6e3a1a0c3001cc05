// Norms and other reductions of a function of the elements.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"

namespace weft::ops {
namespace {

// `op` with the dims and keepdim of the composite.
Value* ReduceAs(Builder& b, const OpDef& op, const OpArgs& args, Value* v) {
  return b.Op(op, {v},
              {{"dim", args.attrs().Get("dim")}, {"keepdim", args.attrs().Get("keepdim")}});
}

// Self in the dtype of the computation; results are converted back.
Value* Self(Builder& b, const OpArgs& args) {
  return Convert(b, args.operand(0), ComputeDType(args.type(0).dtype()));
}
Value* Back(Builder& b, const OpArgs& args, Value* v) {
  return Convert(b, v, args.type(0).dtype());
}

std::vector<Value*> DecomposeL1(Builder& b, const OpArgs& args) {
  return {ReduceAs(b, sum, args, b.Op(abs, {args.operand(0)}))};
}

absl::Status EvalL1(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    T total = 0;
    for (T v : x) total = WrapAdd(total, v < 0 ? WrapSub(T{0}, v) : v);
    return total;
  });
}

Value* SumOfSquares(Builder& b, const OpArgs& args) {
  Value* x = Self(b, args);
  return ReduceAs(b, sum, args, b.Op(mul, {x, x}));
}

std::vector<Value*> DecomposeSumSquare(Builder& b, const OpArgs& args) {
  return {Back(b, args, SumOfSquares(b, args))};
}

absl::Status EvalSumSquare(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    using T = std::decay_t<decltype(x[0])>;
    T total = 0;
    for (T v : x) total = WrapAdd(total, WrapMul(v, v));
    return total;
  });
}

std::vector<Value*> DecomposeL2(Builder& b, const OpArgs& args) {
  return {Back(b, args, b.Op(sqrt, {SumOfSquares(b, args)}))};
}

absl::Status EvalL2(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    double total = 0;
    for (double v : x) total += v * v;
    return std::sqrt(total);
  });
}

std::vector<Value*> DecomposeLogSum(Builder& b, const OpArgs& args) {
  Value* total = ReduceAs(b, sum, args, Self(b, args));
  return {Back(b, args, b.Op(log, {total}))};
}

absl::Status EvalLogSum(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    double total = 0;
    for (double v : x) total += v;
    return std::log(total);
  });
}

// log(sum(exp(x - m))) + m, where m is the maximum, or 0 if that is infinite.
std::vector<Value*> DecomposeLogSumExp(Builder& b, const OpArgs& args) {
  Value* x = Self(b, args);
  const Type result = InferFloatReduction(args)->front();
  Value* m = b.Op(amax, {x}, {{"dim", args.attrs().Get("dim")}, {"keepdim", true}});
  Value* zero = b.Scalar(ComputeDType(result.dtype()), 0);
  m = b.Op(where, {b.Op(isinf, {m}), zero, m});
  Value* total = ReduceAs(b, sum, args, b.Op(exp, {b.Op(sub, {x, m})}));
  m = Reshape(b, m, DimsOf(result));
  return {Back(b, args, b.Op(add, {b.Op(log, {total}), m}))};
}

absl::Status EvalLogSumExp(EvalContext& c) {
  return EvalReduction(c, [](auto x) {
    double m = -HUGE_VAL;
    for (double v : x) m = std::max(m, v);
    if (std::isinf(m)) m = 0;
    double total = 0;
    for (double v : x) total += std::exp(v - m);
    return std::log(total) + m;
  });
}

}  // namespace

WEFT_DEFINE_OP(reduce_l1, OpSpec("reduce_l1(Tensor self, int[] dim=[], "
                                 "bool keepdim=False) -> Tensor",
                                 "The sum of the absolute values along the "
                                 "dims, all when none are given. "
                                 "ONNX: ReduceL1; "
                                 "ATen: aten::linalg_vector_norm, ord 1.")
                              .Traits(kReduction)
                              .Infer(InferNumericReduction)
                              .Decompose(DecomposeL1)
                              .DecomposeContract(NumericContract::kReassociating)
                              .Eval(EvalL1)
                              .Map(MapReduction)
                              .Flops(PerOperand{2})
                              .Samples(R"(
reduce_l1(f32[2, 3])
reduce_l1(f16[2, 3, 4], dim=[-1, 0], keepdim=true)
reduce_l1(i64[3, 5, 1, 2], dim=[1])
reduce_l1(i8[2]{-128, 1})
reduce_l1(f64[])
reduce_l1(bf16[0, 2], dim=[0])
reduce_l1(f32[2], dim=[1]) ! "dim 1 is out of range"
reduce_l1(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(reduce_l2, OpSpec("reduce_l2(Tensor self, int[] dim=[], "
                                 "bool keepdim=False) -> Tensor",
                                 "The square root of the sum of squares along "
                                 "the dims, all when none are given. "
                                 "ONNX: ReduceL2; "
                                 "ATen: aten::linalg_vector_norm.")
                              .Traits(kReduction)
                              .Infer(InferFloatReduction)
                              .Decompose(DecomposeL2)
                              .DecomposeContract(NumericContract::kReassociating)
                              .Eval(EvalL2)
                              .Map(MapReduction)
                              .Flops(PerOperand{2})
                              .Samples(R"(
reduce_l2(f32[2, 3])
reduce_l2(f16[2, 3, 4], dim=[-1, 0], keepdim=true)
reduce_l2(f64[2, 1, 3, 2], dim=[2])
reduce_l2(f64[])
reduce_l2(bf16[0, 2], dim=[0])
reduce_l2(f32[2], dim=[1]) ! "dim 1 is out of range"
reduce_l2(i32[2]) ! "a float"
)"));

WEFT_DEFINE_OP(reduce_sum_square, OpSpec("reduce_sum_square(Tensor self, int[] dim=[], "
                                         "bool keepdim=False) -> Tensor",
                                         "The sum of the squares along the dims, all when none "
                                         "are given. ONNX: ReduceSumSquare.")
                                      .Traits(kReduction)
                                      .Infer(InferNumericReduction)
                                      .Decompose(DecomposeSumSquare)
                                      .DecomposeContract(NumericContract::kReassociating)
                                      .Eval(EvalSumSquare)
                                      .Map(MapReduction)
                                      .Flops(PerOperand{2})
                                      .Samples(R"(
reduce_sum_square(f32[2, 3])
reduce_sum_square(f16[2, 3, 4], dim=[-1, 0], keepdim=true)
reduce_sum_square(i64[3, 5, 1, 2], dim=[1])
reduce_sum_square(u8[3]{200..255})
reduce_sum_square(f64[])
reduce_sum_square(bf16[0, 2], dim=[0])
reduce_sum_square(f32[2], dim=[1]) ! "dim 1 is out of range"
reduce_sum_square(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(reduce_log_sum, OpSpec("reduce_log_sum(Tensor self, int[] dim=[], "
                                      "bool keepdim=False) -> Tensor",
                                      "The logarithm of the sum along the dims, all when none "
                                      "are given. ONNX: ReduceLogSum.")
                                   .Traits(kReduction)
                                   .Infer(InferFloatReduction)
                                   .Decompose(DecomposeLogSum)
                                   .DecomposeContract(NumericContract::kReassociating)
                                   .Eval(EvalLogSum)
                                   .Map(MapReduction)
                                   .Samples(R"(
reduce_log_sum(f32[2, 3]{0..2})
reduce_log_sum(f16[2, 3, 4]{1..2}, dim=[-1, 0], keepdim=true)
reduce_log_sum(f64[2, 1, 3, 2]{0..2}, dim=[2])
reduce_log_sum(f64[]{3})
reduce_log_sum(bf16[0, 2], dim=[0])
reduce_log_sum(f32[2], dim=[1]) ! "dim 1 is out of range"
reduce_log_sum(i32[2]) ! "a float"
)"));

WEFT_DEFINE_OP(logsumexp, OpSpec("logsumexp(Tensor self, int[] dim=[], "
                                 "bool keepdim=False) -> Tensor",
                                 "The logarithm of the sum of exponentials along the "
                                 "dims, all when none are given, without overflow. "
                                 "ONNX: ReduceLogSumExp; ATen: aten::logsumexp.")
                              .Traits(kReduction)
                              .Infer(InferFloatReduction)
                              .Decompose(DecomposeLogSumExp)
                              .DecomposeContract(NumericContract::kReassociating)
                              .Eval(EvalLogSumExp)
                              .Map(MapReduction)
                              .Flops(PerOperand{4, 1})
                              .Samples(R"(
logsumexp(f32[2, 3])
logsumexp(f32[2, 3]{1000..1001}, dim=[1])
logsumexp(f16[2, 3, 4], dim=[-1, 0], keepdim=true)
logsumexp(f64[2, 1, 3, 2], dim=[2])
logsumexp(f32[2, 2]{-inf, -inf, inf, 0}, dim=[1])
logsumexp(f32[2]{nan, 1})
logsumexp(f64[])
logsumexp(bf16[0, 2], dim=[0])
logsumexp(f32[2], dim=[1]) ! "dim 1 is out of range"
logsumexp(i32[2]) ! "a float"
)"));

WEFT_SHARED_VIEW(DimsReduction, reduce_l1, reduce_l2, reduce_sum_square, reduce_log_sum, logsumexp);

}  // namespace weft::ops
