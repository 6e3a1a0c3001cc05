#include "passes/fuse_attention/decision.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "passes/fuse/nodes.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_attention/match.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// A masked score that rounds to this whatever it was.
constexpr double kSwallows = -1e8;
constexpr int64_t kMaxCausal = int64_t{1} << 24;
// Views between a product and a factor of all its elements.
constexpr size_t kMaxViews = 8;

using Dims = std::vector<SymInt>;

// A constant mask without a row of false alone.
bool SeesSomewhere(const Value* mask) {
  const HostTensor* t = LiteralOf(mask);
  if (t == nullptr || t->dims().empty() || t->numel() == 0) return false;
  const std::vector<int64_t> bits = t->ReadInts();
  const int64_t columns = t->dims().back();
  for (int64_t row = 0; row < t->numel(); row += columns) {
    bool any = false;
    for (int64_t i = 0; i < columns; ++i) any |= bits[row + i] != 0;
    if (!any) return false;
  }
  return true;
}

// A constant [.., 1, length, keys] that shows the keys up to the query's own.
bool IsCausal(const AttentionMask& mask) {
  const HostTensor* t = LiteralOf(mask.value);
  if (t == nullptr || t->dims().size() < 2 || t->numel() > kMaxCausal) return false;
  const int64_t keys = t->dims().back();
  const int64_t length = t->dims()[t->dims().size() - 2];
  if (length < 2 || keys < 2 || t->numel() != length * keys) return false;
  if (mask.is_bool && !std::isinf(mask.hidden)) return false;
  const std::vector<double> values = t->ReadDoubles();
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const bool seen = j <= i;
      const double want = mask.is_bool ? seen : seen ? 0 : -kInf;
      if (values[i * keys + j] != want) return false;
    }
  }
  return true;
}

// Decides on one match.
class AttentionPlanner {
 public:
  AttentionPlanner(const AttentionMatch& match, const SymbolTable& symbols,
                   const FuseAttentionOptions& options)
      : match_(match), symbols_(symbols), options_(options) {
    const auto dims = match.softmax->result()->type().dims();
    lead_.assign(dims.begin(), dims.end() - 2);
  }

  // False with refusal() set.
  bool Run() {
    plan_.root = match_.root;
    plan_.scale = match_.scale;
    plan_.softcap = match_.softcap;
    plan_.masked = !match_.masks.empty();
    if (!FindOperands()) return Refuse("the batch dims of query, key and value do not fit");
    const DType dtype = plan_.query.base->type().dtype();
    if (plan_.key.base->type().dtype() != dtype || plan_.value.base->type().dtype() != dtype ||
        match_.root->result()->type().dtype() != dtype) {
      return Refuse("query, key and value have different dtypes");
    }
    ShareHeads();
    for (const AttentionMask& mask : match_.masks) {
      if (!AddMask(mask)) return false;
    }
    return true;
  }

  AttentionPlan Take() { return std::move(plan_); }
  const char* refusal() const { return refusal_; }

 private:
  bool Refuse(const char* reason) {
    refusal_ = reason;
    return false;
  }
  bool Same(absl::Span<const SymInt> a, absl::Span<const SymInt> b) const {
    return SameDims(a, b, symbols_);
  }

  bool FindOperands() {
    const ops::MatmulView product(*match_.product);
    plan_.query.base = product.self();
    plan_.key.base = product.other();
    plan_.value.base = ops::MatmulView(*match_.root).other();
    if (!GiveLead(&plan_.query)) return false;
    TakeScale(&plan_.query);
    const int rank = match_.softmax->result()->type().rank();
    const bool merged = plan_.key.base->type().rank() != rank;
    if (plan_.key.base->type().rank() < 2) return false;
    if (!merged) plan_.key.Transpose();
    if (!GiveLead(&plan_.key)) return false;
    if (merged) plan_.key.Transpose();
    TakeScale(&plan_.key);
    return GiveLead(&plan_.value);
  }

