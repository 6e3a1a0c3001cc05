#include "passes/fuse_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/constants.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/fuse/attention_match.h"
#include "passes/fuse/group.h"
#include "passes/fuse/logs.h"
#include "passes/fuse/nodes.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// A masked score that rounds to this whatever it was.
constexpr double kSwallows = -1e8;
constexpr int64_t kMaxCausal = int64_t{1} << 24;

using Dims = std::vector<SymInt>;

Dims DimsOf(const Value* value) {
  const auto dims = value->type().dims();
  return Dims(dims.begin(), dims.end());
}

// Builds the attention that a match describes before its root.
class AttentionBuilder {
 public:
  AttentionBuilder(Rewriter& rewriter, const AttentionMatch& match,
                   const FuseAttentionOptions& options)
      : rewriter_(rewriter), match_(match), options_(options) {
    lead_ = DimsOf(match.softmax->result());
    lead_.resize(lead_.size() - 2);
  }

  // The value in the place of the root's; null with `refusal` set.
  Value* Build() {
    scale_ = match_.scale;
    const ops::MatmulView product(*match_.product);
    query_ = WithoutScale(WithLead(product.self()));
    Value* key = product.other();
    const bool merged = key->type().rank() != match_.softmax->result()->type().rank();
    key_ = WithoutScale(merged ? Transposed(WithLead(key)) : WithLead(Transposed(key)));
    value_ = WithLead(ops::MatmulView(*match_.root).other());
    if (query_ == nullptr || key_ == nullptr || value_ == nullptr) {
      return Refuse("the batch dims of query, key and value do not fit");
    }
    const DType dtype = query_->type().dtype();
    if (key_->type().dtype() != dtype || value_->type().dtype() != dtype ||
        match_.root->result()->type().dtype() != dtype) {
      return Refuse("query, key and value have different dtypes");
    }
    ShareHeads();
    for (const AttentionMask& mask : match_.masks) {
      if (!AddMask(mask)) return nullptr;
    }
    Value* y = ops::BuildScaledDotProductAttention(rewriter_, query_, key_, value_, mask_, causal_,
                                                   scale_, match_.softcap, gqa_);
    if (y == nullptr) return Refuse(rewriter_.status().message());
    if (seen_ != nullptr) {
      Value* nan = rewriter_.Scalar(dtype, std::nan(""));
      y = ops::BuildWhere(rewriter_, seen_, y, nan);
    }
    const Dims size = DimsOf(match_.root->result());
    if (y == nullptr || DimsOf(y) == size) return y;
    return ops::BuildReshape(rewriter_, y, size);
  }

  bool causal() const { return causal_; }
  bool gqa() const { return gqa_; }
  const std::string& refusal() const { return refusal_; }

 private:
  Value* Refuse(absl::string_view reason) {
    if (refusal_.empty()) refusal_ = std::string(reason);
    return nullptr;
  }
  bool Same(absl::Span<const SymInt> a, absl::Span<const SymInt> b) const {
    return SameDims(a, b, rewriter_.symbols());
  }

  // The matrices of `value` with the batch dims of the scores.
  Value* WithLead(Value* value) {
    if (value == nullptr) return nullptr;
    Dims size = lead_;
    const Dims dims = DimsOf(value);
    size.push_back(dims[dims.size() - 2]);
    size.push_back(dims.back());
    if (Same(dims, size)) return value;
    if (value->IsResultOf(ops::reshape)) {
      Value* inner = value->node()->operand(0);
      if (Same(DimsOf(inner), size)) return inner;
    }
    if (dims.size() == size.size() || dims.size() < 3) {
      return Expanded(value, size);
    }
    // Merged batch dims, as the scores have them apart.
    SymInt merged = 1, apart = 1;
    for (size_t i = 0; i + 2 < dims.size(); ++i) merged = merged * dims[i];
    for (SymInt d : lead_) apart = apart * d;
    if (rewriter_.symbols().ProveEq(merged, apart) != Proof::kYes) {
      return nullptr;
    }
    return ops::BuildReshape(rewriter_, value, size);
  }

