#include "lowering/kernel_ops.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/ir/node.h"
#include "graph/ops/index.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/infer.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

// Concatenations of more operands are no kernel: each element would ask all of
// them.
constexpr int kMaxPieces = 8;
constexpr int kMaxSizes = 16;

constexpr DType kI64 = DType::kI64;

int DimOf(const Value* self, int64_t dim) { return *ops::NormalizeDim(dim, self->type().rank()); }

std::vector<int> DimsOf(const Value* self, absl::Span<const int64_t> dims) {
  return *ops::NormalizeDims(dims, self->type().rank());
}

int Permute(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::PermuteView permute(node);
  const std::vector<int> dims = DimsOf(permute.self(), permute.dims());
  Indices from(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) from[dims[i]] = at[i];
  return e.Get(permute.self(), std::move(from), guards);
}

int Reshape(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::ReshapeView reshape(node);
  auto from = ReshapeIndices(e.sizes(), at, e.space().extents, node.result()->type().dims(),
                             reshape.self()->type().dims());
  if (!from) return e.Fail("a reshape takes a division");
  return e.Get(reshape.self(), *std::move(from), guards);
}

int Expand(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::ExpandView expand(node);
  return e.Get(
      expand.self(),
      BroadcastIndices(e.sizes(), at, expand.self()->type().dims(), node.result()->type().dims()),
      guards);
}

int Slice(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::SliceView slice(node);
  const int dim = DimOf(slice.self(), slice.dim());
  Indices from = at;
  const SymInt start =
      ops::SliceStart(e.sizes().symbols(), slice.start(), slice.self()->type().dim(dim));
  from[dim] = at[dim] * slice.step() + start;
  return e.Get(slice.self(), std::move(from), guards);
}

int Select(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::SelectView select(node);
  const int dim = DimOf(select.self(), select.dim());
  Indices from = at;
  const SymInt index =
      ops::FromEnd(e.sizes().symbols(), select.index(), select.self()->type().dim(dim));
  from.insert(from.begin() + dim, ZeroIndex(e.space().extents.size()) + index);
  return e.Get(select.self(), std::move(from), guards);
}

int Split(NestBuilder& e, const Node& node, int result, const Indices& at, const Guards& guards) {
  const ops::SplitWithSizesView split(node);
  const int dim = DimOf(split.self(), split.dim());
  Indices from = at;
  for (int i = 0; i < result; ++i) {
    from[dim] = from[dim] + split.split_sizes()[i];
  }
  return e.Get(split.self(), std::move(from), guards);
}

int Unfold(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::UnfoldView unfold(node);
  const int dim = DimOf(unfold.self(), unfold.dimension());
  Indices from(at.begin(), at.end() - 1);
  from[dim] = at[dim] * unfold.step() + at.back();
  return e.Get(unfold.self(), std::move(from), guards);
}

int Flip(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::FlipView flip(node);
  Indices from = at;
  for (int d : DimsOf(flip.self(), flip.dims())) {
    from[d] = at[d] * SymInt(-1) + (flip.self()->type().dim(d) - 1);
  }
  return e.Get(flip.self(), std::move(from), guards);
}

// `index` modulo a size, which is at least 1 where anything is read.
Index Wrapped(NestBuilder& e, const Index& index, SymInt size) {
  KernelBody& b = e.body();
  const int rest = b.Op(ScalarOp::kRemainder, kI64, e.IndexValue(index), b.Size(size));
  return TermIndex(e.space().extents.size(), rest, size);
}

int Roll(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::RollView roll(node);
  Indices from = at;
  const std::vector<int> dims = DimsOf(roll.self(), roll.dims());
  const auto shifts = roll.shifts();
  for (size_t i = 0; i < dims.size(); ++i) {
    SymInt n = roll.self()->type().dim(dims[i]);
    if (n.Is(0)) continue;
    // Sizes are computed of empty tensors, too.
    if (!e.sizes().AtMost(1, n)) n = Max(n, 1);
    const SymInt shift = Mod(shifts[i], n);
    from[dims[i]] = Wrapped(e, at[dims[i]] + (n - shift), n);
  }
  return e.Get(roll.self(), std::move(from), guards);
}

int Repeat(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::RepeatView repeat(node);
  Indices from = at;
  for (int d = 0; d < repeat.self()->type().rank(); ++d) {
    const SymInt n = repeat.self()->type().dim(d);
    if (repeat.repeats()[d].Is(1) || n.Is(0)) continue;
    from[d] = n.Is(1) ? at[d] * SymInt(0) : Wrapped(e, at[d], n);
  }
  return e.Get(repeat.self(), std::move(from), guards);
}

