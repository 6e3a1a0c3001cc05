#include "passes/quantize_annotate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "passes/quantize/annotate.h"
#include "passes/quantize/policy.h"

namespace weft {
namespace {

absl::StatusOr<QuantPolicy> LoadPolicy(const QuantizeAnnotateOptions& options) {
  WEFT_ASSIGN_OR_RETURN(QuantPolicy policy, LoadQuantPolicy(options.policy));
  WEFT_RETURN_IF_ERROR(SetActivationObserver(options.observer, &policy));
  return policy;
}

void AddRemarks(const QuantDecision& decision, PassContext& context) {
  if (!context.wants_remarks()) return;
  for (const QuantVerdict& verdict : decision.verdicts) {
    context.AddRemark(
        RemarkOn(*verdict.node, verdict.quantized ? RemarkKind::kPassed : RemarkKind::kMissed,
                 absl::StrCat(verdict.quantized ? "quantized: " : "stays float: ", verdict.text)));
  }
  for (const std::string& exclusion : decision.unmet) {
    Remark remark;
    remark.kind = RemarkKind::kMissed;
    remark.reason = absl::StrCat("the exclusion \"", exclusion, "\" meets no node");
    context.AddRemark(std::move(remark));
  }
}

class QuantizeAnnotatePass : public Pass {
 public:
  explicit QuantizeAnnotatePass(const QuantizeAnnotateOptions& options) : options_(options) {}
  absl::string_view name() const override { return "quantize_annotate"; }
  absl::string_view doc() const override {
    return "Notes which values a policy quantizes, and how; changes no value.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("policy", &options_.policy,
                  "x86, symmetric, dynamic, weight_only, weight_only_channels, f8, with "
                  "parameters in braces, or the text of a policy");
    visitor.Visit("exclude", &options_.exclude,
                  "source nodes that stay float, by name (with *) or op");
    visitor.Visit("observer", &options_.observer, "of all activations, if not the policy's");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    WEFT_ASSIGN_OR_RETURN(const QuantPolicy policy, LoadPolicy(options_));
    const QuantCandidates candidates = CollectQuantCandidates(module, policy);
    WEFT_ASSIGN_OR_RETURN(const QuantDecision decision,
                          DecideQuantization(module, candidates, policy, options_.exclude));
    AddRemarks(decision, context);
    const int64_t quantized = decision.num_quantized();
    context.Count("quantized", quantized);
    context.Count("float", static_cast<int64_t>(decision.verdicts.size()) - quantized);
    if (decision.marks.empty() ||
        !context.StartRewrite({NumericContract::kBitExact, "annotate", ""})) {
      return absl::OkStatus();
    }
    int64_t groups = 0;
    for (const QuantMark& mark : decision.marks) {
      SetQuantNote(mark.place, mark.note);
      groups = std::max(groups, mark.note.group + 1);
    }
    context.Count("places", static_cast<int64_t>(decision.marks.size()));
    context.Count("groups", groups);
    return absl::OkStatus();
  }

 private:
  QuantizeAnnotateOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateQuantizeAnnotatePass(const QuantizeAnnotateOptions& options) {
  return std::make_unique<QuantizeAnnotatePass>(options);
}

std::unique_ptr<Pass> CreateQuantizeAnnotatePass() { return CreateQuantizeAnnotatePass({}); }

}  // namespace weft
