#include "passes/decompose/selection.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/target/target.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

constexpr absl::string_view kKept = "kept";
constexpr absl::string_view kClaimed = "claimed";
constexpr absl::string_view kNotSelected = "not_selected";
constexpr absl::string_view kNotAdmitted = "not_admitted";

absl::Status NoComposite(absl::string_view option, const std::string& name,
                         const OpRegistry& registry) {
  if (registry.Find(name) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", name, " has no decomposition"));
  }
  std::vector<std::string> names;
  for (const OpDef* op : registry.All()) {
    if (op->is_composite()) names.emplace_back(op->name());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": no op is called \"", name, "\"", DidYouMean(name, names)));
}

absl::Status AddOps(absl::string_view option, const std::vector<std::string>& names,
                    const OpRegistry& registry, absl::flat_hash_set<const OpDef*>* ops) {
  for (const std::string& name : names) {
    const OpDef* op = registry.Find(name);
    if (op == nullptr || !op->is_composite()) return NoComposite(option, name, registry);
    ops->insert(op);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecomposeSelection> DecomposeSelection::Make(const DecomposeOptions& options,
                                                            const OpRegistry& registry,
                                                            const PassContext& context) {
  DecomposeSelection selection(context);
  WEFT_RETURN_IF_ERROR(AddOps("ops", options.ops, registry, &selection.ops_));
  WEFT_RETURN_IF_ERROR(AddOps("keep", options.keep, registry, &selection.keep_));
  selection.all_ = options.all;
  if (!options.all) {
    // A target may name ops of a library that is not loaded.
    for (const std::string& name : context.target().composites) {
      if (const OpDef* op = registry.Find(name)) selection.claimed_.insert(op);
    }
  }
  return selection;
}

absl::string_view DecomposeSelection::Stays(const Node& node) const {
  const OpDef& op = node.op();
  if (keep_.contains(&op)) return kKept;
  if (!ops_.empty() && !ops_.contains(&op)) return kNotSelected;
  if (claimed_.contains(&op)) return kClaimed;
  if (!all_ && FindRoutine(context_->target(), node) != nullptr) return kClaimed;
  if (!context_->Admits(op.decompose_contract())) return kNotAdmitted;
  return "";
}

std::string DecomposeSelection::WhyStays(const Node& node) const {
  const OpDef& op = node.op();
  const absl::string_view reason = Stays(node);
  if (reason == kKept) return "stays: keep names it";
  if (reason == kNotSelected) return "stays: ops does not name it";
  if (reason == kClaimed)
    return absl::StrCat("stays: target ", context_->target().name, " runs it");
  return absl::StrCat("stays: its decomposition is ",
                      context_->WhyNotAdmitted(op.decompose_contract()));
}

}  // namespace weft
