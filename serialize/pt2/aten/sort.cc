// Sorting, the k largest, the median, distinct elements.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/index.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

Value* WithDim(AtenCall& c, Value* v) { return RankOf(v) == 0 ? Reshape(c, v, {SymInt(1)}) : v; }

std::vector<Value*> Sorted(AtenCall& c, Value* self, int dim, bool descending) {
  std::vector<Value*> y = ops::BuildSort(c, WithDim(c, self), dim, descending);
  for (Value*& v : y) v = Reshape(c, v, DimsOf(self));
  return y;
}

void Sort(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(Sorted(c, self, c.Dim("dim", RankOf(self)), c.Bool("descending")));
}

void ArgSort(AtenCall& c) {
  Value* self = c.T("self");
  const auto y = Sorted(c, self, c.Dim("dim", RankOf(self)), c.Bool("descending"));
  if (!y.empty()) c.Return(y[1]);
}

void MSort(AtenCall& c) {
  const auto y = Sorted(c, c.T("self"), 0, false);
  if (!y.empty()) c.Return(y[0]);
}

void TopK(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  std::vector<Value*> y =
      c.Ops(ops::topk, {WithDim(c, self)},
            {{"k", c.Sym("k")}, {"dim", dim}, {"largest", c.Bool("largest")}, {"sorted", true}});
  if (RankOf(self) == 0) {
    for (Value*& v : y) v = Reshape(c, v, {});
  }
  c.Return(y);
}

// Element `index` of the sorted dim, and its original position.
void PickSorted(AtenCall& c, Value* self, int dim, SymInt index, bool keepdim) {
  std::vector<Value*> y = ops::BuildSort(c, WithDim(c, self), dim);
  for (Value*& v : y) {
    v = Slice(c, v, dim, index, index + 1);
    if (!keepdim || RankOf(self) == 0) v = Squeeze(c, v, dim);
  }
  c.Return(y);
}

void KthValue(AtenCall& c) {
  Value* self = c.T("self");
  PickSorted(c, self, c.Dim("dim", RankOf(self)), c.Sym("k") - 1, c.Bool("keepdim"));
}

// The lower of the two middle elements; NaN if there is one.
void MedianDim(AtenCall& c) {
  Value* self = c.T("self");
  const int dim = c.Dim("dim", RankOf(self));
  const SymInt n = RankOf(self) == 0 ? SymInt(1) : DimOf(self, dim);
  if (!IsFloat(DTypeOf(self))) {
    return PickSorted(c, self, dim, FloorDiv(n - 1, 2), c.Bool("keepdim"));
  }
  Value* x = WithDim(c, self);
  const std::vector<Value*> sorted = ops::BuildSort(c, x, dim);
  if (sorted.empty()) return;
  Value* nans = c.Op(ops::isnan, {x});
  Value* any = Reduce(c, ops::any, nans, {dim}, true);
  Value* first = ops::BuildArgmax(c, Convert(c, nans, DType::kU8), dim, /*keepdim=*/true);
  const SymInt middle = FloorDiv(n - 1, 2);
  Value* value = Slice(c, sorted[0], dim, middle, middle + 1);
  Value* index = Slice(c, sorted[1], dim, middle, middle + 1);
  value = Where(c, any, NumberLike(c, value, std::nan("")), value);
  index = Where(c, any, first, index);
  const bool keep = c.Bool("keepdim") && RankOf(self) > 0;
  c.Return(keep ? value : Squeeze(c, value, dim));
  c.Return(keep ? index : Squeeze(c, index, dim));
}

void Median(AtenCall& c) {
  Value* self = c.T("self");
  Value* x = Flatten(c, WithDim(c, self), 0, std::max(RankOf(self), 1) - 1);
  const SymInt middle = FloorDiv(DimOf(x, 0) - 1, 2);
  const std::vector<Value*> sorted = ops::BuildSort(c, x, 0);
  if (sorted.empty()) return;
  Value* y = Squeeze(c, Slice(c, sorted[0], 0, middle, middle + 1), 0);
  if (IsFloat(DTypeOf(x))) {
    Value* any = Reduce(c, ops::any, c.Op(ops::isnan, {x}), {0}, false);
    y = Where(c, any, NumberLike(c, y, std::nan("")), y);
  }
  c.Return(y);
}

