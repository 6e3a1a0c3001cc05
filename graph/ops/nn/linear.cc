// The affine map of fully connected layers.
#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckAccumulator(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 2));
  return CheckRank(args, 2, 1);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type weight = args.type(1);
  std::vector<SymInt> dims = DimsOf(args.type(0));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, dims.back(), weight.dim(1), "the features of input and weight"));
  dims.back() = weight.dim(0);
  if (args.has(2)) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, args.type(2).dim(0), dims.back(), "bias and weight"));
  }
  return Types{args.type(0).WithDims(dims)};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  Value* y = b.Op(matmul, {args.operand(0), Transpose(b, args.operand(1))});
  if (args.has(2)) y = b.Op(add, {y, args.operand(2)});
  return {y};
}

absl::Status Eval(EvalContext& c) {
  const int64_t k = c.in(1).dim(1);
  const int64_t n = c.in(1).dim(0);
  const int64_t m = Numel(c.in(0).dims().first(c.in(0).rank() - 1));
  return VisitProductDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(c.in(0));
    const std::vector<T> w = Read<T>(c.in(1));
    std::vector<T> y = Multiply<T>(
        {1, m, n, k, [&](int64_t) { return x.data(); },
         [&](int64_t, const Panel& panel, T* to) { CopyTransposedPanel(w.data(), k, panel, to); }});
    if (c.has(2)) {
      const std::vector<T> bias = Read<T>(c.in(2));
      for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % n];
    }
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

SymInt Flops(const FlopsArgs& args) {
  const SymInt bias = args.has(2) ? args.result_size() : SymInt(0);
  return 2 * args.result_size() * args.operands[0].dims().back() + bias;
}

}  // namespace

WEFT_DEFINE_OP(linear, OpSpec("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor",
                              "input times the transpose of weight [out, in], plus bias [out]. "
                              "ATen: aten::linear.")
                           .Verify(Verify)
                           .Infer(Infer)
                           .Decompose(Decompose)
                           .DecomposeContract(NumericContract::kReassociating)
                           .Eval(Eval)
                           .Flops(Flops)
                           .Samples(R"(
linear(f32[2, 3, 4], f32[5, 4], f32[5])
linear(f32[4], f32[5, 4], none)
linear(f32[70, 300], f32[65, 300], f32[65])
linear(f64[2, 4], f64[3, 4], f64[3])
linear(f16[2, 4], f16[3, 4], f16[3])
linear(bf16[2, 4], bf16[3, 4], bf16[3])
linear(i32[2, 4]{-9..9}, i32[3, 4]{-9..9}, i32[3]{-9..9})
linear(f32[0, 4], f32[3, 4], f32[3])
linear(f32[2, 4], f32[3, 5], none) ! "the features of input and weight: 4 and 5 differ"
linear(f32[2, 4], f32[3, 4], f32[4]) ! "bias and weight: 4 and 3 differ"
linear(f32[2, 4], f32[4], none) ! "weight must have rank 2"
linear(f32[], f32[3, 4], none) ! "at least rank 1"
linear(i8[2, 4], i8[3, 4], none) ! "32- or 64-bit integers"
)"));

WEFT_SHARED_VIEW(BiasedProduct, linear);

}  // namespace weft::ops