  // Sizes of 1 become those of `size`; other differences are refused.
  Value* Expanded(Value* value, const Dims& size) {
    const Dims dims = DimsOf(value);
    const size_t missing = size.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].Is(1) || Same({&dims[i], 1}, {&size[i + missing], 1})) {
        continue;
      }
      return nullptr;
    }
    return ops::BuildExpand(rewriter_, value, size);
  }

  Value* Transposed(Value* value) {
    if (value == nullptr) return nullptr;
    const int rank = value->type().rank();
    std::vector<int64_t> dims(rank);
    for (int i = 0; i < rank; ++i) dims[i] = i;
    std::swap(dims[rank - 1], dims[rank - 2]);
    if (value->IsResultOf(ops::permute)) {
      // Two permutes in one.
      const ops::PermuteView permute(*value->node());
      const std::vector<int64_t> inner = permute.dims();
      std::vector<int64_t> both(rank);
      bool same = true;
      for (int i = 0; i < rank; ++i) {
        both[i] = inner[dims[i]];
        same &= both[i] == i;
      }
      return same ? permute.self() : ops::BuildPermute(rewriter_, permute.self(), both);
    }
    return ops::BuildPermute(rewriter_, value, dims);
  }

  // A constant factor of all elements becomes part of the scale, past views.
  Value* WithoutScale(Value* value) {
    std::vector<const Node*> views;
    Value* at = value;
    while (at != nullptr && at->node() != nullptr && views.size() < 8) {
      const Node& node = *at->node();
      if (node.Is(ops::mul) || node.Is(ops::div)) {
        const auto splat = SplatThroughViews(node.operand(1));
        if (!splat || !std::isfinite(*splat) || *splat == 0) break;
        if (!Same(DimsOf(node.operand(0)), DimsOf(at))) break;
        scale_ *= node.Is(ops::div) ? 1 / *splat : *splat;
        return Rebuilt(node.operand(0), views);
      }
      if (!node.Is(ops::reshape) && !node.Is(ops::permute) && !node.Is(ops::expand)) {
        break;
      }
      views.push_back(&node);
      at = node.operand(0);
    }
    return value;
  }

  Value* Rebuilt(Value* base, const std::vector<const Node*>& views) {
    for (size_t i = views.size(); i-- > 0 && base != nullptr;) {
      base = rewriter_.CreateOne(views[i]->op(), {base}, views[i]->attr_list());
    }
    return base;
  }

  // What `value` is with each head only once; null when it repeats none.
  Value* Unrepeated(Value* value) const {
    const int rank = value->type().rank();
    if (rank < 3) return nullptr;
    const Dims dims = DimsOf(value);
    const size_t heads = dims.size() - 3;
    if (value->IsResultOf(ops::expand)) {
      Value* base = value->node()->operand(0);
      Dims want = dims;
      want[heads] = 1;
      return Same(DimsOf(base), want) ? base : nullptr;
    }
    if (!value->IsResultOf(ops::reshape)) return nullptr;
    Value* expanded = value->node()->operand(0);
    if (!expanded->IsResultOf(ops::expand)) return nullptr;
    Value* base = expanded->node()->operand(0);
    if (base->IsResultOf(ops::reshape)) base = base->node()->operand(0);
    if (base->type().rank() != rank) return nullptr;
    // [.., h, n, length, features], of [.., h, length, features].
    Dims apart = DimsOf(expanded);
    if (apart.size() != dims.size() + 1) return nullptr;
    apart.erase(apart.begin() + heads + 1);
    return Same(DimsOf(base), apart) ? base : nullptr;
  }

  void ShareHeads() {
    Value* key = Unrepeated(key_);
    Value* value = Unrepeated(value_);
    if (key == nullptr || value == nullptr) return;
    const int heads = key->type().rank() - 3;
    const SymInt a = key->type().dim(heads), b = value->type().dim(heads);
    if (!Same({&a, 1}, {&b, 1})) return;
    key_ = key;
    value_ = value;
    gqa_ = true;
  }

  bool AddMask(const AttentionMask& mask) {
    if (IsCausal(mask)) {
      causal_ = true;
      return true;
    }
    Value* value = mask.value;
    const DType dtype = query_->type().dtype();
    if (mask.is_bool && mask.hidden * mask.factor <= kSwallows && !std::isinf(mask.hidden)) {
      // Added to a score it leaves nothing of it, as the choice does.
      value = Additive(value, mask.hidden * mask.factor);
    } else if (mask.is_bool) {
      if (!KeepHiddenRows(mask)) return false;
    } else {
      if (value->type().dtype() != dtype) {
        value = ops::BuildConvert(rewriter_, value, dtype);
      }
      if (mask.factor != 1 && value != nullptr) {
        value = ops::BuildMul(rewriter_, value, rewriter_.Scalar(dtype, mask.factor));
      }
    }
    if (value != nullptr) value = Ranked(value);
    if (value == nullptr) {
      Refuse("a mask does not fit");
      return false;
    }
    Combine(value);
    return true;
  }

  // Where no key is seen the program has NaN (or, for a finite number, a mean of
  // all values), and attention 0.
  bool KeepHiddenRows(const AttentionMask& mask) {
    if (match_.safe || options_.hidden_rows || SeesSomewhere(mask.value)) {
      return true;
    }
    if (!std::isinf(mask.hidden)) {
      Refuse("a row of the mask may hide all keys");
      return false;
    }
    if (match_.masks.size() > 1) {
      Refuse("masks together may hide all keys");
      return false;
    }
    seen_ = ops::BuildAny(rewriter_, Ranked(mask.value), {-1}, /*keepdim=*/true);
    return seen_ != nullptr;
  }

  // A constant mask without a row of false alone.
  bool SeesSomewhere(const Value* mask) const {
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
  bool IsCausal(const AttentionMask& mask) const {
    const HostTensor* t = LiteralOf(mask.value);
    if (t == nullptr || t->dims().size() < 2 || t->numel() > kMaxCausal) {
      return false;
    }
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

  Value* Additive(Value* mask, double hidden) {
    const DType dtype = query_->type().dtype();
    Value* shown = rewriter_.Scalar(dtype, 0);
    return ops::BuildWhere(rewriter_, mask, shown, rewriter_.Scalar(dtype, hidden));
  }

  // With the batch dims of the scores, where it has the merged ones.
  Value* Ranked(Value* mask) {
    const int rank = mask->type().rank();
    if (rank > static_cast<int>(lead_.size()) + 2) return nullptr;
    const Type product = match_.product->result()->type();
    const bool merged = product.rank() != static_cast<int>(lead_.size()) + 2;
    if (!merged || rank != product.rank() || rank < 3) return mask;
    if (mask->type().dim(0).Is(1)) return mask;
    return WithLead(mask);
  }

  void Combine(Value* mask) {
    if (mask_ == nullptr) {
      mask_ = mask;
      return;
    }
    const bool a = mask_->type().dtype() == DType::kBool;
    const bool b = mask->type().dtype() == DType::kBool;
    if (a && b) {
      mask_ = ops::BuildLogicalAnd(rewriter_, mask_, mask);
      return;
    }
    if (a) mask_ = Additive(mask_, -kInf);
    if (b) mask = Additive(mask, -kInf);
    mask_ = ops::BuildAdd(rewriter_, mask_, mask);
  }

  Rewriter& rewriter_;
  const AttentionMatch& match_;
  const FuseAttentionOptions& options_;
  Dims lead_;
  double scale_ = 1;
  Value* query_ = nullptr;
  Value* key_ = nullptr;
  Value* value_ = nullptr;
  Value* mask_ = nullptr;
  Value* seen_ = nullptr;
  bool causal_ = false;
  bool gqa_ = false;
  std::string refusal_;
};

class FuseAttentionPass : public Pass {
 public:
  explicit FuseAttentionPass(const FuseAttentionOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_attention"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Replaces attention in single ops by "
           "scaled_dot_product_attention.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("hidden_rows", &options_.hidden_rows, "rows of masks that hide all keys give 0");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : GraphsToFuse(module)) {
      Rewriter rewriter(graph);
      for (Node* node : graph->nodes()) {
        if (node->Is(ops::scaled_dot_product_attention)) {
          context.Count("present");
        }
        AttentionMatch match;
        if (!MatchAttention(node, &match)) continue;
        WEFT_RETURN_IF_ERROR(Replace(match, rewriter, context));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Replace(const AttentionMatch& match, Rewriter& rewriter, PassContext& context) {
    if (!match.refusal.empty()) {
      Missed(*match.root, match.refusal, context);
      return absl::OkStatus();
    }
    if (!context.StartRewrite({NumericContract::kReassociating, "attention", ""})) {
      return absl::OkStatus();
    }
    rewriter.Begin(match.root, "attention", context.num_rewrites());
    AttentionBuilder builder(rewriter, match, options_);
    Value* value = builder.Build();
    if (value == nullptr || !rewriter.status().ok()) {
      const std::string reason =
          builder.refusal().empty() ? std::string(rewriter.status().message()) : builder.refusal();
      Missed(*match.root, reason, context);
      rewriter.Abandon();
      return absl::OkStatus();
    }
    WEFT_RETURN_IF_ERROR(rewriter.ReplaceRoot({&value, 1}));
    context.Count("attention");
    if (builder.causal()) context.Count("causal");
    if (builder.gqa()) context.Count("gqa");
    if (!match.masks.empty()) context.Count("masked");
    return absl::OkStatus();
  }

  void Missed(const Node& root, absl::string_view reason, PassContext& context) {
    context.Count("refused");
    if (!context.wants_remarks()) return;
    context.AddRemark(RemarkOn(root, RemarkKind::kMissed, reason));
  }

  FuseAttentionOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFuseAttentionPass(const FuseAttentionOptions& options) {
  return std::make_unique<FuseAttentionPass>(options);
}

std::unique_ptr<Pass> CreateFuseAttentionPass() { return CreateFuseAttentionPass({}); }

}  // namespace weft
