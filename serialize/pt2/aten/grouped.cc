// Matmuls of groups of rows with one matrix each, as in mixtures of experts. The ends of groups are
// data: each group is a slice between two unbacked sizes.
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

constexpr char kOrigin[] = "the ends of groups are sorted and within the tensor";

// 0, followed by the end of each group: ascending numbers of at most `limit`, which is checked at
// run time.
SymInts BoundsOf(AtenCall& c, Value* ends, SymInt limit) {
  constexpr int64_t kMaxGroups = 1 << 12;
  const SymInt groups = DimOf(ends, 0);
  if (RankOf(ends) != 1 || !groups.is_constant() || groups.value() > kMaxGroups) {
    c.Unsupported("the number of groups is not constant, or is too large");
  }
  SymbolTable& symbols = c.b().module().symbols();
  ends = Convert(c, ends, DType::kI64);
  SymInts bounds = {SymInt(0)};
  const auto check = [&](SymInt condition) {
    if (symbols.Assume(condition, kOrigin) == Proof::kNo) c.Fail("the groups do not fit");
  };
  for (int64_t i = 0; i < groups.value(); ++i) {
    const SymInt end = c.Op(ops::item, {Select(c, ends, 0, i)})->type().symint();
    check(LessEqual(bounds.back(), end));
    bounds.push_back(end);
  }
  check(LessEqual(bounds.back(), limit));
  return bounds;
}

Value* Product(AtenCall& c, Value* a, Value* b) { return c.Op(ops::matmul, {a, b}); }

// Multiplies the rows of each group by its matrix; rows after the last group give zeros.
Value* RowsTimesMatrices(AtenCall& c, Value* rows, Value* matrices, const SymInts& bounds) {
  std::vector<Value*> parts;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    parts.push_back(Product(c, Slice(c, rows, 0, bounds[i], bounds[i + 1]),
                            Select(c, matrices, 0, static_cast<int64_t>(i))));
  }
  const SymInt rest = DimOf(rows, 0) - bounds.back();
  parts.push_back(Zeros(c, {rest, DimOf(matrices, 2)}, DTypeOf(rows)));
  return Cat(c, parts, 0);
}

// [K, M] and [K, N], both divided into groups along K: one [M, N] per group.
Value* ColumnsTimesRows(AtenCall& c, Value* a, Value* b, const SymInts& bounds) {
  std::vector<Value*> parts;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    Value* columns = Permute(c, Slice(c, a, 0, bounds[i], bounds[i + 1]), {1, 0});
    parts.push_back(Unsqueeze(c, Product(c, columns, Slice(c, b, 0, bounds[i], bounds[i + 1])), 0));
  }
  if (parts.empty()) return c.Unsupported("there are no groups");
  return Cat(c, parts, 0);
}

void GroupedFallback(AtenCall& c) {
  Value* rows = c.T("input");
  Value* weight = c.T("weight");
  if (RankOf(rows) != 2 || RankOf(weight) != 3) {
    return c.Return(c.Fail("input must have 2 dims and weight 3"));
  }
  c.Return(RowsTimesMatrices(c, rows, weight, BoundsOf(c, c.T("offs"), DimOf(rows, 0))));
}

void GroupedFallbackBackward(AtenCall& c) {
  Value* rows = c.T("input");
  Value* weight = c.T("weight");
  Value* grad = c.T("grad_output");
  if (RankOf(rows) != 2 || RankOf(weight) != 3 || RankOf(grad) != 2) {
    return c.Return(c.Fail("input and grad_output must have 2 dims, and weight 3"));
  }
  const SymInts bounds = BoundsOf(c, c.T("offs"), DimOf(rows, 0));
  c.Return(RowsTimesMatrices(c, grad, Permute(c, weight, {0, 2, 1}), bounds));
  c.Return(ColumnsTimesRows(c, rows, grad, bounds));
}

// The ranks select the grouped dim: rows (2, 3), columns (3, 2), the contracted dim (2, 2), or a
// plain batch (3, 3).
void GroupedMatmul(AtenCall& c) {
  Value* a = c.T("self");
  Value* b = c.T("mat2");
  if (c.Has("bias")) return c.Return(c.Unsupported("a bias"));
  const DType dtype = c.Dtype("out_dtype", DTypeOf(a));
  const int ranks = 10 * RankOf(a) + RankOf(b);
  if (ranks == 33) return c.Return(Convert(c, Product(c, a, b), dtype));
  Value* ends = c.T("offs");
  Value* y = nullptr;
  if (ranks == 23) {
    y = RowsTimesMatrices(c, a, b, BoundsOf(c, ends, DimOf(a, 0)));
  } else if (ranks == 22) {
    y = ColumnsTimesRows(c, Permute(c, a, {1, 0}), b, BoundsOf(c, ends, DimOf(a, 1)));
  } else if (ranks == 32) {
    // The transposed matmul of groups of rows.
    y = RowsTimesMatrices(c, Permute(c, b, {1, 0}), Permute(c, a, {0, 2, 1}),
                          BoundsOf(c, ends, DimOf(b, 1)));
    y = Permute(c, y, {1, 0});
  } else {
    return c.Return(c.Fail("self and mat2 must have 2 or 3 dims"));
  }
  c.Return(Convert(c, y, dtype));
}

constexpr AtenOp kTable[] = {
    {"_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
     "out_dtype=None) -> Tensor",
     GroupedMatmul},
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     GroupedFallback},
    {"transformers::grouped_mm_fallback_backward(Tensor input, Tensor weight, Tensor offs, Tensor "
     "grad_output) -> (Tensor, Tensor)",
     GroupedFallbackBackward},
};

}  // namespace

absl::Span<const AtenOp> GroupedTable() { return kTable; }

}  // namespace weft::pt2
