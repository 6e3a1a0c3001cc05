// Copies side by side.
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const auto repeats = args.attrs().Syms("repeats");
  if (static_cast<int>(repeats.size()) != self.rank()) {
    return Invalid("repeats ", ToString(repeats), " do not fit ", self.ToString());
  }
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, repeats, "repeats"));
  std::vector<SymInt> dims;
  for (int i = 0; i < self.rank(); ++i) {
    dims.push_back(self.dim(i) * repeats[i]);
  }
  return Types{self.WithDims(dims)};
}

// Once.
Folded Fold(const OpArgs& args) {
  for (SymInt r : args.attrs().Syms("repeats")) {
    if (!r.Is(1)) return {};
  }
  return args.operand(0);
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    int64_t from = 0;
    for (int i = 0; i < self.rank(); ++i) {
      from += index[i] % self.dim(i) * strides[i];
    }
    return from;
  });
  return absl::OkStatus();
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const Type self = args.operands[0];
  const auto repeats = args.attrs().Syms("repeats");
  std::vector<MapIndex> at = MapVars(0, self.rank());
  for (int d = 0; d < self.rank(); ++d) {
    if (repeats[d].Is(1) || self.dim(d).Is(0)) continue;
    if (self.dim(d).Is(1)) {
      at[d].terms[0].factor = 0;
    } else {
      at[d].boundary = MapBoundary::kWrap;
      at[d].size = self.dim(d);
    }
  }
  return MapMove(self.rank(), std::move(at));
}

}  // namespace

WEFT_DEFINE_OP(repeat, OpSpec("repeat(Tensor self, SymInt[] repeats) -> Tensor",
                              "Copies of self side by side, repeats[i] along dim i. "
                              "ONNX: Tile; ATen: aten::repeat without new dims.")
                           .Traits(kDataMovement)
                           .Infer(Infer)
                           .Fold(Fold)
                           .Eval(Eval)
                           .Map(Map)
                           .Samples(R"(
repeat(f32[2, 3], repeats=[2, 1])
repeat(i64[3], repeats=[3])
repeat(f16[2, 1, 3, 1], repeats=[1, 2, 2, 3])
repeat(u4[3], repeats=[2])
repeat(bool[], repeats=[])
repeat(u64[2, 2], repeats=[1, 1])
repeat(bf16[2], repeats=[0])
repeat(f32[0, 2], repeats=[3, 2])
repeat(f32[2], repeats=[1, 2]) ! "repeats [1, 2] do not fit f32[2]"
repeat(f32[2], repeats=[-1]) ! "repeats[0] is negative"
)"));

}  // namespace weft::ops
