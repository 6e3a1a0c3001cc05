// Updates of slices by index tuples.
#include "graph/ops/ops.h"
#include "graph/ops/support/index.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/update.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Type self = args.type(0);
  const Type indices = args.type(1);
  const Type updates = args.type(2);
  WEFT_RETURN_IF_ERROR(CheckReduce(args));
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 2));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 1, 1));
  const int front = indices.rank() - 1;
  const SymInt last = indices.dim(front);
  if (!last.is_constant() || last.value() > self.rank()) {
    return Invalid("indices of type ", indices.ToString(), " hold tuples that do not fit ",
                   self.ToString());
  }
  const int tuple = static_cast<int>(last.value());
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, front + self.rank() - tuple));
  for (int i = 0; i < updates.rank(); ++i) {
    const SymInt want = i < front ? indices.dim(i) : self.dim(i - front + tuple);
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, want, updates.dim(i), absl::StrCat("dim ", i, " of updates")));
  }
  return absl::OkStatus();
}

// Folds to self if there are no updates: nothing is written.
Folded Fold(const OpArgs& args) {
  if (args.type(2).numel().Is(0)) return args.operand(0);
  return {};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const HostTensor& indices = c.in(1);
  const int64_t tuple = indices.dim(indices.rank() - 1);
  const std::vector<int64_t> values = indices.ReadInts();
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  std::vector<int64_t> target;
  if (c.in(2).numel() == 0) {
    return Update(self, c.in(2), target, "none", &c.out(0));
  }
  const int64_t inner = Numel(self.dims().subspan(tuple));
  const int64_t tuples = Numel(indices.dims().first(indices.rank() - 1));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t to = 0;
    for (int64_t k = 0; k < tuple; ++k) {
      WEFT_ASSIGN_OR_RETURN(const int64_t i, WrapIndex(values[t * tuple + k], self.dim(k)));
      to += i * strides[k];
    }
    for (int64_t n = 0; n < inner; ++n) target.push_back(to + n);
  }
  return Update(self, c.in(2), target, c.attrs().Str("reduce"), &c.out(0));
}

std::vector<Value*> Functional(Builder& b, const OpArgs& args) {
  return b.Create(scatter_nd, args.operands, args.attr_list);
}

}  // namespace

WEFT_DEFINE_OP(scatter_nd, OpSpec("scatter_nd(Tensor self, Tensor indices, Tensor updates, "
                                  "str reduce=\"none\") -> Tensor",
                                  "self with the slices of updates put at the index tuples in the "
                                  "last dim of indices, or combined with what is there (add, mul, "
                                  "max, min); for none the last of several wins. Negative indices "
                                  "count from the end. ONNX: ScatterND.")
                               .Verify(Verify)
                               .Infer(InferSame)
                               .Fold(Fold)
                               .Eval(Eval)
                               .Map(Absent{"several elements may be written to one place"})
                               .Flops(PerResult{0})
                               .Samples(R"(
scatter_nd(f32[4, 3], i64[2, 1]{0, -1}, f32[2, 3])
scatter_nd(i64[4, 3], i32[5, 2]{-3..2}, i64[5], reduce="add")
scatter_nd(f16[3, 2, 2], i64[2, 2, 1]{0..2}, f16[2, 2, 2, 2], reduce="mul")
scatter_nd(u64[5], i64[3, 1]{0..4}, u64[3], reduce="max")
scatter_nd(i8[5], i64[3, 1]{0..4}, i8[3], reduce="min")
scatter_nd(bool[2], i64[1]{1}, bool[])
scatter_nd(u4[3, 3], i64[1, 1]{1}, u4[1, 3])
scatter_nd(f32[2], i64[2, 0], f32[2, 2])
scatter_nd(bf16[3, 2], i64[0, 1], bf16[0, 2])
scatter_nd(f32[3], i64[2, 2], f32[2]) ! "tuples that do not fit f32[3]"
scatter_nd(f32[3, 2], i64[2, 1], f32[2]) ! "updates must have rank 2"
scatter_nd(f32[3, 2], i64[2, 1], f32[2, 3]) ! "dim 1 of updates: 2 and 3 differ"
scatter_nd(f32[3], i64[2, 1], i32[2]) ! "different dtypes"
scatter_nd(f32[3], i64[2, 1], f32[2], reduce="or") ! "unknown reduce"
scatter_nd(f32[3], i64[], f32[3]) ! "at least rank 1"
)"));

WEFT_DEFINE_OP(scatter_nd_, OpSpec("scatter_nd_(Tensor(a!) self, Tensor indices, Tensor updates, "
                                   "str reduce=\"none\") -> Tensor(a!)",
                                   "scatter_nd, written over self.")
                                .Traits(kSideEffect)
                                .Verify(Verify)
                                .Infer(InferSame)
                                .Eval(Eval)
                                .Functional(Functional)
                                .Flops(PerResult{0})
                                .Samples(R"(
scatter_nd_(f32[4, 3], i64[2, 1]{0, -1}, f32[2, 3])
scatter_nd_(i64[4, 3], i32[5, 2]{-3..2}, i64[5], reduce="add")
scatter_nd_(u4[3, 3], i64[1, 1]{1}, u4[1, 3])
scatter_nd_(bf16[3, 2], i64[0, 1], bf16[0, 2])
scatter_nd_(f32[3], i64[2, 1], i32[2]) ! "different dtypes"
)"));

}  // namespace weft::ops
