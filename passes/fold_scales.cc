#include "passes/fold_scales.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/fold_scales/decision.h"
#include "passes/fuse/logs.h"

namespace weft {
namespace {

// Makes what the decision says.
class ScaleFolder {
 public:
  ScaleFolder(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Apply(const ScaleDecision& decision) {
    AddRemarks(decision.refusals, context_);
    for (const ScaledCandidate& fold : decision.folds) WEFT_RETURN_IF_ERROR(Fold(fold));
    return absl::OkStatus();
  }

 private:
  absl::Status Fold(const ScaledCandidate& fold) {
    if (!context_.StartRewrite({NumericContract::kReassociating, "fold-scale", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(fold.node, "fold-scale", context_.num_rewrites());
    divided_.clear();
    for (size_t i = fold.nodes.size(); i-- > 0;) Divide(*fold.nodes[i], fold.scale);
    const ops::QuantizeLinearView quantize(*fold.node);
    const HostTensor& scale = *LiteralOf(quantize.scale());
    const double one[] = {1};
    Value* const operands[] = {divided_.at(quantize.self()),
                               Constant(HostTensor::FromDoubles(scale.dtype(), scale.dims(), one)),
                               quantize.zero_point()};
    Value* value = rewriter_.CreateOne(ops::quantize_linear, operands, fold.node->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&value, 1}));
    context_.Count("folded");
    return absl::OkStatus();
  }

  // Makes the node again, with a result that is divided by `scale`.
  void Divide(const Node& node, double scale) {
    std::vector<Value*> operands;
    for (int i = 0; i < node.num_operands(); ++i) {
      Value* operand = node.has_operand(i) ? node.operand(i) : nullptr;
      if (IsDividedConstant(node, i)) {
        operand = Quotient(*LiteralOf(operand), scale);
      } else if (const auto it = divided_.find(operand); it != divided_.end()) {
        operand = it->second;
      }
      operands.push_back(operand);
    }
    divided_[node.result()] = rewriter_.CreateOne(node.op(), operands, node.attr_list());
  }

  // Each element is rounded once.
  Value* Quotient(const HostTensor& constant, double scale) {
    std::vector<double> elements = constant.ReadDoubles();
    for (double& element : elements) element /= scale;
    return Constant(HostTensor::FromDoubles(constant.dtype(), constant.dims(), elements));
  }

  Value* Constant(const HostTensor& tensor) {
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* value = rewriter_.Constant(tensor);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return value;
  }

  PassContext& context_;
  Rewriter rewriter_;
  absl::flat_hash_map<const Value*, Value*> divided_;
};

class FoldScalesPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_scales"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Scales of quantize_linear become part of the constants before them.";
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      ScaleFolder folder(*graph, context);
      WEFT_RETURN_IF_ERROR(folder.Apply(DecideScales(CollectScaled(*graph))));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateFoldScalesPass() { return std::make_unique<FoldScalesPass>(); }

}  // namespace weft