// --- Distinct elements ------------------------------------------------------------

// values, inverse, counts; the latter two only if requested.
void UniqueAll(AtenCall& c, bool inverse, bool counts, std::optional<int64_t> dim) {
  Value* self = c.T("self");
  const std::vector<Value*> y = ops::BuildUnique(c, self, dim, /*sorted=*/true);
  if (y.size() != 4) return;
  c.Return(y[0]);
  const bool whole = !dim.has_value();
  if (inverse) {
    c.Return(whole ? Reshape(c, y[2], DimsOf(self)) : y[2]);
  } else {
    c.Return(Zeros(c, {SymInt(0)}, DType::kI64));
  }
  c.Return(counts ? y[3] : Zeros(c, {SymInt(0)}, DType::kI64));
}

void Unique2(AtenCall& c) {
  UniqueAll(c, c.Bool("return_inverse"), c.Bool("return_counts"), std::nullopt);
}

void UniqueDim(AtenCall& c) {
  // PyTorch computes both, whether or not they are requested.
  UniqueAll(c, true, true, c.Dim("dim", RankOf(c.T("self"))));
}

void Unique1(AtenCall& c) {
  Value* self = c.T("self");
  const std::vector<Value*> y = ops::BuildUnique(c, self, std::nullopt, /*sorted=*/true);
  if (y.size() != 4) return;
  c.Return(y[0]);
  c.Return(c.Bool("return_inverse") ? Reshape(c, y[2], DimsOf(self))
                                    : Zeros(c, {SymInt(0)}, DType::kI64));
}

// For each element, whether it is among `test_elements`.
void IsIn(AtenCall& c) {
  const bool scalar = HasArg(c, "test_element");
  const char* first = HasArg(c, "element") ? "element" : "elements";
  const char* second = scalar ? "test_element" : "test_elements";
  const DType dtype = c.Promoted({first, second});
  Value* x = c.As(first, dtype);
  Value* tests = c.As(second, dtype);
  const int rank = RankOf(x);
  tests = Reshape(c, tests, {TypeOf(tests).numel()});
  Value* equal = c.Op(ops::eq, {Unsqueeze(c, x, rank), tests});
  Value* y = Reduce(c, ops::any, equal, {rank}, false);
  c.Return(c.Bool("invert") ? c.Op(ops::logical_not, {y}) : y);
}

constexpr AtenOp kTable[] = {
    {"_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> "
     "(Tensor, Tensor)",
     Unique1},
    {"_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False) -> (Tensor, Tensor, Tensor)",
     Unique2},
    {"argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", ArgSort},
    {"argsort.stable(Tensor self, *, bool stable, int dim=-1, bool "
     "descending=False) -> Tensor",
     ArgSort},
    {"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     IsIn},
    {"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     IsIn},
    {"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     IsIn},
    {"kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> "
     "(Tensor values, Tensor indices)",
     KthValue},
    {"median(Tensor self) -> Tensor", Median},
    {"median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     MedianDim},
    {"msort(Tensor self) -> Tensor", MSort},
    {"sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, "
     "Tensor indices)",
     Sort},
    {"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool "
     "descending=False) -> (Tensor values, Tensor indices)",
     Sort},
    {"topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool "
     "sorted=True) -> (Tensor values, Tensor indices)",
     TopK},
    {"unique_dim(Tensor self, int dim, bool sorted=True, bool "
     "return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, "
     "Tensor)",
     UniqueDim},
};

}  // namespace

absl::Span<const AtenOp> SortTable() { return kTable; }

}  // namespace weft::pt2
