// Elements selected by their positions.
#include "graph/ops/index.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/indexing.h"
#include "serialize/pt2/aten/tables.h"

namespace weft::pt2 {
namespace {

// Replaces a mask over several dims by one index for each of them.
std::vector<Value*> ExpandMasks(AtenCall& c, std::vector<Value*> indices) {
  std::vector<Value*> expanded;
  for (Value* index : indices) {
    const DType dtype = DTypeOf(index);
    if (index == nullptr || (dtype != DType::kBool && dtype != DType::kU8)) {
      if (index != nullptr && dtype != DType::kI64 && dtype != DType::kI32) {
        index = Convert(c, index, DType::kI64);
      }
      expanded.push_back(index);
      continue;
    }
    Value* positions = c.Op(ops::nonzero, {index});
    for (int d = 0; d < RankOf(index); ++d) {
      expanded.push_back(positions == nullptr ? nullptr : Select(c, positions, 1, d));
    }
  }
  return expanded;
}

bool AreAdjacent(const Ints& dims) {
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] != dims[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

Indexing MakeIndexing(AtenCall& c, Value* self, std::vector<Value*> indices) {
  Indexing result;
  indices = ExpandMasks(c, std::move(indices));
  const int rank = RankOf(self);
  Ints dims;
  std::vector<Value*> used;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    dims.push_back(static_cast<int64_t>(i));
    used.push_back(indices[i]);
    result.broadcast = BroadcastDims(result.broadcast, DimsOf(indices[i]));
  }
  if (static_cast<int>(indices.size()) > rank || used.empty()) {
    c.Fail(absl::StrCat(indices.size(), " indices for ", rank, " dims"));
    return result;
  }
  result.indexed = static_cast<int>(used.size());
  result.place = AreAdjacent(dims) ? static_cast<int>(dims[0]) : 0;
  result.perm = dims;
  for (int64_t d : OtherDims(rank, dims)) result.perm.push_back(d);
  const int last = static_cast<int>(result.broadcast.size());
  for (Value*& v : used) {
    v = Unsqueeze(c, Expand(c, Convert(c, v, DType::kI64), result.broadcast), last);
  }
  result.tuples = Cat(c, used, last);
  return result;
}

namespace {

// The indices' dims are first in the gathered result, and are moved to their place.
void Index(AtenCall& c) {
  Value* self = c.T("self");
  const Indexing i = MakeIndexing(c, self, c.Ts("indices"));
  if (!c.ok()) return;
  Value* y = c.Op(ops::gather_nd, {Permute(c, self, i.perm), i.tuples});
  const int n = static_cast<int>(i.broadcast.size());
  Ints perm;
  for (int d = 0; d < i.place; ++d) perm.push_back(n + d);
  for (int d = 0; d < n; ++d) perm.push_back(d);
  for (int d = n + i.place; d < RankOf(y); ++d) perm.push_back(d);
  c.Return(Permute(c, y, perm));
}

// The sizes of x[indices].
SymInts IndexedDims(Value* permuted, const Indexing& i) {
  const SymInts have = DimsOf(permuted);
  SymInts size(have.begin() + i.indexed, have.end());
  size.insert(size.begin() + i.place, i.broadcast.begin(), i.broadcast.end());
  return size;
}

// Slices along one dim, replaced where they are: `values` has one for each element of a vector of
// indices, or one for a scalar.
Value* PutSlices(AtenCall& c, Value* self, const Indexing& i, Value* values, const char* reduce) {
  const auto dim = static_cast<int>(i.perm[0]);
  if (i.broadcast.empty()) values = Unsqueeze(c, values, dim);
  Value* index = Reshape(c, i.tuples, {TypeOf(i.tuples).numel()});
  index = Expand(c, AlongDim(c, index, dim, RankOf(self)), DimsOf(values));
  return ops::BuildScatter(c, self, index, values, dim, reduce);
}

void IndexPut(AtenCall& c) {
  Value* self = c.T("self");
  Value* values = c.As("values", DTypeOf(self));
  const Indexing i = MakeIndexing(c, self, c.Ts("indices"));
  if (!c.ok()) return;
  const char* reduce = c.Bool("accumulate", false) ? "add" : "none";
  Value* x = Permute(c, self, i.perm);
  // The values with the sizes of x[indices], then with the indices' dims first.
  values = Expand(c, values, IndexedDims(x, i));
  if (i.indexed == 1 && i.perm[0] > 0 && i.broadcast.size() <= 1) {
    return c.Return(PutSlices(c, self, i, values, reduce));
  }
  const int n = static_cast<int>(i.broadcast.size());
  Ints front;
  for (int d = 0; d < n; ++d) front.push_back(i.place + d);
  for (int64_t d : OtherDims(RankOf(values), front)) front.push_back(d);
  values = Permute(c, values, front);
  Value* y = ops::BuildScatterNd(c, x, i.tuples, values, reduce);
  c.Return(Permute(c, y, Inverse(i.perm)));
}

// A scalar is indexed as if it had one dim.
Value* WithDim(AtenCall& c, Value* v) { return RankOf(v) == 0 ? Reshape(c, v, {SymInt(1)}) : v; }

void IndexSelect(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  Value* y = c.Op(ops::index_select, {WithDim(c, self), WithDim(c, c.T("index"))}, {{"dim", dim}});
  c.Return(RankOf(self) == 0 ? Reshape(c, y, {}) : y);
}

void Gather(AtenCall& c) {
  Value* self = c.T("self");
  Value* index = c.T("index");
  if (DTypeOf(index) != DType::kI32) index = Convert(c, index, DType::kI64);
  const int dim = c.Dim("dim", RankOf(self));
  Value* y = c.Op(ops::gather, {WithDim(c, self), WithDim(c, index)}, {{"dim", dim}});
  c.Return(Reshape(c, y, DimsOf(index)));
}

void TakeAlongDim(AtenCall& c) {
  Value* self = c.T("self");
  Value* index = c.T("indices");
  if (!c.Has("dim")) {
    self = Flatten(c, self, 0, RankOf(self) - 1);
    index = Flatten(c, index, 0, RankOf(index) - 1);
    return c.Return(ops::BuildGather(c, self, index, 0));
  }
  const int dim = c.Dim("dim", RankOf(self));
  SymInts have = DimsOf(self);
  SymInts want = DimsOf(index);
  if (have.size() != want.size() || have.empty()) {
    return c.Return(c.Fail("self and indices differ in rank"));
  }
  SymInts size = BroadcastDims(have, want);
  SymInts self_size = size;
  self_size[dim] = have[dim];
  size[dim] = want[dim];
  c.Return(c.Op(ops::gather, {Expand(c, self, self_size), Expand(c, index, size)}, {{"dim", dim}}));
}

void Take(AtenCall& c) {
  Value* self = c.T("self");
  self = Flatten(c, self, 0, RankOf(self) - 1);
  c.Return(ops::BuildIndexSelect(c, self, c.T("index"), 0));
}

void MaskedSelect(AtenCall& c) {
  Value* self = c.T("self");
  Value* mask = c.T("mask");
  const SymInts size = BroadcastDims(DimsOf(self), DimsOf(mask));
  Value* x = Expand(c, self, size);
  Value* at = Expand(c, mask, size);
  const int last = static_cast<int>(size.size()) - 1;
  c.Return(c.Op(ops::compress, {Flatten(c, x, 0, last), Flatten(c, at, 0, last)}, {{"dim", 0}}));
}

void MaskedFill(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Where(c, c.T("mask"), c.As("value", DTypeOf(self)), self));
}

void Nonzero(AtenCall& c) { c.Return(c.Op(ops::nonzero, {c.T("self")})); }

void NonzeroNumpy(AtenCall& c) {
  Value* self = WithDim(c, c.T("self"));
  Value* positions = c.Op(ops::nonzero, {self});
  std::vector<Value*> columns;
  for (int d = 0; d < RankOf(self) && c.ok(); ++d) {
    columns.push_back(Select(c, positions, 1, d));
  }
  c.ReturnList(columns);
}

void ArgWhere(AtenCall& c) { Nonzero(c); }

void Where1(AtenCall& c) {
  Value* self = WithDim(c, c.T("condition"));
  Value* positions = c.Op(ops::nonzero, {self});
  std::vector<Value*> columns;
  for (int d = 0; d < RankOf(self) && c.ok(); ++d) {
    columns.push_back(Select(c, positions, 1, d));
  }
  c.ReturnList(columns);
}

// Adds a dim of num_classes (or the greatest class plus one).
void OneHot(AtenCall& c) {
  Value* self = c.T("self");
  const int64_t classes = c.Int("num_classes");
  if (classes < 1) {
    return c.Return(c.Unsupported("the number of classes is not known"));
  }
  const int rank = RankOf(self);
  Value* at = AlongDim(c, Iota(c, classes), rank, rank + 1);
  Value* hot = c.Op(ops::eq, {Unsqueeze(c, self, rank), at});
  c.Return(Convert(c, hot, DType::kI64));
}

constexpr AtenOp kTable[] = {
    {"_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", Index},
    {"_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     IndexPut},
    {"argwhere(Tensor self) -> Tensor", ArgWhere},
    {"gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> "
     "Tensor",
     Gather},
    {"index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", Index},
    {"index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     IndexPut},
    {"index_select(Tensor self, int dim, Tensor index) -> Tensor", IndexSelect},
    {"masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", MaskedFill},
    {"masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", MaskedFill},
    {"masked_select(Tensor self, Tensor mask) -> Tensor", MaskedSelect},
    {"nonzero(Tensor self) -> Tensor", Nonzero},
    {"nonzero_numpy(Tensor self) -> Tensor[]", NonzeroNumpy},
    {"one_hot(Tensor self, int num_classes=-1) -> Tensor", OneHot},
    {"take(Tensor self, Tensor index) -> Tensor", Take},
    {"take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", TakeAlongDim},
    {"where(Tensor condition) -> Tensor[]", Where1},
};

}  // namespace

absl::Span<const AtenOp> IndexTable() { return kTable; }

}  // namespace weft::pt2
