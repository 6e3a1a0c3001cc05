#include "graph/ops/support/reduce.h"

#include <cmath>
#include <limits>

#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_fold.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

using Check = absl::Status (*)(const OpArgs&, int);

absl::StatusOr<Types> InferChecked(const OpArgs& args, Check check) {
  WEFT_RETURN_IF_ERROR(check(args, 0));
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> axes,
                        ReducedAxes(args.attrs().Ints("dim"), self.rank()));
  return Types{self.WithDims(DimsAfterReduction(self.dims(), axes, args.attrs().Bool("keepdim")))};
}

}  // namespace

absl::StatusOr<Types> InferReduction(const OpArgs& args) { return InferChecked(args, CheckReal); }
absl::StatusOr<Types> InferNumericReduction(const OpArgs& args) {
  return InferChecked(args, CheckNumeric);
}
absl::StatusOr<Types> InferFloatReduction(const OpArgs& args) {
  return InferChecked(args, CheckFloat);
}

Folded FoldReduction(const OpArgs& args) {
  const Type self = args.type(0);
  bool unit = args.op->infer()(args)->front() == self;
  const std::vector<int> axes = *ReducedAxes(args.attrs().Ints("dim"), self.rank());
  for (int axis : axes) {
    unit = unit && self.dim(axis).Is(1);
  }
  if (unit) return args.operand(0);
  return FoldEmptyReduction(args);
}

Folded FoldEmptyReduction(const OpArgs& args) {
  constexpr int64_t kMaxElements = 16;
  const auto dims = args.type(0).static_dims();
  const Types results = *args.op->infer()(args);
  const auto numel = results[0].numel().constant();
  if (!dims || !args.type(0).numel().Is(0) || !numel || *numel == 0 || *numel > kMaxElements) {
    return {};
  }
  const HostTensor empty(args.type(0).dtype(), *dims);
  EvalContext c(*args.op, args.attr_list, absl::MakeConstSpan(&empty, 1), results,
                [](int, absl::Span<const HostTensor>, std::vector<HostTensor>*) {
                  return absl::InternalError("a reduction has no graphs");
                });
  if (!args.op->eval()(c).ok()) return {};
  return c.out(0);
}

std::vector<int64_t> ReductionTargets(absl::Span<const int64_t> dims, absl::Span<const int> axes) {
  std::vector<int64_t> left(dims.begin(), dims.end());
  for (int axis : axes) left[axis] = 1;
  const std::vector<int64_t> strides = BroadcastStrides(left, dims);
  std::vector<int64_t> target;
  ForEachIndex(dims,
               [&](absl::Span<const int64_t> index) { target.push_back(Dot(index, strides)); });
  return target;
}

template <>
double HighestOf(DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  if (DTypeBits(dtype) != 8) return inf;
  const double stored = DecodeFloat(dtype, EncodeFloat(dtype, inf));
  if (std::isinf(stored)) return inf;
  return DecodeFloat(dtype, EncodeFloat(dtype, inf, /*saturate=*/true));
}
template <>
double LowestOf(DType dtype) {
  return -HighestOf<double>(dtype);
}
template <>
int64_t LowestOf(DType dtype) {
  return IntMin(dtype);
}
template <>
int64_t HighestOf(DType dtype) {
  return IntMax(dtype);
}
template <>
uint64_t LowestOf(DType) {
  return 0;
}
template <>
uint64_t HighestOf(DType) {
  return std::numeric_limits<uint64_t>::max();
}

}  // namespace weft::ops
