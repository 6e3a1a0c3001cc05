#include "lowering/kernel_ops.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

// Concatenations of more operands are no kernel: each element would ask all of
// them.
constexpr int kMaxPieces = 8;
constexpr int kMaxSizes = 16;

constexpr DType kI64 = DType::kI64;

Type SelfType(const Node& node) { return node.operand(0)->type(); }

int DimOf(const Node& node, const char* name) {
  return *ops::NormalizeDim(node.attrs().Int(name), SelfType(node).rank());
}

std::vector<int> DimsOf(const Node& node, const char* name) {
  return *ops::NormalizeDims(node.attrs().Ints(name), SelfType(node).rank());
}

int Permute(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const std::vector<int> dims = DimsOf(node, "dims");
  Indices from(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) from[dims[i]] = at[i];
  return e.Get(node.operand(0), std::move(from), guards);
}

int Reshape(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  auto from = ReshapeIndices(e.sizes(), at, e.space().extents, node.result()->type().dims(),
                             SelfType(node).dims());
  if (!from) return e.Fail("a reshape takes a division");
  return e.Get(node.operand(0), *std::move(from), guards);
}

int Expand(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  return e.Get(node.operand(0),
               BroadcastIndices(e.sizes(), at, SelfType(node).dims(), node.result()->type().dims()),
               guards);
}

int Slice(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dim");
  Indices from = at;
  const SymInt start = SliceStart(e.sizes(), node.attrs(), SelfType(node).dim(dim));
  from[dim] = at[dim] * node.attrs().Sym("step") + start;
  return e.Get(node.operand(0), std::move(from), guards);
}

int Select(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dim");
  Indices from = at;
  const SymInt index = FromEnd(e.sizes(), node.attrs().Sym("index"), SelfType(node).dim(dim));
  from.insert(from.begin() + dim, ZeroIndex(e.space().extents.size()) + index);
  return e.Get(node.operand(0), std::move(from), guards);
}

int Split(NestBuilder& e, const Node& node, int result, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dim");
  Indices from = at;
  for (int i = 0; i < result; ++i) {
    from[dim] = from[dim] + node.attrs().Syms("split_sizes")[i];
  }
  return e.Get(node.operand(0), std::move(from), guards);
}

int Unfold(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dimension");
  Indices from(at.begin(), at.end() - 1);
  from[dim] = at[dim] * node.attrs().Sym("step") + at.back();
  return e.Get(node.operand(0), std::move(from), guards);
}

int Flip(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  Indices from = at;
  for (int d : DimsOf(node, "dims")) {
    from[d] = at[d] * SymInt(-1) + (SelfType(node).dim(d) - 1);
  }
  return e.Get(node.operand(0), std::move(from), guards);
}

// `index` modulo a size, which is at least 1 where anything is read.
Index Wrapped(NestBuilder& e, const Index& index, SymInt size) {
  KernelBody& b = e.body();
  const int rest = b.Op(ScalarOp::kRemainder, kI64, e.IndexValue(index), b.Size(size));
  return TermIndex(e.space().extents.size(), rest, size);
}

int Roll(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  Indices from = at;
  const std::vector<int> dims = DimsOf(node, "dims");
  const auto shifts = node.attrs().Syms("shifts");
  for (size_t i = 0; i < dims.size(); ++i) {
    SymInt n = SelfType(node).dim(dims[i]);
    if (n.Is(0)) continue;
    // Sizes are computed of empty tensors, too.
    if (!e.sizes().AtMost(1, n)) n = Max(n, 1);
    const SymInt shift = Mod(shifts[i], n);
    from[dims[i]] = Wrapped(e, at[dims[i]] + (n - shift), n);
  }
  return e.Get(node.operand(0), std::move(from), guards);
}

int Repeat(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  Indices from = at;
  for (int d = 0; d < SelfType(node).rank(); ++d) {
    const SymInt n = SelfType(node).dim(d);
    if (node.attrs().Syms("repeats")[d].Is(1) || n.Is(0)) continue;
    from[d] = n.Is(1) ? at[d] * SymInt(0) : Wrapped(e, at[d], n);
  }
  return e.Get(node.operand(0), std::move(from), guards);
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
  const Type type = node.result()->type();
  const auto pad = node.attrs().Syms("pad");
  KernelBody& b = e.body();
  int value = b.Const(KernelDType(type.dtype()), 0);
  if (node.has_operand(1)) value = e.Get(node.operand(1), {}, guards);
  if (value < 0) return -1;
  Indices from = at;
  Guards inside = guards;
  int condition = -1;
  const Type self = SelfType(node);
  for (int d = 0; d < self.rank(); ++d) {
    if (pad[d].Is(0) && pad[self.rank() + d].Is(0)) continue;
    from[d] = at[d] + (SymInt(0) - pad[d]);
    if (!AddGuard(from[d], self.dim(d), &inside)) {
      return e.Fail("a pad of gathered elements");
    }
    const int here = InRange(e, e.IndexValue(from[d]), self.dim(d));
    condition = condition < 0 ? here : b.Op(ScalarOp::kAnd, DType::kBool, condition, here);
  }
  if (e.IsOutside(node.operand(0)) && guards.empty()) {
    return e.Load(node.operand(0), from, inside, value);
  }
  const int x = e.Get(node.operand(0), std::move(from), inside);
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
  const std::string& mode = node.attrs().Str("mode");
  if (mode == "constant") return PadConstant(e, node, at, guards);
  const auto pad = node.attrs().Syms("pad");
  const Type self = SelfType(node);
  Indices from = at;
  for (int d = 0; d < self.rank(); ++d) {
    if (pad[d].Is(0) && pad[self.rank() + d].Is(0)) continue;
    const int index = e.IndexValue(at[d] + (SymInt(0) - pad[d]));
    from[d] =
        TermIndex(at[d].strides.size(), RepeatedPosition(e, mode, index, self.dim(d)), self.dim(d));
  }
  return e.Get(node.operand(0), std::move(from), guards);
}