// Whether a number lies in [0, bound).
int InRange(NestBuilder& e, int value, SymInt bound) {
  KernelBody& b = e.body();
  return b.Op(ScalarOp::kAnd, DType::kBool, b.Compare(ScalarOp::kGe, value, b.ConstInt(kI64, 0)),
              b.Compare(ScalarOp::kLt, value, b.Size(bound)));
}

// `guards` and one that keeps `index` in [0, bound); false when the index is no
// function of the loops alone.
bool AddGuard(const Index& index, SymInt bound, Guards* guards) {
  if (!index.terms.empty()) return false;
  guards->push_back({index.offset, index.strides, bound});
  return true;
}

int PadConstant(NestBuilder& e, const Node& node, const Indices& at, const Guards& guards) {
  const ops::PadView view(node);
  const Type type = node.result()->type();
  const auto pad = view.pad();
  KernelBody& b = e.body();
  int value = b.Const(KernelDType(type.dtype()), 0);
  if (view.value() != nullptr) value = e.Get(view.value(), {}, guards);
  if (value < 0) return -1;
  Indices from = at;
  Guards inside = guards;
  int condition = -1;
  const Type self = view.self()->type();
  for (int d = 0; d < self.rank(); ++d) {
    if (pad[d].Is(0) && pad[self.rank() + d].Is(0)) continue;
    from[d] = at[d] + (SymInt(0) - pad[d]);
    if (!AddGuard(from[d], self.dim(d), &inside)) {
      return e.Fail("a pad of gathered elements");
    }
    const int here = InRange(e, e.IndexValue(from[d]), self.dim(d));
    condition = condition < 0 ? here : b.Op(ScalarOp::kAnd, DType::kBool, condition, here);
  }
  if (e.IsOutside(view.self()) && guards.empty()) {
    return e.Load(view.self(), from, inside, value);
  }
  const int x = e.Get(view.self(), std::move(from), inside);
  if (x < 0 || condition < 0) return x;
  return b.Op(ScalarOp::kSelect, b.dtype(x), condition, x, value);
}

// The position in [0, n) whose element stands at `index`.
int RepeatedPosition(NestBuilder& e, const std::string& mode, int index, SymInt n) {
  KernelBody& b = e.body();
  const int zero = b.ConstInt(kI64, 0);
  if (mode == "wrap") {
    return b.Op(ScalarOp::kRemainder, kI64, index, b.Size(n));
  }
  const int last = b.Size(n - 1);
  if (mode == "edge") {
    return b.Op(ScalarOp::kMinimum, kI64, b.Op(ScalarOp::kMaximum, kI64, index, zero), last);
  }
  const SymInt period = Max((n - 1) * 2, 1);
  const int rest = b.Op(ScalarOp::kRemainder, kI64, index, b.Size(period));
  const int back = b.Op(ScalarOp::kSub, kI64, b.Size((n - 1) * 2), rest);
  return b.Op(ScalarOp::kSelect, kI64, b.Compare(ScalarOp::kLe, rest, last), rest, back);
}

int Pad(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::PadView view(node);
  const std::string& mode = view.mode();
  if (mode == "constant") return PadConstant(e, node, at, guards);
  const auto pad = view.pad();
  const Type self = view.self()->type();
  Indices from = at;
  for (int d = 0; d < self.rank(); ++d) {
    if (pad[d].Is(0) && pad[self.rank() + d].Is(0)) continue;
    const int index = e.IndexValue(at[d] + (SymInt(0) - pad[d]));
    from[d] =
        TermIndex(at[d].strides.size(), RepeatedPosition(e, mode, index, self.dim(d)), self.dim(d));
  }
  return e.Get(view.self(), std::move(from), guards);
}

int Triangle(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::TriangleView triangle(node);
  const int x = e.Get(triangle.self(), at, guards);
  if (x < 0) return -1;
  KernelBody& b = e.body();
  const size_t rank = at.size();
  const int offset = e.IndexValue(at[rank - 1] + at[rank - 2] * SymInt(-1));
  const int keep = b.Compare(node.Is(ops::tril) ? ScalarOp::kLe : ScalarOp::kGe, offset,
                             b.Size(triangle.diagonal()));
  return b.Op(ScalarOp::kSelect, b.dtype(x), keep, x, b.Const(b.dtype(x), 0));
}

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

