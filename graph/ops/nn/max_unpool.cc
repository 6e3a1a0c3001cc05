// The partial inverse of max_pool.
#include "graph/ops/nn/pooling.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const auto size = args.attrs().Syms("size");
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 3));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, self.rank()));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 1, DType::kI64));
  if (static_cast<int>(size.size()) != self.rank()) {
    return Invalid("size must have ", self.rank(), " entries, got ", size.size());
  }
  for (int i = 0; i < self.rank(); ++i) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, self.dim(i), args.type(1).dim(i), "self and indices"));
    if (i >= 2) continue;
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, self.dim(i), size[i], "self and size"));
  }
  return Types{self.WithDims(size)};
}

absl::Status Eval(EvalContext& c) {
  const int64_t in = PlaneSize(c.in(0));
  const int64_t out = PlaneSize(c.out(0));
  std::vector<int64_t> target = Read<int64_t>(c.in(1));
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0 || target[i] >= out) {
      return Invalid("index ", target[i], " is outside of a plane of ", out, " elements");
    }
    target[i] += static_cast<int64_t>(i) / in * out;
  }
  Scatter(c.in(0), target, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(max_unpool,
               OpSpec("max_unpool(Tensor self, Tensor indices, SymInt[] size) -> Tensor",
                      "Zeros of `size` (all dims), where each element of self stands at "
                      "its index in its plane [spatial...]; of equal indices the last "
                      "wins. ATen: aten::max_unpool2d; ONNX: MaxUnpool-11, whose indices "
                      "count from the start of the tensor.")
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"several elements may be written to one place"})
                   .Flops(PerResult{0})
                   .Samples(R"(
max_unpool(f32[1, 1, 2, 2], i64[1, 1, 2, 2]{5, 7, 13, 15}, size=[1, 1, 4, 4])
max_unpool(f32[1, 2, 2], i64[1, 2, 2]{0, 4, 3, 3}, size=[1, 2, 5])
max_unpool(f16[1, 1, 2], i64[1, 1, 2]{1, 0}, size=[1, 1, 3])
max_unpool(i8[1, 1, 2], i64[1, 1, 2]{1, 0}, size=[1, 1, 3])
max_unpool(f32[1, 1, 2], i64[1, 1, 3], size=[1, 1, 9]) ! "self and indices: 2 and 3 differ"
max_unpool(f32[1, 1, 2], i64[1, 1, 2], size=[1, 2, 9]) ! "self and size: 1 and 2 differ"
max_unpool(f32[1, 1, 2], i64[1, 1, 2], size=[9]) ! "size must have 3 entries, got 1"
max_unpool(f32[1, 1, 2], i32[1, 1, 2], size=[1, 1, 9]) ! "indices must have dtype i64"
)"));

}  // namespace weft::ops
