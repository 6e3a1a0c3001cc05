// Elements in reverse, and moved around the end of a dim.
#include "graph/ir/node.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<std::vector<int>> DimsOf(const OpArgs& args) {
  return NormalizeDims(args.attrs().Ints("dims"), args.type(0).rank());
}

absl::StatusOr<Types> InferFlip(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(DimsOf(args).status());
  return Types{args.type(0)};
}

bool AtMostOne(SymInt size) { return size.Is(0) || size.Is(1); }

// Folds a flip along dims of at most one element, and a double flip.
Folded FoldFlip(const OpArgs& args) {
  Value* self = args.operand(0);
  const std::vector<int> dims = *DimsOf(args);
  bool trivial = true;
  for (int d : dims) trivial = trivial && AtMostOne(self->type().dim(d));
  if (trivial) return self;
  if (self->IsResultOf(*args.op) && self->node()->attr_list() == args.attr_list) {
    return self->node()->operand(0);
  }
  return {};
}

absl::Status EvalFlip(EvalContext& c) {
  const HostTensor& self = c.in(0);
  std::vector<int64_t> strides = ContiguousStrides(self.dims());
  int64_t first = 0;
  const std::vector<int> dims = *NormalizeDims(c.attrs().Ints("dims"), self.rank());
  for (int d : dims) {
    first += (self.dim(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  MoveElements(self, &c.out(0),
               [&](absl::Span<const int64_t> index) { return first + Dot(index, strides); });
  return absl::OkStatus();
}

absl::Status VerifyRoll(const OpArgs& args) {
  const auto shifts = args.attrs().Syms("shifts");
  const auto dims = args.attrs().Syms("dims");
  if (shifts.size() == dims.size()) return absl::OkStatus();
  return Invalid("shifts ", ToString(shifts), " and dims ", ToString(dims), " differ in length");
}

// Folds a roll by zero, and along dims of at most one element.
Folded FoldRoll(const OpArgs& args) {
  const auto shifts = args.attrs().Syms("shifts");
  const std::vector<int> dims = *DimsOf(args);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!shifts[i].Is(0) && !AtMostOne(args.type(0).dim(dims[i]))) return {};
  }
  return args.operand(0);
}

absl::Status EvalRoll(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const std::vector<int64_t> shifts = c.attrs().Ints("shifts");
  const std::vector<int> dims = *NormalizeDims(c.attrs().Ints("dims"), self.rank());
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    int64_t from = Dot(index, strides);
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t n = self.dim(dims[i]);
      const int64_t at = index[dims[i]];
      from += ((at - shifts[i] % n + n) % n - at) * strides[dims[i]];
    }
    return from;
  });
  return absl::OkStatus();
}

std::optional<ElementMap> MapFlip(const MapArgs& args) {
  const int rank = args.out().rank();
  const std::vector<int> dims = *NormalizeDims(args.attrs().Ints("dims"), rank);
  std::vector<MapIndex> at = MapVars(0, rank);
  for (int d : dims) {
    at[d] = MapVar(d, -1, args.out().dim(d) - 1);
  }
  return MapMove(rank, std::move(at));
}

// Nothing is read along a dim without elements, but its size is computed all the same.
std::optional<ElementMap> MapRoll(const MapArgs& args) {
  const int rank = args.out().rank();
  const std::vector<int> dims = *NormalizeDims(args.attrs().Ints("dims"), rank);
  const auto shifts = args.attrs().Syms("shifts");
  std::vector<MapIndex> at = MapVars(0, rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    SymInt n = args.out().dim(dims[i]);
    if (n.Is(0)) continue;
    if (args.symbols->ProveLe(1, n) != Proof::kYes) n = Max(n, 1);
    at[dims[i]] = MapVar(dims[i], 1, n - Mod(shifts[i], n));
    at[dims[i]].boundary = MapBoundary::kWrap;
    at[dims[i]].size = n;
  }
  return MapMove(rank, std::move(at));
}

}  // namespace

WEFT_DEFINE_OP(flip, OpSpec("flip(Tensor self, int[] dims) -> Tensor",
                            "The elements in reverse along each of the dims. "
                            "ATen: aten::flip.")
                         .Traits(kDataMovement)
                         .Infer(InferFlip)
                         .Fold(FoldFlip)
                         .Eval(EvalFlip)
                         .Map(MapFlip)
                         .Samples(R"(
flip(f32[5], dims=[0])
flip(i64[2, 3], dims=[-1, 0])
flip(f16[2, 1, 3, 2], dims=[2])
flip(u4[5], dims=[0])
flip(bool[], dims=[])
flip(u64[1, 3], dims=[0])
flip(bf16[0, 2], dims=[0, 1])
flip(f32[2], dims=[1]) ! "dim 1 is out of range"
flip(f32[2], dims=[0, -1]) ! "appears twice"
)"));

WEFT_DEFINE_OP(roll, OpSpec("roll(Tensor self, SymInt[] shifts, int[] dims) -> Tensor",
                            "The elements moved by shifts[i] along dims[i]; what "
                            "leaves at the end comes in at the front. "
                            "ATen: aten::roll, with dims.")
                         .Traits(kDataMovement)
                         .Verify(VerifyRoll)
                         .Infer(InferFlip)
                         .Fold(FoldRoll)
                         .Eval(EvalRoll)
                         .Map(MapRoll)
                         .Samples(R"(
roll(f32[5], shifts=[2], dims=[0])
roll(i64[2, 3], shifts=[-1, 4], dims=[0, -1])
roll(f16[2, 1, 3, 2], shifts=[1], dims=[2])
roll(u4[5], shifts=[-7], dims=[0])
roll(bool[], shifts=[], dims=[])
roll(f32[s0, 4], shifts=[2*s0 + 1, s0 // 2], dims=[1, 0])
roll(i32[s0, s1], shifts=[-s1], dims=[0])
roll(u64[3], shifts=[-9223372036854775808], dims=[0])
roll(bf16[0, 2], shifts=[1, 1], dims=[0, 1])
roll(f32[2], shifts=[1], dims=[]) ! "shifts [1] and dims [] differ in length"
roll(f32[2], shifts=[1], dims=[1]) ! "dim 1 is out of range"
)"));

}  // namespace weft::ops
