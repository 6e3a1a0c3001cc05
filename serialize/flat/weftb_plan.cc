#include "serialize/flat/weftb_plan.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/annotate.h"
#include "base/hash.h"
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

// "cpu", or "cpu:avx2" if the instruction set is known.
std::string NameOf(const WeftbContents::Target& target) {
  return target.instruction_set.empty()
             ? PrintableName(target.name)
             : absl::StrCat(PrintableName(target.name), ":", PrintableName(target.instruction_set));
}

absl::Status NoPlan(const WeftbFile& file, absl::string_view function, absl::string_view target,
                    absl::Span<const std::string> sets, bool other_sets) {
  constexpr size_t kMaxShown = 8;
  const WeftbContents& contents = file.contents();
  std::string text = absl::StrCat(file.name(), ": there is no plan of @", PrintableName(function),
                                  " for target ", PrintableName(target));
  if (other_sets) absl::StrAppend(&text, " with ", absl::StrJoin(sets, " or "));
  absl::StrAppend(&text, "; the file has ");
  if (contents.plans.empty()) absl::StrAppend(&text, "none");
  for (size_t i = 0; i < contents.plans.size() && i <= kMaxShown; ++i) {
    const WeftbContents::Plan& plan = contents.plans[i];
    absl::StrAppend(&text, i > 0 ? ", " : "",
                    i == kMaxShown ? "..."
                                   : absl::StrCat("@", PrintableName(plan.function), " for ",
                                                  NameOf(contents.targets[plan.target])));
  }
  return other_sets ? absl::FailedPreconditionError(text) : absl::NotFoundError(text);
}

std::string NameOf(const HostTensor& tensor, const Plan& plan) {
  if (plan.constants == nullptr) return "";
  for (const auto& [number, constant] : plan.constants->by_number) {
    if (constant.tensor.raw() == tensor.raw()) return constant.name;
  }
  return "";
}

// Gives the plan, which is for the instruction set, the packed copies of its constants. `ids` are
// those of the constants by address.
absl::Status AddPacked(const WeftbFile& file, absl::string_view instruction_set,
                       const absl::flat_hash_map<const uint8_t*, uint64_t>& ids,
                       WeftbConstants* constants, Plan* plan) {
  if (file.contents().packed.empty() || plan->constants == nullptr) return absl::OkStatus();
  absl::flat_hash_map<uint64_t, std::vector<PackedConstant>> by_weight;
  absl::flat_hash_set<uint64_t> read;
  for (const auto& [address, id] : ids) read.insert(id);
  for (const WeftbContents::Packed& packed : file.contents().packed) {
    const bool serves = packed.instruction_set.empty() || packed.instruction_set == instruction_set;
    if (!serves || !read.contains(packed.weight)) continue;
    by_weight[packed.weight].push_back(
        {std::string(packed.layout), constants->Find(packed.packed)});
  }
  WEFT_RETURN_IF_ERROR(constants->status());
  auto all = std::make_shared<PlanConstants>(*plan->constants);
  for (auto& [number, constant] : all->by_number) {
    const auto id = ids.find(constant.tensor.raw());
    if (id != ids.end()) constant.packed = by_weight[id->second];
  }
  SetConstants(std::move(all), plan);
  return absl::OkStatus();
}

// Sizes that the type leaves open are checked by a run.
bool IsOfType(const HostTensor& value, const Type& type) {
  if (!type.is_tensor() || value.dtype() != type.dtype() || value.rank() != type.rank()) {
    return false;
  }
  for (int i = 0; i < value.rank(); ++i) {
    const SymInt dim = type.dim(i);
    if (dim.is_constant() && dim.value() != value.dim(i)) return false;
  }
  return true;
}

absl::StatusOr<Plan> ReadPlan(const WeftbFile& file, const WeftbContents::Plan& entry,
                              const WeftbPlanOptions& options, PlanParser parse) {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view text, file.Text(entry.segment));
  const std::string name = absl::StrCat(file.name(), ", plan of @", PrintableName(entry.function));
  WeftbConstants constants(file);
  absl::flat_hash_map<const uint8_t*, uint64_t> ids;
  const auto find = [&](uint64_t id, Type) {
    HostTensor tensor = constants.Find(id);
    if (tensor.valid()) ids.emplace(tensor.raw(), id);
    return tensor;
  };
  auto plan = parse(text, find, name);
  WEFT_RETURN_IF_ERROR(constants.status());
  WEFT_RETURN_IF_ERROR(plan.status());
  if (plan->name != entry.function) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the text is of @", PrintableName(plan->name)));
  }
  WEFT_RETURN_IF_ERROR(Annotate(VerifyPlan(*plan), name));
  const absl::string_view set = file.contents().targets[entry.target].instruction_set;
  WEFT_RETURN_IF_ERROR(AddPacked(file, set, ids, &constants, &*plan));
  if (options.check_weights) {
    WEFT_RETURN_IF_ERROR(
        constants.CheckContents([&](const HostTensor& tensor) { return NameOf(tensor, *plan); }));
  }
  return plan;
}

