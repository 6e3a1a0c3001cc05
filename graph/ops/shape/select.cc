// Selects one index of a dim and removes the dim.
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<int> DimOf(const OpArgs& args) {
  return NormalizeDim(args.attrs().Int("dim"), args.type(0).rank());
}

absl::Status Verify(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const int dim, DimOf(args));
  const SymInt n = args.type(0).dim(dim);
  const SymInt index = args.attrs().Sym("index");
  if (args.MayHold(Less(index, n)) && args.MayHold(LessEqual(-n, index))) {
    return absl::OkStatus();
  }
  return Invalid("index ", index.ToString(), " is out of range for size ", n.ToString(), " of dim ",
                 dim);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const int dim, DimOf(args));
  std::vector<SymInt> dims = DimsOf(args.type(0));
  dims.erase(dims.begin() + dim);
  return Types{args.type(0).WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const int64_t n = self.dim(dim);
  const int64_t index = c.attrs().Int("index");
  if (index < -n || index >= n) {
    return absl::OutOfRangeError(absl::StrCat("index ", index, " is out of range for size ", n));
  }
  std::vector<int64_t> strides = ContiguousStrides(self.dims());
  const int64_t first = (index < 0 ? index + n : index) * strides[dim];
  strides.erase(strides.begin() + dim);
  MoveElements(self, &c.out(0),
               [&](absl::Span<const int64_t> at) { return first + Dot(at, strides); });
  return absl::OkStatus();
}

// Folds to the src of a select_scatter.
Folded Fold(const OpArgs& args) { return FoldViewOfScatter(args, select_scatter); }

// Folds to self if src is the view of self itself: nothing is replaced by other values.
Folded FoldScatter(const OpArgs& args) { return FoldScatterOfView(args, select); }

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  return ScatterBack(b, select_scatter, view, base, update);
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const Type self = args.operands[0];
  const int dim = *NormalizeDim(args.attrs().Int("dim"), self.rank());
  std::vector<MapIndex> at = MapVars(0, rank);
  at.insert(at.begin() + dim,
            MapNumber(FromEnd(*args.symbols, args.attrs().Sym("index"), self.dim(dim))));
  return MapMove(rank, std::move(at));
}

absl::Status VerifyScatter(const OpArgs& args) { return CheckViewed(args, select); }

absl::Status EvalScatter(EvalContext& c) { return EvalScatterOf(c, select); }

// src where its dim is at the index, else self.
std::optional<ElementMap> MapScatter(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  const SymInt index = FromEnd(*args.symbols, args.attrs().Sym("index"), args.out().dim(dim));
  ElementMap map = MapMove(rank, MapVars(0, rank));
  OperandAccess src = map.accesses[0];
  src.operand = 1;
  src.at.erase(src.at.begin() + dim);
  src.guards.push_back({MapVar(dim, 1, SymInt(0) - index), 1});
  map.accesses.insert(map.accesses.begin(), std::move(src));
  return map;
}

}  // namespace

WEFT_DEFINE_OP(select, OpSpec("select(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
                              "The elements at `index` of `dim`, without that dim; a negative "
                              "index counts from the end. ATen: aten::select.int.")
                           .Traits(kDataMovement)
                           .Verify(Verify)
                           .Infer(Infer)
                           .Fold(Fold)
                           .Eval(Eval)
                           .Map(Map)
                           .InvertView(Invert)
                           .Samples(R"(
select(f32[3, 4], dim=0, index=1)
select(i64[2, 3, 4], dim=-1, index=-4)
select(bool[5], dim=0, index=4)
select(u4[3, 5], dim=1, index=2)
select(f16[0, 2], dim=1, index=0)
select(c64[2, 2], dim=0, index=-1)
select(f32[3], dim=0, index=3) ! "index 3 is out of range for size 3 of dim 0"
select(f32[3], dim=0, index=-4) ! "index -4 is out of range"
select(f32[], dim=0, index=0) ! "out of range for a scalar"
)"));

WEFT_DEFINE_OP(select_scatter,
               OpSpec("select_scatter(Tensor self, Tensor src, int dim, SymInt index) "
                      "-> Tensor",
                      "self with the elements at `index` of `dim` replaced by those of "
                      "src. ATen: aten::select_scatter.")
                   .Traits(kDataMovement)
                   .Verify(VerifyScatter)
                   .Infer(InferSame)
                   .Fold(FoldScatter)
                   .Eval(EvalScatter)
                   .Map(MapScatter)
                   .Samples(R"(
select_scatter(f32[3, 4], f32[4], dim=0, index=1)
select_scatter(i64[2, 3, 4], i64[2, 3], dim=-1, index=-4)
select_scatter(bool[5], bool[], dim=0, index=4)
select_scatter(u4[3, 5], u4[3], dim=1, index=2)
select_scatter(f16[0, 2], f16[0], dim=1, index=0)
select_scatter(f32[3, 4], f32[3], dim=0, index=1) ! "src has type f32[3], the view of self f32[4]"
select_scatter(f32[3], f32[], dim=0, index=3) ! "index 3 is out of range"
select_scatter(f32[3], i32[], dim=0, index=1) ! "different dtypes"
)"));

}  // namespace weft::ops
