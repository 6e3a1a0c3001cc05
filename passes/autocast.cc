#include "passes/autocast.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/tensor/tensor.h"
#include "passes/autocast/decision.h"
#include "passes/autocast/ranges.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

constexpr NumericContract kContract = NumericContract::kApproximate;

// Makes what the decision says about one graph. Each rewrite leaves a valid graph: a result of the
// low dtype is widened for the users that the old one had, and a user that takes it in the low
// dtype reads what was widened.
class Caster : private RewriteListener {
 public:
  Caster(Graph& graph, DType low, PassContext& context)
      : low_(low), context_(context), rewriter_(&graph, this) {}

  // In the order of the graph, so that a cast stands before all that reads it.
  absl::Status Apply(const GraphCasts& casts) {
    auto input = casts.inputs.begin();
    const auto inputs_before = [&](int place) -> absl::Status {
      for (; input != casts.inputs.end() && input->place < place; ++input) {
        WEFT_RETURN_IF_ERROR(LowerInput(*input));
      }
      return absl::OkStatus();
    };
    for (const LoweredNode& lowered : casts.nodes) {
      WEFT_RETURN_IF_ERROR(inputs_before(lowered.place));
      WEFT_RETURN_IF_ERROR(Lower(lowered));
    }
    return inputs_before(std::numeric_limits<int>::max());
  }

 private:
  // The nodes are rewritten in order.
  bool IsBefore(const Node& node, const Node& root) override { return true; }
  void Erasing(Node* node) override {
    for (int i = 0; i < node->num_results(); ++i) erased_.insert(node->result(i)->id());
  }

