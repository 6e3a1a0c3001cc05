// Other sizes for the same elements.
#include "graph/ir/node.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const auto size = args.attrs().Syms("size");
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, size, "size"));
  const SymInt have = args.type(0).numel();
  const SymInt want = Product(size);
  if (MayBeEqual(args, have, want)) return absl::OkStatus();
  return Invalid("cannot see ", args.type(0).ToString(), " of ", have.ToString(), " elements as ",
                 ToString(size), " of ", want.ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDims(args.attrs().Syms("size"))};
}

// The same sizes again, or those from before another reshape.
Folded Fold(const OpArgs& args) {
  const auto size = args.attrs().Syms("size");
  Value* self = args.operand(0);
  if (self->type().dims() == size) return self;
  if (!self->IsResultOf(*args.op)) return {};
  Value* origin = self->node()->operand(0);
  if (origin->type().dims() == size) return origin;
  return {};
}

absl::Status Eval(EvalContext& c) {
  if (c.in(0).numel() != c.out(0).numel()) {
    return Invalid("cannot see ", c.in(0).type().ToString(), " as ", c.out_type(0).ToString());
  }
  c.set_out(0, c.in(0).Contiguous().Reshaped(c.out(0).dims()));
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  return base == nullptr ? nullptr : Reshape(b, update, DimsOf(base->type()));
}

std::optional<ElementMap> Map(const MapArgs& args) { return MapSameNumber(args.out().rank()); }

}  // namespace

WEFT_DEFINE_OP(reshape, OpSpec("reshape(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                               "The elements of self in row-major order, seen with the "
                               "sizes `size`; there is no -1 and no copying of 0. "
                               "Always a view, where something is written: what copies "
                               "is a clone and a reshape. ATen: aten::view.")
                            .Traits(kDataMovement)
                            .Verify(Verify)
                            .Infer(Infer)
                            .Fold(Fold)
                            .Eval(Eval)
                            .Map(Map)
                            .InvertView(Invert)
                            .Samples(R"(
reshape(f32[2, 3], size=[3, 2])
reshape(i64[6], size=[1, 2, 3])
reshape(f16[2, 3, 4, 1], size=[24])
reshape(bool[], size=[1, 1])
reshape(u64[1], size=[])
reshape(i4[3, 2], size=[2, 3])
reshape(bf16[0, 5], size=[7, 0, 2])
reshape(f32[2, 3], size=[4, 2]) ! "f32[2, 3] of 6 elements as [4, 2] of 8"
reshape(f32[2, 3], size=[-2, -3]) ! "size[0] is negative"
reshape(f32[2], size=[3000000000, 3000000000, 3000000000]) ! "overflow"
)"));

WEFT_SHARED_VIEW(Sized, reshape);

}  // namespace weft::ops
