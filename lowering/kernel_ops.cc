#include "lowering/kernel_ops.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/infer.h"
#include "lowering/kernel_moves.h"

namespace weft {
namespace {

// Concatenations of more operands are no kernel: each element would ask all of
// them.
constexpr int kMaxPieces = 8;
constexpr int kMaxSizes = 16;

constexpr DType kI64 = DType::kI64;

int DimOf(const Value* self, int64_t dim) { return *ops::NormalizeDim(dim, self->type().rank()); }

// Piece `k` of a concatenation begins at starts[k]. The piece that a loop runs
// over exactly; -1: none.
int PieceAt(NestBuilder& e, const Index& index, const std::vector<SymInt>& starts) {
  if (!index.terms.empty()) return -1;
  int loop = -1;
  for (size_t l = 0; l < index.strides.size(); ++l) {
    if (index.strides[l].Is(0)) continue;
    if (loop >= 0 || !index.strides[l].Is(1)) return -1;
    loop = static_cast<int>(l);
  }
  for (size_t k = 0; k + 1 < starts.size(); ++k) {
    const SymInt extent = loop < 0 ? SymInt(1) : e.space().extents[loop];
    if (index.offset == starts[k] && starts[k] + extent == starts[k + 1]) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

int Cat(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::CatView cat(node);
  const OperandRange tensors = cat.tensors();
  const int dim = DimOf(tensors[0], cat.dim());
  const int n = tensors.size();
  std::vector<SymInt> starts = {0};
  for (int k = 0; k < n; ++k) {
    starts.push_back(starts[k] + tensors[k]->type().dim(dim));
  }
  Indices from = at;
  const int piece = PieceAt(e, at[dim], starts);
  if (piece >= 0) {
    from[dim] = at[dim] + (SymInt(0) - starts[piece]);
    return e.Get(tensors[piece], std::move(from), guards);
  }
  if (n > kMaxPieces) return e.Fail("a concatenation of many operands");
  std::vector<int> pieces;
  bool ready = true;
  for (int k = 0; k < n; ++k) {
    Guards inside = guards;
    from[dim] = at[dim] + (SymInt(0) - starts[k]);
    if (!AddGuard(from[dim], tensors[k]->type().dim(dim), &inside)) {
      return e.Fail("a concatenation of gathered elements");
    }
    pieces.push_back(e.Get(tensors[k], from, inside));
    ready = ready && pieces.back() >= 0;
  }
  if (!ready) return -1;
  KernelBody& b = e.body();
  const int position = e.IndexValue(at[dim]);
  int value = pieces[n - 1];
  for (int k = n - 2; k >= 0; --k) {
    const int before = b.Compare(ScalarOp::kLt, position, b.Size(starts[k + 1]));
    value = b.Op(ScalarOp::kSelect, b.dtype(value), before, pieces[k], value);
  }
  return value;
}

int Arange(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  const ops::ArangeView arange(node);
  const int value = e.IndexValue(at[0] * arange.step() + arange.start());
  return e.body().Convert(value, arange.dtype());
}

int Eye(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  const ops::EyeView eye(node);
  KernelBody& b = e.body();
  const int offset = e.IndexValue(at[1] + at[0] * SymInt(-1));
  const int one = b.Compare(ScalarOp::kEq, offset, b.ConstInt(kI64, eye.k()));
  return b.Convert(one, KernelDType(eye.dtype()));
}

int SymConstant(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  const ops::SymConstantView constant(node);
  const auto values = constant.values();
  if (values.size() > kMaxSizes) return e.Fail("a tensor of many sizes");
  if (values.empty()) return e.body().ConstInt(kI64, 0);
  Index whole = ZeroIndex(e.space().extents.size());
  for (size_t d = 0; d < at.size(); ++d) {
    whole = whole * node.result()->type().dim(static_cast<int>(d)) + at[d];
  }
  KernelBody& b = e.body();
  const int position = e.IndexValue(whole);
  int value = b.Size(values.back());
  for (int k = static_cast<int>(values.size()) - 2; k >= 0; --k) {
    const int here = b.Compare(ScalarOp::kEq, position, b.ConstInt(kI64, k));
    value = b.Op(ScalarOp::kSelect, kI64, here, b.Size(values[k]), value);
  }
  return b.Convert(value, constant.dtype());
}

}  // namespace

MovementFn FindMovementOp(const OpDef& op) {
  static const auto* const table = new absl::flat_hash_map<const OpDef*, MovementFn>{
      {&ops::cat, Cat},
      {&ops::arange, Arange},
      {&ops::eye, Eye},
      {&ops::sym_constant, SymConstant},
  };
  const auto it = table->find(&op);
  if (it != table->end()) return it->second;
  return IsMove(op) ? MoveByMap : nullptr;
}

}  // namespace weft
