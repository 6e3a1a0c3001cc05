// Dims in another order.
#include <algorithm>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const auto dims = args.attrs().Syms("dims");
  if (static_cast<int>(dims.size()) == args.type(0).rank()) {
    return absl::OkStatus();
  }
  return Invalid("dims ", ToString(dims), " do not fit ", args.type(0).ToString());
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
  const std::vector<int> before = *NormalizeDims(self->node()->attrs().Ints("dims"), rank);
  std::vector<int> both;
  for (int d : dims) both.push_back(before[d]);
  if (IsIdentity(both)) return self->node()->operand(0);
  return {};
}

// `strides` of `from` for the dims of the result. In tiles: both sides stay in the cache,
// as whole weights are permuted when constants fold.
template <typename T>
void CopyPermuted(const T* from, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides,
                  T* to) {
  constexpr int64_t kTile = 32;
  const int last = static_cast<int>(dims.size()) - 1;
  const std::vector<int64_t> steps = ContiguousStrides(dims);
  // The dim that runs through `from`.
  int near = last;
  for (int d = 0; d < last; ++d) {
    if (dims[d] > 1 && (strides[d] < strides[near] || dims[near] == 1)) near = d;
  }
  std::vector<int64_t> outer(dims.begin(), dims.end());
  outer[last] = outer[near] = 1;
  const int64_t rows = near == last ? 1 : dims[near];
  ForEachIndex(outer, [&](absl::Span<const int64_t> index) {
    const T* source = from + Dot(index, strides);
    T* target = to + Dot(index, steps);
    for (int64_t i0 = 0; i0 < rows; i0 += kTile) {
      for (int64_t j0 = 0; j0 < dims[last]; j0 += kTile) {
        const int64_t i1 = std::min(i0 + kTile, rows);
        const int64_t j1 = std::min(j0 + kTile, dims[last]);
        for (int64_t i = i0; i < i1; ++i) {
          for (int64_t j = j0; j < j1; ++j) {
            target[i * steps[near] + j] = source[i * strides[near] + j * strides[last]];
          }
        }
      }
    }
  });
}

absl::Status Eval(EvalContext& c) {
  const HostTensor self = c.in(0).Contiguous();
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  std::vector<int64_t> permuted;
  const std::vector<int> dims = *NormalizeDims(c.attrs().Ints("dims"), self.rank());
  for (int d : dims) permuted.push_back(strides[d]);
  const auto permute = [&](auto element) {
    using T = decltype(element);
    CopyPermuted(self.data<T>(), c.out(0).dims(), permuted, c.out(0).data<T>());
  };
  if (self.rank() > 1 && self.numel() > 0) {
    switch (DTypeBits(self.dtype())) {
      case 8:
        permute(uint8_t());
        return absl::OkStatus();
      case 16:
        permute(uint16_t());
        return absl::OkStatus();
      case 32:
        permute(uint32_t());
        return absl::OkStatus();
      case 64:
        permute(uint64_t());
        return absl::OkStatus();
      default:
        break;
    }
  }
  MoveElements(self, &c.out(0),
               [&](absl::Span<const int64_t> index) { return Dot(index, permuted); });
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  const int rank = view.type(0).rank();
  const std::vector<int> dims = *NormalizeDims(view.attrs().Ints("dims"), rank);
  std::vector<int64_t> inverse(rank);
  for (int i = 0; i < rank; ++i) inverse[dims[i]] = i;
  return Permute(b, update, inverse);
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const std::vector<int> dims = *NormalizeDims(args.attrs().Ints("dims"), rank);
  std::vector<MapIndex> at(rank);
  for (int i = 0; i < rank; ++i) at[dims[i]] = MapVar(i);
  return MapMove(rank, std::move(at));
}

}  // namespace

WEFT_DEFINE_OP(permute, OpSpec("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                               "Dim i of the result is dim dims[i] of self. "
                               "ATen: aten::permute.")
                            .Traits(kDataMovement)
                            .Verify(Verify)
                            .Infer(Infer)
                            .Fold(Fold)
                            .Eval(Eval)
                            .Map(Map)
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
