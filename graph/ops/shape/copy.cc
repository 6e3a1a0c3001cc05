// Copies into fresh memory, and over existing values.
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

// Without writes a copy is equivalent to the value.
Folded FoldClone(const OpArgs& args) { return args.operand(0); }

absl::Status EvalClone(EvalContext& c) {
  const std::vector<int64_t> strides = ContiguousStrides(c.in(0).dims());
  MoveElements(c.in(0), &c.out(0),
               [&](absl::Span<const int64_t> index) { return Dot(index, strides); });
  return absl::OkStatus();
}

std::optional<ElementMap> MapClone(const MapArgs& args) {
  return MapMove(args.out().rank(), MapVars(0, args.out().rank()));
}

absl::Status VerifyCopy(const OpArgs& args) {
  const Type self = args.type(0);
  const Type src = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  const int grown = self.rank() - src.rank();
  bool fits = grown >= 0;
  for (int i = 0; fits && i < src.rank(); ++i) {
    fits = MayBroadcastTo(args, src.dim(i), self.dim(grown + i));
  }
  if (fits) return absl::OkStatus();
  return Invalid("cannot broadcast src of type ", src.ToString(), " to ", self.ToString());
}

std::vector<Value*> FunctionalCopy(Builder& b, const OpArgs& args) {
  return {Expand(b, args.operand(1), DimsOf(args.type(0)))};
}

absl::Status EvalCopy(EvalContext& c) {
  const std::vector<int64_t> strides = BroadcastStrides(c.in(1).dims(), c.out(0).dims());
  MoveElements(c.in(1), &c.out(0),
               [&](absl::Span<const int64_t> index) { return Dot(index, strides); });
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(clone, OpSpec("clone(Tensor self) -> Tensor",
                             "The elements of self in memory of their own. Where "
                             "nothing is written it is the identity, and folds away. "
                             "ATen: aten::clone.")
                          .Traits(kDataMovement)
                          .Infer(InferSame)
                          .Fold(FoldClone)
                          .Eval(EvalClone)
                          .Map(MapClone)
                          .Samples(R"(
clone(f32[2, 3])
clone(i64[])
clone(u4[5])
clone(bool[0, 2])
clone(c64[2])
)"));

WEFT_DEFINE_OP(copy_, OpSpec("copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
                             "Writes src, broadcast to self's sizes, over the "
                             "elements of self. All of src is read before anything "
                             "is written. ATen: aten::copy_, with equal dtypes.")
                          .Traits(kSideEffect)
                          .Verify(VerifyCopy)
                          .Infer(InferSame)
                          .Eval(EvalCopy)
                          .Functional(FunctionalCopy)
                          .Flops(PerResult{0})
                          .Samples(R"(
copy_(f32[2, 3], f32[2, 3])
copy_(i64[2, 3], i64[3])
copy_(f16[2, 3], f16[2, 1])
copy_(bool[4], bool[])
copy_(u4[2, 3], u4[1, 3])
copy_(bf16[0, 3], bf16[1, 3])
copy_(f32[], f32[])
copy_(c64[2], c64[2])
copy_(f32[2], i32[2]) ! "different dtypes: f32 and i32"
copy_(f32[2, 3], f32[2]) ! "cannot broadcast src of type f32[2] to f32[2, 3]"
copy_(f32[3], f32[2, 3]) ! "cannot broadcast src"
)"));

}  // namespace weft::ops
