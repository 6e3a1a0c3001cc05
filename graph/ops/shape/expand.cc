// Broadcasting to given sizes.
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// A size 1 becomes any size; others stay.
absl::Status Verify(const OpArgs& args) {
  const Type self = args.type(0);
  const auto size = args.attrs().Syms("size");
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, size, "size"));
  const int grown = static_cast<int>(size.size()) - self.rank();
  bool fits = grown >= 0;
  for (int i = 0; fits && i < self.rank(); ++i) {
    fits = MayBroadcastTo(args, self.dim(i), size[grown + i]);
  }
  if (fits) return absl::OkStatus();
  return Invalid("cannot broadcast ", self.ToString(), " to ", ToString(size));
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDims(args.attrs().Syms("size"))};
}

// To the sizes that self has.
Folded Fold(const OpArgs& args) {
  if (args.type(0).dims() != args.attrs().Syms("size")) return {};
  return args.operand(0);
}

absl::Status Eval(EvalContext& c) {
  const std::vector<int64_t> strides = BroadcastStrides(c.in(0).dims(), c.out(0).dims());
  MoveElements(c.in(0), &c.out(0),
               [&](absl::Span<const int64_t> index) { return Dot(index, strides); });
  return absl::OkStatus();
}

// Requires that no element is shown twice: there are no elements, or all sizes are those of self,
// except for new dims of size 1.
Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  const Type self = view.type(0);
  const auto size = view.attrs().Syms("size");
  const int grown = static_cast<int>(size.size()) - self.rank();
  if (Product(size).Is(0)) return base;
  for (int i = 0; i < static_cast<int>(size.size()); ++i) {
    const SymInt before = i < grown ? SymInt(1) : self.dim(i - grown);
    if (view.symbols->ProveEq(before, size[i]) == Proof::kYes) continue;
    return b.Fail(Invalid("expand of ", self.ToString(), " to ", ToString(size),
                          " shows elements more than once, "
                          "which cannot be written"));
  }
  return base == nullptr ? nullptr : Reshape(b, update, DimsOf(base->type()));
}

std::optional<ElementMap> Map(const MapArgs& args) {
  return MapMove(args.out().rank(),
                 BroadcastMapIndices(args, args.operands[0].dims(), args.out().dims()));
}

}  // namespace

WEFT_DEFINE_OP(expand, OpSpec("expand(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                              "NumPy broadcasting of self to the sizes `size`: dims of "
                              "size 1 are repeated, new dims come in front; there is "
                              "no -1. ATen: aten::expand.")
                           .Traits(kDataMovement)
                           .Verify(Verify)
                           .Infer(Infer)
                           .Fold(Fold)
                           .Eval(Eval)
                           .Map(Map)
                           .InvertView(Invert)
                           .Samples(R"(
expand(f32[2, 1], size=[2, 3])
expand(i64[3], size=[2, 3])
expand(f16[1, 3, 1], size=[2, 4, 3, 5])
expand(bool[], size=[2])
expand(u4[], size=[])
expand(bf16[1, 2], size=[0, 2])
expand(f64[0, 1], size=[0, 3])
expand(i8[1, 1], size=[1, 1])
expand(f32[3], size=[4]) ! "cannot broadcast f32[3] to [4]"
expand(f32[2, 3], size=[3]) ! "cannot broadcast f32[2, 3] to [3]"
expand(f32[1], size=[-1]) ! "size[0] is negative"
)"));

WEFT_SHARED_VIEW(Sized, expand);

}  // namespace weft::ops
