// Matrices with one side of a diagonal set to zero.
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  return Types{args.type(0)};
}

// No element lies above the diagonal.
Folded FoldTril(const OpArgs& args) {
  const Type self = args.type(0);
  const SymInt last = self.dim(self.rank() - 1) - 1;
  const SymInt diagonal = args.attrs().Sym("diagonal");
  if (args.symbols->ProveLe(last, diagonal) != Proof::kYes) return {};
  return args.operand(0);
}

// No element lies below the diagonal.
Folded FoldTriu(const OpArgs& args) {
  const Type self = args.type(0);
  const SymInt last = self.dim(self.rank() - 2) - 1;
  const SymInt diagonal = args.attrs().Sym("diagonal");
  if (args.symbols->ProveLe(diagonal, -last) != Proof::kYes) return {};
  return args.operand(0);
}

template <bool kLower>
absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int64_t diagonal = c.attrs().Int("diagonal");
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  const int rank = self.rank();
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    const int64_t at = index[rank - 1] - index[rank - 2];
    const bool keep = kLower ? at <= diagonal : at >= diagonal;
    return keep ? Dot(index, strides) : -1;
  });
  return absl::OkStatus();
}

// self where `sign` * (column - row - diagonal) is not negative.
template <int sign>
std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  ElementMap map = MapMove(rank, MapVars(0, rank));
  MapIndex inside = MapVar(rank - 1, sign, args.attrs().Sym("diagonal") * -sign);
  inside.terms.push_back({rank - 2, -sign});
  map.accesses[0].guards.push_back({std::move(inside)});
  return map;
}

}  // namespace

// Not kDataMovement: they bring in zeros.
WEFT_DEFINE_OP(tril, OpSpec("tril(Tensor self, SymInt diagonal=0) -> Tensor",
                            "The matrices of the last two dims with zeros "
                            "above the diagonal; a positive one lies above the "
                            "main one. ATen: aten::tril; ONNX: Trilu.")
                         .Infer(Infer)
                         .Fold(FoldTril)
                         .Eval(Eval<true>)
                         .Map(Map<-1>)
                         .Flops(PerResult{0})
                         .Samples(R"(
tril(f32[3, 4])
tril(i64[2, 4, 3], diagonal=1)
tril(f16[2, 1, 3, 3], diagonal=-1)
tril(u4[3, 3])
tril(bool[2, 5], diagonal=4)
tril(u64[1, 1], diagonal=-1)
tril(c64[2, 2])
tril(bf16[0, 3])
tril(f32[3], diagonal=1) ! "at least rank 2"
)"));

WEFT_DEFINE_OP(triu, OpSpec("triu(Tensor self, SymInt diagonal=0) -> Tensor",
                            "The matrices of the last two dims with zeros "
                            "below the diagonal; a positive one lies above the "
                            "main one. ATen: aten::triu; ONNX: Trilu.")
                         .Infer(Infer)
                         .Fold(FoldTriu)
                         .Eval(Eval<false>)
                         .Map(Map<1>)
                         .Flops(PerResult{0})
                         .Samples(R"(
triu(f32[3, 4])
triu(i64[2, 4, 3], diagonal=1)
triu(f16[2, 1, 3, 3], diagonal=-1)
triu(u4[3, 3])
triu(bool[3, 2], diagonal=-2)
triu(u64[1, 1], diagonal=1)
triu(c64[2, 2])
triu(bf16[0, 3])
triu(f32[]) ! "at least rank 2"
)"));

WEFT_SHARED_VIEW(Triangle, tril, triu);

}  // namespace weft::ops
