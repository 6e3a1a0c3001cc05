// Consecutive parts of a dim.
#include "graph/ops/ops.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const auto sizes = args.attrs().Syms("split_sizes");
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, sizes, "split_sizes"));
  std::vector<SymInt> dims(self.dims().begin(), self.dims().end());
  SymInt total = 0;
  Types types;
  for (SymInt size : sizes) {
    total = total + size;
    dims[dim] = size;
    types.push_back(self.WithDims(dims));
  }
  if (types.empty() || !MayBeEqual(args, total, self.dim(dim))) {
    return Invalid("split_sizes ", ToString(sizes), " do not add up to dim ", dim, " of ",
                   self.ToString());
  }
  return types;
}

// Folds a split into one part.
Folded Fold(const OpArgs& args) {
  if (Infer(args)->front() == args.type(0)) return args.operand(0);
  return {};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  int64_t begin = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    MoveElements(self, &c.out(i), [&](absl::Span<const int64_t> index) {
      return Dot(index, strides) + begin * strides[dim];
    });
    begin += c.out(i).dim(dim);
  }
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  const auto sizes = view.attrs().Syms("split_sizes");
  SymInt start = 0;
  for (int i = 0; i < result; ++i) start = start + sizes[i];
  return b.Op(slice_scatter, {base, update},
              {{"dim", view.attrs().Int("dim")}, {"start", start}, {"end", start + sizes[result]}});
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  const auto sizes = args.attrs().Syms("split_sizes");
  std::vector<MapIndex> at = MapVars(0, rank);
  for (int i = 0; i < args.result; ++i) at[dim].offset = at[dim].offset + sizes[i];
  return MapMove(rank, std::move(at));
}

}  // namespace

WEFT_DEFINE_OP(split_with_sizes, OpSpec("split_with_sizes(Tensor(a) self, SymInt[] split_sizes, "
                                        "int dim=0) -> Tensor(a)[]",
                                        "Consecutive parts of self along `dim`, of these sizes. "
                                        "ATen: aten::split_with_sizes.")
                                     .Traits(kDataMovement)
                                     .Infer(Infer)
                                     .Fold(Fold)
                                     .Eval(Eval)
                                     .Map(Map)
                                     .InvertView(Invert)
                                     .Samples(R"(
split_with_sizes(f32[5], split_sizes=[2, 3])
split_with_sizes(i64[2, 6], split_sizes=[1, 0, 5], dim=-1)
split_with_sizes(f16[2, 3, 2, 2], split_sizes=[1, 1, 1], dim=1)
split_with_sizes(u4[5], split_sizes=[1, 4])
split_with_sizes(bool[3], split_sizes=[3])
split_with_sizes(u64[0, 2], split_sizes=[0, 0])
split_with_sizes(f32[5], split_sizes=[2, 2]) ! "[2, 2] do not add up to dim 0"
split_with_sizes(f32[5], split_sizes=[6, -1]) ! "split_sizes[1] is negative"
split_with_sizes(f32[0], split_sizes=[]) ! "do not add up"
split_with_sizes(f32[], split_sizes=[1]) ! "out of range for a scalar"
)"));

}  // namespace weft::ops