  // The matrices of the value get the batch dims of the scores. False: they do not fit.
  bool GiveLead(ViewedValue* v) const {
    const Dims dims = v->dims();
    if (dims.size() < 2) return false;
    Dims size = lead_;
    size.push_back(dims[dims.size() - 2]);
    size.push_back(dims.back());
    if (Same(dims, size)) return true;
    if (v->Is(ops::reshape)) {
      ViewedValue inner = *v;
      inner.DropOutermost();
      if (Same(inner.dims(), size)) {
        *v = std::move(inner);
        return true;
      }
    }
    if (dims.size() == size.size() || dims.size() < 3) return Expand(size, v);
    // Merged batch dims, as the scores have them apart.
    SymInt merged = 1, apart = 1;
    for (size_t i = 0; i + 2 < dims.size(); ++i) merged = merged * dims[i];
    for (SymInt d : lead_) apart = apart * d;
    if (symbols_.ProveEq(merged, apart) != Proof::kYes) return false;
    v->Reshape(size);
    return true;
  }

  // Sizes of 1 become those of `size`; other differences are refused.
  bool Expand(const Dims& size, ViewedValue* v) const {
    const Dims dims = v->dims();
    const size_t missing = size.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!dims[i].Is(1) && !Same({&dims[i], 1}, {&size[i + missing], 1})) return false;
    }
    v->Expand(size);
    return true;
  }

  // A constant factor of all elements becomes part of the scale, past views.
  void TakeScale(ViewedValue* v) {
    ViewedValue at = *v;
    std::vector<ViewedValue::View> views;
    while (views.size() < kMaxViews) {
      const Node* node = at.views.empty() ? at.base->node() : nullptr;
      if (node != nullptr && (node->Is(ops::mul) || node->Is(ops::div))) {
        const auto factor = FactorOf(*node);
        if (!factor || !Same(ViewedValue{node->operand(0), {}}.dims(), at.dims())) return;
        plan_.scale *= *factor;
        at.base = node->operand(0);
        at.views.assign(views.rbegin(), views.rend());
        *v = std::move(at);
        return;
      }
      if (!at.Is(ops::reshape) && !at.Is(ops::permute) && !at.Is(ops::expand)) return;
      views.push_back(at.outermost());
      at.DropOutermost();
    }
  }

  static std::optional<double> FactorOf(const Node& node) {
    const auto splat = SplatThroughViews(node.operand(1));
    if (!splat || !std::isfinite(*splat) || *splat == 0) return std::nullopt;
    if (!node.Is(ops::div)) return *splat;
    if (ops::DivView(node).rounding_mode()) return std::nullopt;
    return 1 / *splat;
  }

  // The value with each head only once; nothing when it repeats none.
  std::optional<ViewedValue> Unrepeated(const ViewedValue& v) const {
    const Dims dims = v.dims();
    if (dims.size() < 3) return std::nullopt;
    const size_t heads = dims.size() - 3;
    ViewedValue base = v;
    Dims want = dims;
    if (v.Is(ops::expand)) {
      base.DropOutermost();
      want[heads] = 1;
    } else {
      if (!v.Is(ops::reshape)) return std::nullopt;
      base.DropOutermost();
      if (!base.Is(ops::expand)) return std::nullopt;
      // [.., h, n, length, features], of [.., h, length, features].
      want = base.dims();
      if (want.size() != dims.size() + 1) return std::nullopt;
      want.erase(want.begin() + heads + 1);
      base.DropOutermost();
      if (base.Is(ops::reshape)) base.DropOutermost();
    }
    if (!Same(base.dims(), want)) return std::nullopt;
    return base;
  }

  void ShareHeads() {
    auto key = Unrepeated(plan_.key);
    auto value = Unrepeated(plan_.value);
    if (!key || !value) return;
    const SymInt a = key->dims()[key->dims().size() - 3];
    const SymInt b = value->dims()[value->dims().size() - 3];
    if (!Same({&a, 1}, {&b, 1})) return;
    plan_.key = *std::move(key);
    plan_.value = *std::move(value);
    plan_.enable_gqa = true;
  }

  bool AddMask(const AttentionMask& mask) {
    if (IsCausal(mask)) {
      plan_.is_causal = true;
      return true;
    }
    AttentionMaskPlan made;
    made.value.base = mask.value;
    made.number = mask.factor;
    if (mask.is_bool && mask.hidden * mask.factor <= kSwallows && !std::isinf(mask.hidden)) {
      // Added to a score it leaves nothing of it, as the choice does.
      made.kind = AttentionMaskPlan::Kind::kAddHidden;
      made.number = mask.hidden * mask.factor;
    } else if (mask.is_bool) {
      made.kind = AttentionMaskPlan::Kind::kChoose;
      if (!KeepHiddenRows(mask, &made)) return false;
    }
    if (!Rank(&made.value)) return Refuse("a mask does not fit");
    plan_.masks.push_back(std::move(made));
    return true;
  }

  // Where no key is seen the program has NaN (or, for a finite number, a mean of
  // all values), and attention 0.
  bool KeepHiddenRows(const AttentionMask& mask, AttentionMaskPlan* made) {
    if (match_.safe || options_.hidden_rows || SeesSomewhere(mask.value)) return true;
    if (!std::isinf(mask.hidden)) return Refuse("a row of the mask may hide all keys");
    if (match_.masks.size() > 1) return Refuse("masks together may hide all keys");
    made->restores_rows = true;
    return true;
  }

  // The batch dims of the scores, where the mask has the merged ones.
  bool Rank(ViewedValue* mask) const {
    const int scores = static_cast<int>(lead_.size()) + 2;
    const int rank = mask->base->type().rank();
    if (rank > scores) return false;
    const int product = match_.product->result()->type().rank();
    if (product == scores || rank != product || rank < 3) return true;
    return mask->base->type().dim(0).Is(1) || GiveLead(mask);
  }

  const AttentionMatch& match_;
  const SymbolTable& symbols_;
  const FuseAttentionOptions& options_;
  Dims lead_;
  AttentionPlan plan_;
  const char* refusal_ = "";
};

}  // namespace

