// Elements in order along a dim: all of them, or the first k.
#include <algorithm>
#include <numeric>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<int> DimOf(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  return NormalizeDim(args.attrs().Int("dim"), args.type(0).rank());
}

absl::StatusOr<Types> InferSort(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(DimOf(args).status());
  return Types{args.type(0), args.type(0).WithDType(DType::kI64)};
}

absl::StatusOr<Types> InferTopk(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const int dim, DimOf(args));
  const Type self = args.type(0);
  const SymInt k = args.attrs().Sym("k");
  if (!args.MayHold(LessEqual(k, self.dim(dim)))) {
    return Invalid("k is ", k.ToString(), " but dim ", dim, " of ", self.ToString(),
                   " has fewer elements");
  }
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, {k}, "k"));
  std::vector<SymInt> dims(self.dims().begin(), self.dims().end());
  dims[dim] = k;
  const Type values = self.WithDims(dims);
  return Types{values, values.WithDType(DType::kI64)};
}

// A strict order; NaN is above all.
template <typename T>
bool Below(T a, T b) {
  return IsNan(b) ? !IsNan(a) : a < b;
}

// Fills both outputs with the first elements of each line in stable order.
absl::Status EvalOrder(EvalContext& c, bool descending) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const Split in = SplitAt(self.dims(), dim);
  const Split out = SplitAt(c.out(0).dims(), dim);
  std::vector<int64_t> source(c.out(0).numel());
  std::vector<int64_t> position(source.size());
  WEFT_RETURN_IF_ERROR(VisitDomain(self.dtype(), [&](auto zero) {
    const auto x = Read<decltype(zero)>(self);
    std::vector<int64_t> line(in.size);
    for (int64_t o = 0; o < out.outer; ++o) {
      for (int64_t n = 0; n < out.inner; ++n) {
        std::iota(line.begin(), line.end(), 0);
        std::stable_sort(line.begin(), line.end(), [&](int64_t i, int64_t j) {
          if (descending) std::swap(i, j);
          return Below(x[in.At(o, i, n)], x[in.At(o, j, n)]);
        });
        for (int64_t i = 0; i < out.size; ++i) {
          position[out.At(o, i, n)] = line[i];
          source[out.At(o, i, n)] = in.At(o, line[i], n);
        }
      }
    }
    return absl::OkStatus();
  }));
  Gather(self, source, &c.out(0));
  Write(position, &c.out(1));
  return absl::OkStatus();
}

absl::Status EvalSort(EvalContext& c) { return EvalOrder(c, c.attrs().Bool("descending")); }

absl::Status EvalTopk(EvalContext& c) { return EvalOrder(c, c.attrs().Bool("largest")); }

}  // namespace

WEFT_DEFINE_OP(sort, OpSpec("sort(Tensor self, int dim=-1, bool descending=False, "
                            "bool stable=True) -> (Tensor values, Tensor indices)",
                            "The elements in order along `dim` and where (i64) they "
                            "stood; NaN is the largest. Equal elements keep their "
                            "order, whatever `stable` says. ATen: aten::sort.stable.")
                         .Infer(InferSort)
                         .Eval(EvalSort)
                         .Map(Absent{"the order of the elements decides"})
                         .Flops(Absent{"the number depends on the algorithm"})
                         .Samples(R"(
sort(f32[2, 3])
sort(f32[4, 3, 2], dim=0, descending=true)
sort(i64[2, 6]{0..2})
sort(u64[5], descending=true)
sort(f16[5]{1, nan, -1, nan, 0})
sort(f16[5]{1, nan, -1, nan, 0}, descending=true)
sort(bool[6], stable=false)
sort(u4[2, 1, 3, 2], dim=-2)
sort(bf16[0, 3], dim=0)
sort(f32[1])
sort(f32[2], dim=1) ! "dim 1 is out of range"
sort(c64[2]) ! "a real dtype"
)"));

WEFT_DEFINE_OP(topk, OpSpec("topk(Tensor self, SymInt k, int dim=-1, "
                            "bool largest=True, bool sorted=True) -> "
                            "(Tensor values, Tensor indices)",
                            "The k largest (or smallest) elements along `dim` and "
                            "where (i64) they stand, the best first, whatever "
                            "`sorted` says; of equal ones the lower position first. "
                            "NaN is the largest. ONNX: TopK; ATen: aten::topk.")
                         .Infer(InferTopk)
                         .Eval(EvalTopk)
                         .Map(Absent{"the order of the elements decides"})
                         .Flops(Absent{"the number depends on the algorithm"})
                         .Samples(R"(
topk(f32[2, 5], k=3)
topk(f32[4, 3, 2], k=2, dim=0, largest=false)
topk(i64[2, 6]{0..2}, k=4)
topk(u64[5], k=5)
topk(f16[5]{1, nan, -1, nan, 0}, k=3)
topk(bool[3, 2], k=1, dim=-2, sorted=false)
topk(i8[2, 3, 1, 2], k=1, dim=2)
topk(bf16[3], k=0)
topk(f32[0, 3], k=2)
topk(f32[3], k=4) ! "k is 4 but dim 0 of f32[3] has fewer elements"
topk(f32[3], k=-1) ! "k[0] is negative: -1"
topk(f32[], k=1) ! "out of range for a scalar"
)"));

}  // namespace weft::ops
