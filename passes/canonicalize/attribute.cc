// One notation for attributes, so that equal nodes have equal attributes.
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Ops with one result and an attribute `dim` or `dims` that refers to dims of the first operand;
// negative ones count from the end.
constexpr const OpDef* kCountDims[] = {
    &ops::all,
    &ops::amax,
    &ops::amin,
    &ops::any,
    &ops::argmax,
    &ops::argmin,
    &ops::cat,
    &ops::cumprod,
    &ops::cumsum,
    &ops::flip,
    &ops::gather,
    &ops::hardmax,
    &ops::index_select,
    &ops::log_softmax,
    &ops::logsumexp,
    &ops::mean,
    &ops::permute,
    &ops::prod,
    &ops::reduce_l1,
    &ops::reduce_l2,
    &ops::reduce_log_sum,
    &ops::reduce_sum_square,
    &ops::roll,
    &ops::scatter,
    &ops::slice,
    &ops::softmax,
    &ops::sum,
};

bool IsNegative(SymInt dim) { return dim.is_constant() && dim.value() < 0; }

// The attributes with such dims counted from the front.
struct Attributes {
  std::vector<AttrValue> values;
};
bool CountsFromTheEnd(const Node& root, Match& m) {
  const auto& specs = root.op().schema().attrs;
  const int rank = root.operand(0)->type().rank();
  bool any = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name != "dim" && specs[i].name != "dims") continue;
    for (SymInt d : (*root.attr_list())[static_cast<int>(i)].symints()) any |= IsNegative(d);
  }
  if (!any) return false;
  std::vector<AttrValue>& values = m.Find<Attributes>().values;
  values.assign(root.attr_list()->values().begin(), root.attr_list()->values().end());
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name != "dim" && specs[i].name != "dims") continue;
    std::vector<SymInt> dims;
    for (SymInt d : values[i].symints()) dims.push_back(IsNegative(d) ? d + rank : d);
    values[i] = specs[i].kind == AttrKind::kInts ? AttrValue(dims) : AttrValue(dims[0]);
  }
  return true;
}

Value* BuildWithAttrs(const Match& m, Rewriter& rewriter) {
  std::vector<Value*> operands;
  for (int i = 0; i < m.root->num_operands(); ++i) operands.push_back(m.root->operand(i));
  return rewriter.CreateOne(m.root->op(), operands, AttrList::Get(m.Found<Attributes>().values));
}

constexpr Rule kRules[] = {
    {"negative-dim",
     "f(x, dim=-1) = f(x, dim=rank - 1)",
     kBitExact,
     AnyOf(kCountDims),
     {{"a dim is counted from the end", CountsFromTheEnd}},
     BuildWithAttrs},
};

}  // namespace

absl::Span<const Rule> AttributeRules() { return kRules; }

}  // namespace weft::canonicalize