std::vector<AttentionMatch> CollectAttention(const Graph& graph) {
  std::vector<AttentionMatch> matches;
  for (Node* node : graph.nodes()) {
    AttentionMatch match;
    if (MatchAttention(node, &match)) matches.push_back(std::move(match));
  }
  return matches;
}

AttentionDecision DecideAttention(const std::vector<AttentionMatch>& matches,
                                  const SymbolTable& symbols, const FuseAttentionOptions& options) {
  AttentionDecision decision;
  absl::flat_hash_set<const Node*> roots;
  for (const AttentionMatch& match : matches) {
    std::string refusal = match.refusal;
    // The scores of attention may be the result of another one, which no product makes then.
    if (refusal.empty() && roots.contains(match.product)) refusal = "no product makes the scores";
    if (refusal.empty()) {
      AttentionPlanner planner(match, symbols, options);
      if (planner.Run()) {
        roots.insert(match.root);
        decision.plans.push_back(planner.Take());
        continue;
      }
      refusal = planner.refusal();
    }
    decision.refusals.push_back({match.root, std::move(refusal)});
  }
  return decision;
}

std::string ToString(const AttentionDecision& decision) {
  std::string text;
  for (const AttentionPlan& plan : decision.plans) {
    absl::StrAppend(&text, NodeText(*plan.root), ": attention, scale ", plan.scale);
    if (plan.softcap != 0) absl::StrAppend(&text, ", softcap ", plan.softcap);
    if (plan.is_causal) absl::StrAppend(&text, ", causal");
    if (plan.enable_gqa) absl::StrAppend(&text, ", shared heads");
    if (!plan.masks.empty()) absl::StrAppend(&text, ", masks ", plan.masks.size());
    absl::StrAppend(&text, "\n");
  }
  for (const NodeRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

}  // namespace weft
