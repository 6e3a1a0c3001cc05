// Concatenates tensors along a dim, and stacks them along a new dim.
#include <algorithm>
#include <cstring>

#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  if (args.size() == 0) return Invalid("needs at least one tensor");
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  for (int i = 1; i < args.size(); ++i) {
    if (args.type(i).rank() == args.type(0).rank()) continue;
    return Invalid("ranks differ: ", args.type(0).ToString(), " and ", args.type(i).ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type first = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), first.rank()));
  std::vector<SymInt> dims(first.dims().begin(), first.dims().end());
  for (int i = 1; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(JoinDims(args, args.type(i), dim, OperandName(args, i), &dims));
    dims[dim] = dims[dim] + args.type(i).dim(dim);
  }
  return Types{first.WithDims(dims)};
}

// Folds to a single operand, or to the only one that is not empty.
Folded Fold(const OpArgs& args) {
  const int dim = *NormalizeDim(args.attrs().Int("dim"), args.type(0).rank());
  Value* only = nullptr;
  for (int i = 0; i < args.size(); ++i) {
    if (args.type(i).dim(dim).Is(0)) continue;
    if (only != nullptr) return {};
    only = args.operand(i);
  }
  if (only == nullptr) only = args.operand(0);
  if (Infer(args)->front() == only->type()) return only;
  return {};
}

// Elements of whole bytes, a row of each operand at a time.
void CopyRows(EvalContext& c, int dim) {
  HostTensor& out = c.out(0);
  const int64_t element = DTypeBits(out.dtype()) / 8;
  const int64_t inner = Numel(out.dims().subspan(dim + 1)) * element;
  const int64_t rows = Numel(out.dims().first(dim));
  uint8_t* to = out.raw();
  for (int i = 0; i < c.num_inputs(); ++i) {
    const int64_t bytes = c.in(i).dim(dim) * inner;
    if (bytes == 0) continue;
    const HostTensor in = c.in(i).Contiguous();
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * out.dim(dim) * inner, in.raw() + row * bytes, bytes);
    }
    to += bytes;
  }
}

absl::Status Eval(EvalContext& c) {
  HostTensor& out = c.out(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), out.rank());
  if (out.numel() == 0) return absl::OkStatus();
  if (DTypeBits(out.dtype()) >= 8) {
    CopyRows(c, dim);
    return absl::OkStatus();
  }
  const std::vector<int64_t> strides = ContiguousStrides(out.dims());
  int64_t begin = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    std::vector<int64_t> target;
    ForEachIndex(c.in(i).dims(), [&](absl::Span<const int64_t> index) {
      target.push_back(Dot(index, strides) + begin * strides[dim]);
    });
    Scatter(c.in(i), target, &out);
    begin += c.in(i).dim(dim);
  }
  return absl::OkStatus();
}

// The dim that stack makes, of rank + 1 dims.
absl::StatusOr<int> StackDim(const OpArgs& args) {
  return NormalizeDim(args.attrs().Int("dim"), args.type(0).rank() + 1);
}

absl::StatusOr<Types> InferStack(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const int dim, StackDim(args));
  const Type first = args.type(0);
  std::vector<SymInt> dims(first.dims().begin(), first.dims().end());
  for (int i = 1; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(JoinDims(args, args.type(i), -1, OperandName(args, i), &dims));
  }
  dims.insert(dims.begin() + dim, SymInt(args.size()));
  return Types{first.WithDims(dims)};
}

// Each operand with the new dim, concatenated.
std::vector<Value*> DecomposeStack(Builder& b, const OpArgs& args) {
  const int dim = *StackDim(args);
  std::vector<Value*> rows;
  for (Value* v : args.operands) {
    std::vector<SymInt> size = DimsOf(v->type());
    size.insert(size.begin() + dim, SymInt(1));
    rows.push_back(Reshape(b, v, size));
  }
  const NamedAttr attr = {"dim", dim};
  return {b.Op(cat, rows, absl::MakeConstSpan(&attr, 1))};
}

// Each operand where the index along `dim` lies in its piece.
std::optional<ElementMap> Map(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  ElementMap map = MapMove(rank, {});
  map.accesses.clear();
  SymInt start = 0;
  for (size_t k = 0; k < args.operands.size(); ++k) {
    OperandAccess piece;
    piece.operand = static_cast<int>(k);
    piece.at = MapVars(0, rank);
    piece.at[dim].offset = SymInt(0) - start;
    const SymInt size = args.operands[k].dim(dim);
    piece.guards.push_back({piece.at[dim], size});
    map.accesses.push_back(std::move(piece));
    start = start + size;
  }
  return map;
}

// Each operand at its index along the new dim.
std::optional<ElementMap> MapStack(const MapArgs& args) {
  const int rank = args.out().rank();
  const int dim = *NormalizeDim(args.attrs().Int("dim"), rank);
  ElementMap map = MapMove(rank, {});
  map.accesses.clear();
  for (int k = 0; k < static_cast<int>(args.operands.size()); ++k) {
    OperandAccess row;
    row.operand = k;
    row.at = MapVars(0, rank);
    row.guards.push_back({MapVar(dim, 1, -k), 1});
    row.at.erase(row.at.begin() + dim);
    map.accesses.push_back(std::move(row));
  }
  return map;
}

}  // namespace

WEFT_DEFINE_OP(cat, OpSpec("cat(Tensor[] tensors, int dim=0) -> Tensor",
                           "The tensors one after the other along `dim`; their "
                           "other sizes are equal. ATen: aten::cat, without its "
                           "exception for tensors of shape [0].")
                        .Traits(kDataMovement)
                        .Verify(Verify)
                        .Infer(Infer)
                        .Fold(Fold)
                        .Eval(Eval)
                        .Map(Map)
                        .Samples(R"(
cat(f32[2, 3], f32[4, 3])
cat(i64[2, 3], i64[2, 1], i64[2, 2], dim=1)
cat(f16[2, 1, 3, 2], f16[2, 1, 3, 2], dim=-1)
cat(u4[3], u4[2])
cat(bool[2])
cat(u64[0], u64[2], u64[0])
cat(bf16[0, 2], bf16[0, 3], dim=1)
cat() ! "at least one tensor"
cat(f32[2], f32[2, 1]) ! "ranks differ: f32[2] and f32[2, 1]"
cat(f32[2], i32[2]) ! "different dtypes: f32 and i32"
cat(f32[2, 3], f32[2, 4]) ! "sizes 3 and 4 of dim 1 differ"
cat(f32[], f32[]) ! "out of range for a scalar"
)"));

WEFT_DEFINE_OP(stack, OpSpec("stack(Tensor[] tensors, int dim=0) -> Tensor",
                             "Tensors of one shape along a new dim of the result. "
                             "ATen: aten::stack.")
                          .Traits(kDataMovement)
                          .Verify(Verify)
                          .Infer(InferStack)
                          .Decompose(DecomposeStack)
                          .Map(MapStack)
                          .Samples(R"(
stack(f32[2, 3], f32[2, 3])
stack(i64[2, 3], i64[2, 3], i64[2, 3], dim=-1)
stack(bool[], bool[])
stack(f16[0], f16[0], dim=1)
stack(u8[1, 2, 3])
stack() ! "at least one tensor"
stack(f32[2], f32[3]) ! "sizes 2 and 3 of dim 0 differ"
stack(f32[2], f32[2], dim=2) ! "dim 2 is out of range"
)"));

}  // namespace weft::ops
