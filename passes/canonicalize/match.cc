#include "passes/canonicalize/match.h"

#include <cstring>
#include <vector>

#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"

namespace weft::canonicalize {
namespace {

constexpr int64_t kMaxSplat = 4096;
constexpr int64_t kMaxSmall = 64;

}  // namespace

std::optional<double> SplatFloat(const Value* value) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->numel() == 0 || t->numel() > kMaxSplat ||
      IsComplex(t->dtype())) {
    return std::nullopt;
  }
  const double first = t->DoubleAt(0);
  if (t->numel() == 1) return first;
  // Bits, so that zeros of different signs are different.
  for (double v : t->ReadDoubles()) {
    if (std::memcmp(&v, &first, sizeof v) != 0) return std::nullopt;
  }
  return first;
}

bool IsSmallConstant(const Value* value) {
  const HostTensor* t = LiteralOf(value);
  return t != nullptr && t->numel() <= kMaxSmall;
}

Value* BuildValue(const Match& m, Rewriter& rewriter) { return m.value; }

Value* BuildFolded(const OpDef& op, absl::Span<Value* const> operands,
                   Rewriter& rewriter) {
  std::vector<HostTensor> inputs;
  for (const Value* v : operands) inputs.push_back(*LiteralOf(v));
  auto outputs = Evaluate(op, AttrList::Empty(), inputs);
  if (!outputs.ok()) return nullptr;
  return rewriter.Constant((*outputs)[0]);
}

Value* BuildSplat(const Match& m, double number, Rewriter& rewriter) {
  const Type type = m.root->result()->type();
  Value* scalar = rewriter.Scalar(type.dtype(), number);
  return rewriter.Op(ops::expand, {scalar}, {{"size", type.dims()}});
}

}  // namespace weft::canonicalize
