#include "backends/profile_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

constexpr size_t kMaxNames = 16;
// Steps of a history that are looked at.
constexpr size_t kMaxSteps = 64;

}  // namespace

// Kineto's names are those of C.
std::string ProfileTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
      return "c10::Half";
    case DType::kBF16:
      return "c10::BFloat16";
    case DType::kI64:
      return "long int";
    case DType::kI32:
      return "int";
    case DType::kI16:
      return "short int";
    case DType::kI8:
      return "signed char";
    case DType::kU8:
      return "unsigned char";
    case DType::kBool:
      return "bool";
    default:
      return std::string(DTypeName(dtype));
  }
}

std::vector<std::string> ProfileSources(const Module& module, ProvenanceId id) {
  return module.provenance().Names(id, kMaxNames);
}

std::vector<std::string> ProfileRules(const Module& module, OriginId id) {
  std::vector<std::string> rules;
  for (const OriginTable::Step& step : module.origins().History(id, kMaxSteps)) {
    std::string rule(step.pass);
    if (!step.rule.empty()) absl::StrAppend(&rule, rule.empty() ? "" : ".", step.rule);
    if (rule.empty() || std::count(rules.begin(), rules.end(), rule) > 0) continue;
    rules.push_back(std::move(rule));
    if (rules.size() == kMaxNames) break;
  }
  return rules;
}

}  // namespace weft