// The constants that programs read as they are, small ones first; then the packed copies; then what
// programs read copies of: pages, which may be huge, should not have what is read beside what is
// not.
absl::Status AddConstants(const PlanConstants& constants, int target, WeftbBuilder* builder) {
  std::vector<std::pair<uint64_t, const PlanConstant*>> sorted;
  for (const auto& [number, constant] : constants.by_number) {
    sorted.push_back({constant.tensor.Fingerprint(), &constant});
  }
  const auto rank = [](const auto& entry) {
    const PlanConstant& constant = *entry.second;
    return std::make_pair(!constant.packed.empty(), constant.tensor.bytes());
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  for (const auto& [id, constant] : sorted) {
    if (constant->packed.empty()) {
      WEFT_RETURN_IF_ERROR(builder->AddConstant(id, constant->tensor));
    }
    for (const PackedConstant& packed : constant->packed) {
      WEFT_RETURN_IF_ERROR(builder->AddPacked(id, packed.layout, packed.data, target));
    }
  }
  for (const auto& [id, constant] : sorted) {
    if (constant->packed.empty()) continue;
    WEFT_RETURN_IF_ERROR(builder->AddConstant(id, constant->tensor));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddPlanToWeftb(const Plan& plan, int target, WeftbBuilder* builder) {
  if (plan.constants != nullptr) {
    WEFT_RETURN_IF_ERROR(AddConstants(*plan.constants, target, builder));
  }
  return builder->AddPlan(plan.name, target, PrintPlan(plan, PlanForm::kSelfContained));
}

uint64_t HashPlanText(const Plan& plan) { return Fnv1a(PrintPlan(plan, PlanForm::kSelfContained)); }

absl::StatusOr<int> FindPlanInWeftb(const WeftbFile& file, absl::string_view function,
                                    absl::string_view target,
                                    absl::Span<const std::string> instruction_sets) {
  const WeftbContents& contents = file.contents();
  const auto unknown = static_cast<int64_t>(instruction_sets.size());
  int best = -1;
  int64_t best_rank = unknown + 1;
  bool other_sets = false;
  for (size_t i = 0; i < contents.plans.size(); ++i) {
    const WeftbContents::Plan& plan = contents.plans[i];
    const WeftbContents::Target& made_for = contents.targets[plan.target];
    if (plan.function != function || made_for.name != target) continue;
    const int64_t rank =
        std::find(instruction_sets.begin(), instruction_sets.end(), made_for.instruction_set) -
        instruction_sets.begin();
    if (rank == unknown && unknown > 0 && !made_for.instruction_set.empty()) {
      other_sets = true;
    } else if (rank < best_rank) {
      best = static_cast<int>(i);
      best_rank = rank;
    }
  }
  if (best >= 0) return best;
  return NoPlan(file, function, target, instruction_sets, other_sets);
}

absl::StatusOr<Plan> ReadPlanFromWeftb(const WeftbFile& file, absl::string_view function,
                                       absl::string_view target, const WeftbPlanOptions& options,
                                       PlanParser parse) {
  WEFT_ASSIGN_OR_RETURN(const int index,
                        FindPlanInWeftb(file, function, target, options.instruction_sets));
  const WeftbContents::Plan& entry = file.contents().plans[index];
  auto plan = CatchOutOfMemory([&] { return ReadPlan(file, entry, options, parse); });
  if (absl::IsResourceExhausted(plan.status())) return Annotate(plan.status(), file.name());
  return plan;
}

absl::StatusOr<std::vector<HostTensor>> ReadStatesFromWeftb(const WeftbFile& file, int index,
                                                            const Plan& plan,
                                                            const WeftbPlanOptions& options) {
  std::vector<HostTensor> states(plan.inputs.size());
  WeftbConstants constants(file);
  for (const WeftbContents::State& state : file.contents().states) {
    if (state.plan != index) continue;
    const auto input = static_cast<size_t>(state.input);
    if (input >= plan.inputs.size() || !plan.inputs[input].read) {
      return absl::InvalidArgumentError(absl::StrCat(file.name(), ": there is a value for input ",
                                                     input, ", which the plan does not read"));
    }
    HostTensor value = constants.Find(state.constant);
    if (value.valid() && !IsOfType(value, plan.inputs[input].type)) {
      return absl::InvalidArgumentError(absl::StrCat(file.name(), ": the value of input ", input,
                                                     " has type ", value.type().ToString(),
                                                     ", not ", plan.inputs[input].type.ToString()));
    }
    states[input] = std::move(value);
  }
  WEFT_RETURN_IF_ERROR(constants.status());
  if (options.check_weights) {
    WEFT_RETURN_IF_ERROR(
        constants.CheckContents([](const HostTensor&) { return std::string("state"); }));
  }
  return states;
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
