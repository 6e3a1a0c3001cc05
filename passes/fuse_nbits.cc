#include "passes/fuse_nbits.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/fuse/logs.h"
#include "passes/fuse_nbits/decision.h"
#include "passes/fuse_nbits/pack.h"

namespace weft {
namespace {

// Makes what the decision says.
class NbitsFuser {
 public:
  NbitsFuser(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Apply(const NbitsDecision& decision) {
    AddRemarks(decision.refusals, context_);
    for (const NbitsProduct& p : decision.products) {
      if (!context_.StartRewrite({NumericContract::kReassociating, "nbits", ""})) break;
      WEFT_RETURN_IF_ERROR(Fuse(p));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fuse(const NbitsProduct& p) {
    // Products of one matrix have it packed once.
    auto [found, is_new] = packed_.try_emplace({p.weights.dequantize, p.weights.rows});
    if (is_new) {
      WEFT_ASSIGN_OR_RETURN(found->second, PackNbits(p));
    }
    const NbitsConstants& constants = found->second;
    rewriter_.Begin(p.node, "nbits", context_.num_rewrites());
    Value* weight = Constant(constants.weight);
    Value* scale = Constant(constants.scale);
    Value* zero = constants.zero_point.valid() ? Constant(constants.zero_point) : nullptr;
    Value* bias = p.node->Is(ops::linear) ? ops::LinearView(*p.node).bias() : nullptr;
    Value* made = ops::BuildMatmulNbits(rewriter_, p.node->operand(0), weight, scale, zero, bias,
                                        p.group_size, p.bits, p.weights.offset != nullptr);
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&made, 1}));
    context_.Count("nbits");
    return absl::OkStatus();
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
  absl::flat_hash_map<std::pair<const Node*, bool>, NbitsConstants> packed_;
};

class FuseNbitsPass : public Pass {
 public:
  explicit FuseNbitsPass(const FuseNbitsOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_nbits"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Products with weights of 4 or 8 bits in groups become matmul_nbits.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("min_group", &options_.min_group, "the fewest weights that share a scale");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      WEFT_RETURN_IF_ERROR(
          NbitsFuser(*graph, context)
              .Apply(DecideNbits(CollectNbits(*graph), context.target(), options_.min_group)));
    }
    return absl::OkStatus();
  }

 private:
  FuseNbitsOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFuseNbitsPass(const FuseNbitsOptions& options) {
  return std::make_unique<FuseNbitsPass>(options);
}

std::unique_ptr<Pass> CreateFuseNbitsPass() { return CreateFuseNbitsPass({}); }

}  // namespace weft
