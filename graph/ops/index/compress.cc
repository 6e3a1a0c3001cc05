// The slices, or elements, that a condition picks.
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  WEFT_RETURN_IF_ERROR(CheckBool(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 1));
  const bool flat = !args.attrs().Has("dim");
  int dim = 0;
  if (!flat) {
    WEFT_ASSIGN_OR_RETURN(dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  }
  const SymInt n = flat ? self.numel() : self.dim(dim);
  if (!args.MayHold(LessEqual(args.type(1).dim(0), n))) {
    return Invalid("condition of type ", args.type(1).ToString(), " is longer than ", n.ToString());
  }
  const SymInt found = FreshSize(args, 0, args.symbols->RangeOf(n).max);
  std::vector<SymInt> dims = {found};
  if (!flat) {
    dims.assign(self.dims().begin(), self.dims().end());
    dims[dim] = found;
  }
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  HostTensor self = c.in(0).Contiguous();
  int dim = 0;
  if (c.attrs().Has("dim")) {
    dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  } else {
    self = self.Reshaped({self.numel()});
  }
  const std::vector<int64_t> condition = c.in(1).ReadInts();
  if (static_cast<int64_t>(condition.size()) > self.dim(dim)) {
    return Invalid("condition of type ", c.in(1).type().ToString(), " is longer than ",
                   self.dim(dim));
  }
  std::vector<int64_t> picked;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) picked.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> dims(self.dims().begin(), self.dims().end());
  dims[dim] = static_cast<int64_t>(picked.size());
  HostTensor out(self.dtype(), dims);
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  MoveElements(self, &out, [&](absl::Span<const int64_t> index) {
    return Dot(index, strides) + (picked[index[dim]] - index[dim]) * strides[dim];
  });
  c.set_out(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(compress, OpSpec("compress(Tensor self, Tensor condition, int? dim) -> Tensor",
                                "The slices along `dim`, or the elements of self in row-major "
                                "order, where condition (bool[n]) is true. A short condition picks "
                                "nothing more. ONNX: Compress.")
                             .Traits(kDataDependent)
                             .Infer(Infer)
                             .Eval(Eval)
                             .Flops(PerResult{0})
                             .Samples(R"(
compress(f32[3, 2], bool[3], dim=0)
compress(i64[2, 4], bool[3]{0, 1, 1}, dim=-1)
compress(f16[2, 3], bool[5]{0, 1, 0, 0, 1})
compress(u4[5], bool[5]{1, 0, 1, 1, 0})
compress(u64[2, 2, 1, 2], bool[2]{0, 0}, dim=1)
compress(c64[2], bool[2]{1, 0})
compress(bool[], bool[1]{1})
compress(bf16[0, 2], bool[0], dim=0)
compress(f32[2], bool[3]) ! "condition of type bool[3] is longer than 2"
compress(f32[2], i64[2]) ! "condition must have bool dtype"
compress(f32[2], bool[]) ! "condition must have rank 1"
compress(f32[2], bool[2], dim=1) ! "dim 1 is out of range"
)"));

}  // namespace weft::ops
