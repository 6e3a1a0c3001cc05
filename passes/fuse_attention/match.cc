#include "passes/fuse_attention/match.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "passes/engine/rewrite/constants.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// A finite number that stands for -inf: what is hidden weighs nothing beside
// what is not.
constexpr double kHidden = -9999;
// Nodes between the softmax and the product.
constexpr int kMaxSteps = 12;

// The last two dims stay, those before are merged or split.
bool KeepsMatrices(const Node& node) {
  if (!node.Is(ops::reshape)) return false;
  const Type a = node.operand(0)->type();
  const Type b = node.result()->type();
  if (a.rank() < 2 || b.rank() < 2) return false;
  return a.dim(a.rank() - 1) == b.dim(b.rank() - 1) && a.dim(a.rank() - 2) == b.dim(b.rank() - 2);
}

bool IsFloatConvert(const Node& node) {
  return node.Is(ops::convert) && IsFloat(node.operand(0)->type().dtype()) &&
         IsFloat(node.result()->type().dtype());
}

// Past reshapes of the batch dims and converts between floats.
Value* Peel(Value* value) {
  for (int i = 0; i < kMaxSteps && value->node() != nullptr; ++i) {
    const Node& node = *value->node();
    if (!KeepsMatrices(node) && !IsFloatConvert(node)) break;
    value = node.operand(0);
  }
  return value;
}

bool IsSplat(const Value* value, double number) {
  const auto splat = SplatThroughViews(value);
  return splat.has_value() && *splat == number;
}

int64_t LastDim(const Node& node) { return node.operand(0)->type().rank() - 1; }

bool IsOverLast(const Node& node, const OpDef& op) {
  if (!node.Is(op)) return false;
  const std::vector<int64_t> dims = ops::DimsReductionView(node).dim();
  const int64_t last = LastDim(node);
  return dims.size() == 1 && (dims[0] == last || dims[0] == -1);
}

bool IsSoftmax(const Value* value) {
  if (value->node() == nullptr || !value->node()->Is(ops::softmax)) {
    return false;
  }
  const int64_t dim = ops::SoftmaxView(*value->node()).dim();
  return dim == -1 || dim == LastDim(*value->node());
}

// The value is true where `scores` are -inf (`hidden`) or are not.
bool ComparesWithInf(const Value* value, const Value* scores, bool hidden) {
  const Node* test = value->node();
  if (test == nullptr) return false;
  if (hidden && test->Is(ops::isinf)) {
    const ops::IsinfView isinf(*test);
    return isinf.self() == scores && !isinf.detect_positive();
  }
  if (!test->Is(hidden ? ops::eq : ops::ne)) return false;
  for (int i : {0, 1}) {
    if (test->operand(i) == scores && IsSplat(test->operand(1 - i), -kInf)) return true;
  }
  return false;
}

// The value is true where a row of `scores` is -inf throughout (`hidden`) or is not; or
// says so of each place: the softmax of a row that is not has 0 where they are -inf.
bool SaysRowIs(bool hidden, const Value* value, const Value* scores) {
  const Node* over = value->node();
  if (over != nullptr && IsOverLast(*over, hidden ? ops::all : ops::any)) {
    value = over->operand(0);
  }
  return ComparesWithInf(value, scores, hidden);
}

// where(a row is seen, softmax, 0): the softmax, or null.
Value* SafeSoftmax(const Node& where) {
  for (int i : {1, 2}) {
    Value* weights = Peel(where.operand(i));
    if (!IsSoftmax(weights) || !IsSplat(where.operand(3 - i), 0)) continue;
    const Value* scores = ops::SoftmaxView(*weights->node()).self();
    const Value* condition = ops::WhereView(where).condition();
    if (SaysRowIs(/*hidden=*/i == 2, condition, scores)) return weights;
  }
  return nullptr;
}

bool IsUsedBy(const Value* value, int times) {
  int uses = 0;
  for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
    if (++uses > times) return false;
  }
  return true;
}

// A product lies behind converts, reshapes, scales, caps and masks.
bool LeadsToProduct(const Value* value) {
  for (int i = 0; i < kMaxSteps && value->node() != nullptr; ++i) {
    const Node& node = *value->node();
    if (node.Is(ops::matmul)) return true;
    if (KeepsMatrices(node) || IsFloatConvert(node) || node.Is(ops::tanh)) {
      value = node.operand(0);
    } else if (node.Is(ops::mul) || node.Is(ops::div) || node.Is(ops::add)) {
      const bool first =
          node.operand(0)->node() != nullptr && !SplatThroughViews(node.operand(0)).has_value();
      // Masks are not made by products as a rule.
      if (node.Is(ops::add) && first && LiteralOf(node.operand(0)) == nullptr &&
          node.operand(1)->node() != nullptr && Peel(node.operand(1))->IsResultOf(ops::matmul)) {
        value = node.operand(1);
      } else {
        value = node.operand(first ? 0 : 1);
      }
    } else if (node.Is(ops::where)) {
      value = ops::WhereView(node).self();
    } else {
      return false;
    }
  }
  return false;
}

