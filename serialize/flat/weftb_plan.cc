#include "serialize/flat/weftb_plan.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/out_of_memory.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_constants.h"
#include "serialize/flat/weftb_file.h"

namespace weft {
namespace {

absl::Status NoPlan(const WeftbFile& file, absl::string_view function, absl::string_view target) {
  constexpr size_t kMaxShown = 8;
  const WeftbContents& contents = file.contents();
  std::string text = absl::StrCat(file.name(), ": there is no plan of @", PrintableName(function),
                                  " for target ", PrintableName(target), "; the file has ");
  if (contents.plans.empty()) absl::StrAppend(&text, "none");
  for (size_t i = 0; i < contents.plans.size() && i <= kMaxShown; ++i) {
    const WeftbContents::Plan& plan = contents.plans[i];
    absl::StrAppend(&text, i > 0 ? ", " : "",
                    i == kMaxShown
                        ? "..."
                        : absl::StrCat("@", PrintableName(plan.function), " for ",
                                       PrintableName(contents.targets[plan.target].name)));
  }
  return absl::NotFoundError(text);
}

std::string NameOf(const HostTensor& tensor, const Plan& plan) {
  if (plan.constants == nullptr) return "";
  for (const auto& [number, constant] : plan.constants->by_number) {
    if (constant.tensor.raw() == tensor.raw()) return constant.name;
  }
  return "";
}

absl::StatusOr<Plan> ReadPlan(const WeftbFile& file, const WeftbContents::Plan& entry,
                              const WeftbPlanOptions& options, PlanParser parse) {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view text, file.Text(entry.segment));
  const std::string name = absl::StrCat(file.name(), ", plan of @", PrintableName(entry.function));
  WeftbConstants constants(file);
  const auto find = [&](uint64_t id, Type) { return constants.Find(id); };
  auto plan = parse(text, find, name);
  WEFT_RETURN_IF_ERROR(constants.status());
  WEFT_RETURN_IF_ERROR(plan.status());
  if (plan->name != entry.function) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the text is of @", PrintableName(plan->name)));
  }
  WEFT_RETURN_IF_ERROR(Annotate(VerifyPlan(*plan), name));
  if (options.check_weights) {
    WEFT_RETURN_IF_ERROR(
        constants.CheckContents([&](const HostTensor& tensor) { return NameOf(tensor, *plan); }));
  }
  return plan;
}

}  // namespace

absl::Status AddPlanToWeftb(const Plan& plan, int target, WeftbBuilder* builder) {
  if (plan.constants != nullptr) {
    for (const auto& [number, constant] : plan.constants->by_number) {
      WEFT_RETURN_IF_ERROR(builder->AddConstant(constant.tensor.Fingerprint(), constant.tensor));
    }
  }
  return builder->AddPlan(plan.name, target, PrintPlan(plan, PlanForm::kSelfContained));
}

absl::StatusOr<Plan> ReadPlanFromWeftb(const WeftbFile& file, absl::string_view function,
                                       absl::string_view target, const WeftbPlanOptions& options,
                                       PlanParser parse) {
  for (const WeftbContents::Plan& entry : file.contents().plans) {
    if (entry.function != function || file.contents().targets[entry.target].name != target) {
      continue;
    }
    auto plan = CatchOutOfMemory([&] { return ReadPlan(file, entry, options, parse); });
    if (absl::IsResourceExhausted(plan.status())) return Annotate(plan.status(), file.name());
    return plan;
  }
  return NoPlan(file, function, target);
}

void StripPlanNames(Plan* plan) {
  for (Plan* p : AllPlans(plan)) {
    for (Step& step : p->steps) {
      step.source.reset();
      step.remark.clear();
    }
    for (Buffer& buffer : p->buffers) buffer.remark.clear();
  }
}

}  // namespace weft