int Triangle(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int x = e.Get(node.operand(0), at, guards);
  if (x < 0) return -1;
  KernelBody& b = e.body();
  const size_t rank = at.size();
  const int offset = e.IndexValue(at[rank - 1] + at[rank - 2] * SymInt(-1));
  const int keep = b.Compare(node.Is(ops::tril) ? ScalarOp::kLe : ScalarOp::kGe, offset,
                             b.Size(node.attrs().Sym("diagonal")));
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
  const int dim = DimOf(node, "dim");
  const int n = node.num_operands();
  std::vector<SymInt> starts = {0};
  for (int k = 0; k < n; ++k) {
    starts.push_back(starts[k] + node.operand(k)->type().dim(dim));
  }
  Indices from = at;
  const int piece = PieceAt(e, at[dim], starts);
  if (piece >= 0) {
    from[dim] = at[dim] + (SymInt(0) - starts[piece]);
    return e.Get(node.operand(piece), std::move(from), guards);
  }
  if (n > kMaxPieces) return e.Fail("a concatenation of many operands");
  std::vector<int> pieces;
  bool ready = true;
  for (int k = 0; k < n; ++k) {
    Guards inside = guards;
    from[dim] = at[dim] + (SymInt(0) - starts[k]);
    if (!AddGuard(from[dim], node.operand(k)->type().dim(dim), &inside)) {
      return e.Fail("a concatenation of gathered elements");
    }
    pieces.push_back(e.Get(node.operand(k), from, inside));
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
  if (!node.attrs().Sym("step").Is(1)) {
    return e.Fail("a slice_scatter with a step");
  }
  const int dim = DimOf(node, "dim");
  const SymInt length = node.operand(1)->type().dim(dim);
  const SymInt start = SliceStart(e.sizes(), node.attrs(), SelfType(node).dim(dim));
  Indices from = at;
  from[dim] = at[dim] + (SymInt(0) - start);
  Guards inside = guards;
  if (!AddGuard(from[dim], length, &inside)) {
    return e.Fail("a slice_scatter of gathered elements");
  }
  const int condition = InRange(e, e.IndexValue(from[dim]), length);
  const int src = e.Get(node.operand(1), std::move(from), inside);
  const int self = e.Get(node.operand(0), at, guards);
  if (src < 0 || self < 0) return -1;
  KernelBody& b = e.body();
  return b.Op(ScalarOp::kSelect, b.dtype(self), condition, src, self);
}

int SelectScatter(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dim");
  Indices from = at;
  from.erase(from.begin() + dim);
  const int src = e.Get(node.operand(1), std::move(from), guards);
  const int self = e.Get(node.operand(0), at, guards);
  if (src < 0 || self < 0) return -1;
  KernelBody& b = e.body();
  const SymInt index = FromEnd(e.sizes(), node.attrs().Sym("index"), SelfType(node).dim(dim));
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
  const int dim = DimOf(node, "dim");
  Indices from = at;
  if (!GetTerm(e, node.operand(1), at, guards, SelfType(node).dim(dim), &from[dim])) {
    return -1;
  }
  return e.Get(node.operand(0), std::move(from), guards);
}

int IndexSelect(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const int dim = DimOf(node, "dim");
  const int rank = node.operand(1)->type().rank();
  Index term;
  if (!GetTerm(e, node.operand(1), Indices(at.begin() + dim, at.begin() + dim + rank), guards,
               SelfType(node).dim(dim), &term)) {
    return -1;
  }
  Indices from(at.begin(), at.begin() + dim);
  from.push_back(std::move(term));
  from.insert(from.end(), at.begin() + dim + rank, at.end());
  return e.Get(node.operand(0), std::move(from), guards);
}

int GatherNd(NestBuilder& e, const Node& node, int, const Indices& at, const Guards& guards) {
  const Type self = SelfType(node);
  const Type indices = node.operand(1)->type();
  const int batch = static_cast<int>(node.attrs().Int("batch_dims"));
  const int front = indices.rank() - 1;
  const int tuple = static_cast<int>(indices.dim(front).value());
  Indices from(at.begin(), at.begin() + batch);
  bool ready = true;
  for (int k = 0; k < tuple; ++k) {
    Indices where(at.begin(), at.begin() + front);
    where.push_back(ZeroIndex(e.space().extents.size()) + SymInt(k));
    Index term;
    ready =
        GetTerm(e, node.operand(1), std::move(where), guards, self.dim(batch + k), &term) && ready;
    from.push_back(std::move(term));
  }
  if (!ready) return -1;
  from.insert(from.end(), at.begin() + front, at.end());
  return e.Get(node.operand(0), std::move(from), guards);
}

int Arange(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  const Attrs attrs = node.attrs();
  const int value = e.IndexValue(at[0] * attrs.Sym("step") + attrs.Sym("start"));
  return e.body().Convert(value, attrs.Dtype("dtype"));
}

int Eye(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  KernelBody& b = e.body();
  const int offset = e.IndexValue(at[1] + at[0] * SymInt(-1));
  const int one = b.Compare(ScalarOp::kEq, offset, b.ConstInt(kI64, node.attrs().Int("k")));
  return b.Convert(one, KernelDType(node.attrs().Dtype("dtype")));
}

int SymConstant(NestBuilder& e, const Node& node, int, const Indices& at, const Guards&) {
  const auto values = node.attrs().Syms("values");
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
  return b.Convert(value, node.attrs().Dtype("dtype"));
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
