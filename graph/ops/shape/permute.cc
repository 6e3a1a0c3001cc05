// Dims in another order.
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const auto dims = args.attrs().Syms("dims");
  if (static_cast<int>(dims.size()) == args.type(0).rank()) {
    return absl::OkStatus();
  }
  return Invalid("dims ", ToString(dims), " do not fit ",
                 args.type(0).ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> dims,
                        NormalizeDims(args.attrs().Ints("dims"), self.rank()));
  std::vector<SymInt> out;
  for (int d : dims) out.push_back(self.dim(d));
  return Types{self.WithDims(out)};
}

bool IsIdentity(absl::Span<const int> dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// The order that self has, or two that cancel.
Folded Fold(const OpArgs& args) {
  Value* self = args.operand(0);
  const int rank = self->type().rank();
  const std::vector<int> dims = *NormalizeDims(args.attrs().Ints("dims"), rank);
  if (IsIdentity(dims)) return self;
  if (!self->IsResultOf(*args.op)) return {};
  const std::vector<int> before =
      *NormalizeDims(self->node()->attrs().Ints("dims"), rank);
  std::vector<int> both;
  for (int d : dims) both.push_back(before[d]);
  if (IsIdentity(both)) return self->node()->operand(0);
  return {};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<int64_t> strides = ContiguousStrides(c.in(0).dims());
  std::vector<int64_t> permuted;
  const std::vector<int> dims =
      *NormalizeDims(c.attrs().Ints("dims"), c.in(0).rank());
  for (int d : dims) {
    permuted.push_back(strides[d]);
  }
  MoveElements(c.in(0), &c.out(0), [&](absl::Span<const int64_t> index) {
    return Dot(index, permuted);
  });
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base,
              Value* update) {
  const int rank = view.type(0).rank();
  const std::vector<int> dims = *NormalizeDims(view.attrs().Ints("dims"), rank);
  std::vector<int64_t> inverse(rank);
  for (int i = 0; i < rank; ++i) inverse[dims[i]] = i;
  return Permute(b, update, inverse);
}

}  // namespace

WEFT_DEFINE_OP(permute,
               OpSpec("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                      "Dim i of the result is dim dims[i] of self. "
                      "ATen: aten::permute.")
                   .Traits(kDataMovement)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Fold(Fold)
                   .Eval(Eval)
                   .InvertView(Invert)
                   .Samples(R"(
permute(f32[2, 3], dims=[1, 0])
permute(i64[2, 3, 4], dims=[-1, 0, 1])
permute(f16[2, 1, 3, 2], dims=[3, 1, 0, 2])
permute(bool[5], dims=[0])
permute(u64[], dims=[])
permute(u4[3, 5], dims=[1, 0])
permute(i32[0, 3], dims=[1, 0])
permute(f32[2, 3], dims=[0]) ! "dims [0] do not fit f32[2, 3]"
permute(f32[2, 3], dims=[0, -2]) ! "dim -2 appears twice"
permute(f32[2, 3], dims=[0, 2]) ! "dim 2 is out of range"
)"));

}  // namespace weft::ops