  absl::Status Lower(const LoweredNode& lowered) {
    Node& node = *lowered.node;
    if (!node.has_uses() || !context_.StartRewrite({kContract, lowered.reason, ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(&node, lowered.reason, context_.num_rewrites());
    std::vector<Value*> operands;
    for (int i = 0; i < node.num_operands(); ++i) operands.push_back(node.operand(i));
    for (const int i : lowered.operands) operands[i] = Low(operands[i]);
    std::vector<Value*> results = rewriter_.Create(node.op(), operands, node.attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    for (int i = 0; i < node.num_results(); ++i) {
      const DType dtype = node.result(i)->type().dtype();
      if (results[i]->type().dtype() == dtype) continue;
      results[i] = ops::BuildConvert(rewriter_, results[i], dtype);
    }
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    context_.Count(lowered.reason);
    return rewriter_.ReplaceRoot(results);
  }

  // The value in the low dtype, for a user at the rewriter's place.
  Value* Low(Value* value) {
    Node* node = value->node();
    if (value->type().dtype() == low_) return value;
    if (node != nullptr && node->Is(ops::convert) && node->operand(0)->type().dtype() == low_) {
      return node->operand(0);
    }
    const auto known = casts_.find(value->id());
    if (known != casts_.end() && !erased_.contains(known->second.id)) return known->second.value;
    Value* cast = MakeCast(value);
    if (cast != nullptr) casts_[value->id()] = {cast, cast->id()};
    return cast;
  }

  Value* MakeCast(Value* value) {
    const HostTensor* literal = LiteralOf(value);
    if (literal == nullptr) {
      context_.Count("casts");
      return ops::BuildConvert(rewriter_, value, low_);
    }
    context_.Count("constants");
    const HostTensor narrow = Narrowed(*literal, low_);
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* constant = rewriter_.Constant(narrow);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return constant;
  }

  // The nested graphs get the narrow value, and widen it for the users that they have now.
  absl::Status LowerInput(const LoweredInput& lowered) {
    Node& owner = *lowered.owner;
    if (!context_.StartRewrite({kContract, "input", ""})) return absl::OkStatus();
    rewriter_.Begin(&owner, "input", context_.num_rewrites());
    Value* narrow = Low(owner.operand(lowered.operand));
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    owner.set_operand(lowered.operand, narrow);
    for (int r = 0; r < owner.num_regions(); ++r) {
      Graph* body = owner.region(r);
      Value* input = body->input(lowered.input);
      const Type wide = input->type();
      Builder b(body, body->first_node(), {/*fold=*/false});
      input->set_type(wide.WithDType(low_));
      Value* widened = ops::BuildConvert(b, input, DType::kF32);
      WEFT_RETURN_IF_ERROR(b.status());
      input->ReplaceAllUsesWith(widened);
      widened->node()->set_operand(0, input);
    }
    context_.Count("inputs");
    return absl::OkStatus();
  }

  struct Cast {
    Value* value = nullptr;
    uint32_t id = 0;
  };

  const DType low_;
  PassContext& context_;
  Rewriter rewriter_;
  absl::flat_hash_map<uint32_t, Cast> casts_;  // By the id of the f32 value.
  absl::flat_hash_set<uint32_t> erased_;       // Ids of values.
};

void AddRemarks(const CastDecision& decision, PassContext& context) {
  for (const GraphCasts& casts : decision.graphs) {
    context.Count("refused", static_cast<int64_t>(casts.refusals.size()));
    if (!context.wants_remarks()) continue;
    for (const CastRefusal& refusal : casts.refusals) {
      context.AddRemark(RemarkOn(*refusal.node, RemarkKind::kMissed,
                                 absl::StrCat("stays f32: ", refusal.reason)));
    }
  }
  if (!context.wants_remarks()) return;
  for (const std::string& entry : decision.unmet) {
    Remark remark;
    remark.kind = RemarkKind::kMissed;
    remark.reason = absl::StrCat("keep: \"", entry, "\" meets no node");
    context.AddRemark(std::move(remark));
  }
}

absl::StatusOr<CastSettings> SettingsOf(const AutocastOptions& options) {
  CastSettings settings;
  settings.keep = options.keep;
  if (options.dtype == "f16") settings.low = DType::kF16;
  if (options.dtype != "f16" && options.dtype != "bf16") {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype is bf16 or f16, not \"", options.dtype, "\""));
  }
  settings.narrow_mixed = options.mixed == "low";
  if (options.mixed != "low" && options.mixed != "f32") {
    return absl::InvalidArgumentError(
        absl::StrCat("mixed is f32 or low, not \"", options.mixed, "\""));
  }
  return settings;
}

class AutocastPass : public Pass {
 public:
  explicit AutocastPass(const AutocastOptions& options) : options_(options) {}
  absl::string_view name() const override { return "autocast"; }
  absl::string_view doc() const override {
    return "Computes in bf16 or f16 where lists of ops allow it.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("dtype", &options_.dtype, "bf16 or f16");
    visitor.Visit("lists", &options_.lists,
                  "which ops are low, f32 or follow their operands: cpu, cuda (PyTorch's), or the "
                  "text of lists");
    visitor.Visit("keep", &options_.keep, "source nodes that stay f32, by name (with *) or op");
    visitor.Visit("mixed", &options_.mixed,
                  "what pointwise ops of low and f32 operands compute in: f32 or low");
  }
  NumericContract max_contract() const override { return kContract; }
  absl::Status Run(Module& module, PassContext& context) override {
    WEFT_ASSIGN_OR_RETURN(const AutocastLists lists, LoadAutocastLists(options_.lists));
    WEFT_ASSIGN_OR_RETURN(const CastSettings settings, SettingsOf(options_));
    const CastDecision decision = DecideCasts(module, lists, settings);
    AddRemarks(decision, context);
    if (decision.empty()) return absl::OkStatus();
    if (!context.Admits(kContract)) {
      return absl::FailedPreconditionError(
          "autocast changes numbers: the pipeline has to say autocast{admit=approximate}");
    }
    for (const GraphCasts& casts : decision.graphs) {
      WEFT_RETURN_IF_ERROR(Caster(*casts.graph, settings.low, context).Apply(casts));
    }
    return absl::OkStatus();
  }

 private:
  AutocastOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateAutocastPass(const AutocastOptions& options) {
  return std::make_unique<AutocastPass>(options);
}

std::unique_ptr<Pass> CreateAutocastPass() { return CreateAutocastPass({}); }

}  // namespace weft
