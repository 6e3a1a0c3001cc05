// Rows of tables, and reductions of them.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

void Embedding(AtenCall& c) {
  c.Return(c.Op(ops::index_select, {c.T("weight"), c.T("indices")}, {{"dim", 0}}));
}

enum BagMode { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  Value* bag = nullptr;  // i64[indices]: the bag of each index.
  SymInt count;          // Number of bags.
};

// Bag b has the indices from offsets[b] up to the next offset: an index belongs to the last bag
// that begins at or before it.
Bags BagsOf(AtenCall& c, Value* indices) {
  Bags bags;
  if (RankOf(indices) == 2) {
    const SymInts size = DimsOf(indices);
    bags.count = size[0];
    Value* rows = Expand(c, AlongDim(c, Iota(c, size[0]), 0, 2), size);
    bags.bag = Flatten(c, rows, 0, 1);
    return bags;
  }
  Value* offsets = c.OptT("offsets");
  if (offsets == nullptr || RankOf(offsets) != 1) {
    c.Fail("offsets are missing");
    return bags;
  }
  bags.count = DimOf(offsets, 0);
  if (c.Bool("include_last_offset")) {
    bags.count = bags.count - 1;
    offsets = Slice(c, offsets, 0, 0, bags.count);
  }
  Value* at = AlongDim(c, Iota(c, TypeOf(indices).numel()), 0, 2);
  Value* begins = AlongDim(c, Convert(c, offsets, DType::kI64), 1, 2);
  Value* begun = Convert(c, c.Op(ops::le, {begins, at}), DType::kI64);
  bags.bag = Sub(c, Reduce(c, ops::sum, begun, {1}, false), 1);
  return bags;
}

// sum, mean or max of the rows of each bag. Also returns the bag of each index, the size of each
// bag, and (for max) an unused result.
void EmbeddingBag(AtenCall& c) {
  Value* weight = c.T("weight");
  Value* indices = c.T("indices");
  const int64_t mode = c.Int("mode");
  if (RankOf(weight) != 2 || RankOf(indices) < 1 || mode < 0 || mode > 2) {
    return c.Return(c.Fail("unknown mode, or weight is no matrix"));
  }
  const Bags bags = BagsOf(c, indices);
  const DType dtype = DTypeOf(weight);
  Value* flat = Flatten(c, indices, 0, RankOf(indices) - 1);
  Value* rows = c.Op(ops::index_select, {weight, flat}, {{"dim", 0}});
  if (Value* scale = c.OptT("per_sample_weights")) {
    scale = Flatten(c, scale, 0, RankOf(scale) - 1);
    rows = Mul(c, rows, Unsqueeze(c, scale, 1));
  }
  Value* counted = Full(c, {TypeOf(flat).numel()}, Number(c, DType::kI64, 1));
  const int64_t padding = c.schema().Find("padding_idx") >= 0 ? c.Int("padding_idx", -1) : -1;
  const double neutral = mode == kMax ? -std::numeric_limits<double>::infinity() : 0;
  if (padding >= 0) {
    Value* kept = c.Op(ops::ne, {flat, NumberLike(c, flat, static_cast<double>(padding))});
    counted = Convert(c, kept, DType::kI64);
    rows = Where(c, Unsqueeze(c, kept, 1), rows, NumberLike(c, rows, neutral));
  }
  Value* at = bags.bag == nullptr ? nullptr : Unsqueeze(c, bags.bag, 1);
  Value* sizes = c.Op(ops::scatter_nd, {Zeros(c, {bags.count}, DType::kI64), at, counted},
                      {{"reduce", "add"}});
  Value* base = Full(c, {bags.count, DimOf(weight, 1)}, Number(c, dtype, neutral));
  Value* y = c.Op(ops::scatter_nd, {base, at, rows}, {{"reduce", mode == kMax ? "max" : "add"}});
  Value* filled = Unsqueeze(c, c.Op(ops::gt, {sizes, NumberLike(c, sizes, 0)}), 1);
  if (mode == kMax) y = Where(c, filled, y, NumberLike(c, y, 0));
  if (mode == kMean) {
    Value* n = c.Op(ops::maximum, {sizes, NumberLike(c, sizes, 1)});
    y = Div(c, y, Unsqueeze(c, Convert(c, n, dtype), 1));
  }
  c.Return(y);
  // Results that PyTorch keeps for the backward pass; their sizes depend on the mode.
  for (int i = 1; i < 4; ++i) c.ReturnNone();
}

// The gradient of a table: adds gradients at their rows.
void EmbeddingBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* indices = c.T("indices");
  if (c.Bool("scale_grad_by_freq")) {
    return c.Return(c.Unsupported("scaling by frequency is not supported"));
  }
  const int rank = RankOf(indices);
  if (RankOf(grad) != rank + 1) {
    return c.Return(c.Fail("the gradient has a wrong number of dims"));
  }
  Value* at = Reshape(c, indices, {TypeOf(indices).numel(), SymInt(1)});
  const SymInt width = DimOf(grad, rank);
  Value* rows = Reshape(c, grad, {TypeOf(indices).numel(), width});
  const SymInt padding = c.Sym("padding_idx");
  if (!padding.is_constant() || padding.value() >= 0) {
    Value* kept = c.Op(ops::ne, {at, SymScalar(c, padding, DTypeOf(at))});
    rows = Where(c, kept, rows, NumberLike(c, rows, 0));
  }
  Value* zeros = Zeros(c, {c.Sym("num_weights"), width}, DTypeOf(grad));
  c.Return(c.Op(ops::scatter_nd, {zeros, at, rows}, {{"reduce", "add"}}));
}

constexpr AtenOp kTable[] = {
    {"_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False, int "
     "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor "
     "offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
     "Tensor? per_sample_weights=None, bool include_last_offset=False, int "
     "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     Embedding},
    {"embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, "
     "Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, "
     "bool scale_grad_by_freq, int mode, bool sparse, Tensor? "
     "per_sample_weights, bool include_last_offset, int? padding_idx) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     EmbeddingBag},
    {"embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt "
     "num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
     EmbeddingBackward},
};

}  // namespace

absl::Span<const AtenOp> EmbeddingTable() { return kTable; }

}  // namespace weft::pt2