int SliceScatter(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::SliceScatterView scatter(node);
  if (!scatter.step().Is(1)) {
    return e.Fail("a slice_scatter with a step");
  }
  const int dim = DimOf(scatter.self(), scatter.dim());
  const SymInt length = scatter.src()->type().dim(dim);
  const SymInt start =
      ops::SliceStart(e.sizes().symbols(), scatter.start(), scatter.self()->type().dim(dim));
  Indices from = at;
  from[dim] = at[dim] + (SymInt(0) - start);
  Guards inside = guards;
  if (!AddGuard(from[dim], length, &inside)) {
    return e.Fail("a slice_scatter of gathered elements");
  }
  const int condition = InRange(e, e.IndexValue(from[dim]), length);
  const int src = e.Get(scatter.src(), std::move(from), inside);
  const int self = e.Get(scatter.self(), at, guards);
  if (src < 0 || self < 0) return -1;
  KernelBody& b = e.body();
  return b.Op(ScalarOp::kSelect, b.dtype(self), condition, src, self);
}

int SelectScatter(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::SelectScatterView scatter(node);
  const int dim = DimOf(scatter.self(), scatter.dim());
  Indices from = at;
  from.erase(from.begin() + dim);
  const int src = e.Get(scatter.src(), std::move(from), guards);
  const int self = e.Get(scatter.self(), at, guards);
  if (src < 0 || self < 0) return -1;
  KernelBody& b = e.body();
  const SymInt index =
      ops::FromEnd(e.sizes().symbols(), scatter.index(), scatter.self()->type().dim(dim));
  const int here = b.Compare(ScalarOp::kEq, e.IndexValue(at[dim]), b.Size(index));
  return b.Op(ScalarOp::kSelect, b.dtype(self), here, src, self);
}

// The element of an index tensor as an index into `bound` elements; nothing
// while it is on its way.
bool GetTerm(NestBuilder& e, const Value* index, Indices at, const Guards& guards, SymInt bound,
             Index* out) {
  const int value = e.Get(index, std::move(at), guards);
  if (value < 0) return false;
  const int position = e.body().Convert(value, kI64);
  e.ExpectLoadAt(position);
  *out = TermIndex(e.space().extents.size(), position, bound);
  return true;
}

int Gather(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::GatherView gather(node);
  const int dim = DimOf(gather.self(), gather.dim());
  Indices from = at;
  if (!GetTerm(e, gather.index(), at, guards, gather.self()->type().dim(dim), &from[dim])) {
    return -1;
  }
  return e.Get(gather.self(), std::move(from), guards);
}

int IndexSelect(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::IndexSelectView select(node);
  const int dim = DimOf(select.self(), select.dim());
  const int rank = select.index()->type().rank();
  Index term;
  if (!GetTerm(e, select.index(), Indices(at.begin() + dim, at.begin() + dim + rank), guards,
               select.self()->type().dim(dim), &term)) {
    return -1;
  }
  Indices from(at.begin(), at.begin() + dim);
  from.push_back(std::move(term));
  from.insert(from.end(), at.begin() + dim + rank, at.end());
  return e.Get(select.self(), std::move(from), guards);
}

int GatherNd(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const ops::GatherNdView gather(node);
  const Type self = gather.self()->type();
  const Type indices = gather.indices()->type();
  const int batch = static_cast<int>(gather.batch_dims());
  const int front = indices.rank() - 1;
  const int tuple = static_cast<int>(indices.dim(front).value());
  Indices from(at.begin(), at.begin() + batch);
  bool ready = true;
  for (int k = 0; k < tuple; ++k) {
    Indices where(at.begin(), at.begin() + front);
    where.push_back(ZeroIndex(e.space().extents.size()) + SymInt(k));
    Index term;
    ready =
        GetTerm(e, gather.indices(), std::move(where), guards, self.dim(batch + k), &term) && ready;
    from.push_back(std::move(term));
  }
  if (!ready) return -1;
  from.insert(from.end(), at.begin() + front, at.end());
  return e.Get(gather.self(), std::move(from), guards);
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
      {&ops::permute, Permute},
      {&ops::reshape, Reshape},
      {&ops::expand, Expand},
      {&ops::slice, Slice},
      {&ops::select, Select},
      {&ops::split_with_sizes, Split},
      {&ops::unfold, Unfold},
      {&ops::flip, Flip},
      {&ops::roll, Roll},
      {&ops::repeat, Repeat},
      {&ops::pad, Pad},
      {&ops::tril, Triangle},
      {&ops::triu, Triangle},
      {&ops::cat, Cat},
      {&ops::slice_scatter, SliceScatter},
      {&ops::select_scatter, SelectScatter},
      {&ops::gather, Gather},
      {&ops::index_select, IndexSelect},
      {&ops::gather_nd, GatherNd},
      {&ops::arange, Arange},
      {&ops::eye, Eye},
      {&ops::sym_constant, SymConstant},
  };
  const auto it = table->find(&op);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace weft
