// Positions in sorted sequences.
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

// There is one sequence for all values, or one for each line of them.
absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  const DType dtype = args.attrs().Dtype("dtype");
  if (dtype != DType::kI64 && dtype != DType::kI32) {
    return Invalid("dtype must be i64 or i32, got ", DTypeName(dtype));
  }
  const Type sequence = args.type(0);
  if (sequence.rank() == 1) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, sequence.rank()));
  for (int i = 0; i + 1 < sequence.rank(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, sequence.dim(i), args.type(1).dim(i),
                                         "the lines of sorted_sequence and self"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(1).WithDType(args.attrs().Dtype("dtype"))};
}

// Bisection: the first element that is not below `v`, or, with `right`, the first one above it.
// Comparisons with NaN are false.
template <typename T>
int64_t Position(const T* line, int64_t n, T v, bool right) {
  int64_t begin = 0;
  int64_t end = n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (right ? line[middle] > v : line[middle] >= v) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& sequence = c.in(0);
  const int64_t n = sequence.dims().back();
  const bool right = c.attrs().Bool("right");
  // Values for each line.
  int64_t per_line = c.in(1).numel();
  if (sequence.rank() > 1) per_line = c.in(1).dims().back();
  return VisitDomain(sequence.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> lines = Read<T>(sequence);
    const std::vector<T> x = Read<T>(c.in(1));
    std::vector<int64_t> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t line = static_cast<int64_t>(i) / per_line;
      y[i] = Position(lines.data() + line * n, n, x[i], right);
    }
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

}  // namespace

WEFT_DEFINE_OP(searchsorted, OpSpec("searchsorted(Tensor sorted_sequence, Tensor self, bool "
                                    "right=False, ScalarType dtype=i64) -> Tensor",
                                    "How many elements of the sequence stand before each "
                                    "value, in front of its equals or (`right`) behind them. "
                                    "sorted_sequence has one dim, or the sequence of each "
                                    "line of self in its last one. ATen: aten::searchsorted, "
                                    "aten::bucketize.")
                                 .Verify(Verify)
                                 .Infer(Infer)
                                 .Eval(Eval)
                                 .Map(Absent{"a search decides which elements are read"})
                                 .Flops(Absent{"the number depends on the algorithm"})
                                 .Samples(R"(
searchsorted(f32[5]{-2, -1, 0, 1, 2}, f32[2, 3])
searchsorted(i64[5]{0, 1, 1, 3, 9}, i64[4]{0, 1, 2, 10}, right=true)
searchsorted(f32[2, 3]{0, 1, 2, -1, 0, 1}, f32[2, 4], dtype=i32)
searchsorted(f16[4]{0, 1, 2, nan}, f16[3]{nan, 1, 5})
searchsorted(u64[3]{1, 2, 3}, u64[])
searchsorted(f32[0], f32[2])
searchsorted(f32[2, 3], f32[3, 4]) ! "the lines of sorted_sequence and self: 2 and 3 differ"
searchsorted(f32[2, 3], f32[3]) ! "self must have rank 2"
searchsorted(f32[2], i64[3]) ! "different dtypes"
searchsorted(f32[2], f32[3], dtype=i16) ! "dtype must be i64 or i32, got i16"
)"));

}  // namespace weft::ops