// Walks from the softmax to the first product.
class ScoresWalk {
 public:
  explicit ScoresWalk(AttentionMatch* match) : match_(*match) {}

  void Run() {
    Value* value = match_.softmax->operand(0);
    for (int i = 0; i < kMaxSteps; ++i) {
      value = Peel(value);
      Node* node = value->node();
      if (node != nullptr && node->Is(ops::matmul)) {
        match_.product = node;
        match_.scale = factor_;
        if (match_.softcap != 0) match_.scale = inner_;
        return;
      }
      value = node == nullptr ? nullptr : Step(*node);
      if (value == nullptr) break;
    }
    if (match_.refusal.empty()) match_.refusal = "no product makes the scores";
  }

 private:
  Value* Step(const Node& node) {
    if (node.Is(ops::add)) return StepAdd(node);
    if (node.Is(ops::where)) return StepWhere(node);
    if (node.Is(ops::mul) || node.Is(ops::div)) return StepScale(node);
    if (node.Is(ops::tanh) && match_.softcap == 0 && factor_ > 0) {
      // factor tanh(x / factor) is a cap.
      match_.softcap = factor_;
      inner_ = factor_;
      factor_ = 1;
      capped_ = true;
      return node.operand(0);
    }
    return nullptr;
  }

  Value* StepAdd(const Node& node) {
    if (capped_) return nullptr;
    for (int i : {0, 1}) {
      if (!LeadsToProduct(node.operand(i))) continue;
      match_.masks.push_back({node.operand(1 - i), false, 0, factor_});
      return node.operand(i);
    }
    return nullptr;
  }

  Value* StepWhere(const Node& node) {
    if (capped_) return nullptr;
    const ops::WhereView where(node);
    const auto hidden = SplatThroughViews(where.other());
    if (!hidden.has_value() || *hidden > kHidden) {
      match_.refusal = "a mask puts something else than a large negative number";
      return nullptr;
    }
    match_.masks.push_back({where.condition(), true, *hidden, factor_});
    return where.self();
  }

  Value* StepScale(const Node& node) {
    const bool rounded = node.Is(ops::div) && ops::DivView(node).rounding_mode().has_value();
    for (int i : {0, 1}) {
      const auto splat = SplatThroughViews(node.operand(1 - i));
      if (!splat.has_value() || !std::isfinite(*splat) || *splat == 0) continue;
      if (rounded || (node.Is(ops::div) && i == 1)) continue;
      const double by = node.Is(ops::div) ? 1 / *splat : *splat;
      (capped_ ? inner_ : factor_) *= by;
      return node.operand(i);
    }
    match_.refusal = "the scale is not a constant";
    return nullptr;
  }

  AttentionMatch& match_;
  double factor_ = 1;  // Of all that was met.
  double inner_ = 1;   // Inside of a cap.
  bool capped_ = false;
};

}  // namespace

std::optional<double> SplatThroughViews(const Value* value) {
  while (value->IsResultOf(ops::expand) || value->IsResultOf(ops::reshape) ||
         value->IsResultOf(ops::convert)) {
    value = value->node()->operand(0);
  }
  return SplatFloat(value);
}

bool MatchAttention(Node* root, AttentionMatch* match) {
  if (!root->Is(ops::matmul) || root->operand(0)->type().rank() < 2 ||
      root->operand(1)->type().rank() < 2) {
    return false;
  }
  Value* weights = Peel(root->operand(0));
  if (weights->IsResultOf(ops::where)) {
    Value* inner = SafeSoftmax(*weights->node());
    if (inner == nullptr) return false;
    match->safe = true;
    weights = inner;
  }
  if (!IsSoftmax(weights)) return false;
  match->root = root;
  match->softmax = weights->node();
  ScoresWalk(match).Run();
  if (!match->refusal.empty()) return true;
  if (!IsUsedBy(weights, 1)) {
    match->refusal = "others use the weights";
  } else if (!IsUsedBy(match->softmax->operand(0), match->safe ? 2 : 1) ||
             !match->product->result()->has_one_use()) {
    match->refusal = "others use the scores";
  } else if (match->softcap != 0 && std::isinf(match->softcap)) {
    match->refusal = "the cap is not finite";
  }
  return true;
}

}  // namespace weft
