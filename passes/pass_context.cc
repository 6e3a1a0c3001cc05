#include "passes/pass_context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {

absl::string_view NumericContractName(NumericContract contract) {
  switch (contract) {
    case NumericContract::kBitExact:
      return "bit-exact";
    case NumericContract::kValueSafe:
      return "value-safe";
    case NumericContract::kReassociating:
      return "reassociating";
    case NumericContract::kApproximate:
      return "approximate";
  }
  return "";
}

void PassContext::Count(absl::string_view name, int64_t n) {
  if (n == 0) return;
  auto it = counters_.find(name);
  if (it == counters_.end()) it = counters_.emplace(std::string(name), 0).first;
  it->second += n;
}

void PassContext::AddRemark(Remark remark) {
  const bool near_miss =
      remark.kind == RemarkKind::kMissed && !options_.near_misses.empty();
  if (!options_.remarks && !near_miss && remark.kind != RemarkKind::kFailed) {
    return;
  }
  remark.pass = pass_;
  remarks_.push_back(std::move(remark));
}

absl::Status PassContext::ReportDivergence(absl::string_view message) {
  Remark remark;
  remark.kind = RemarkKind::kFailed;
  remark.reason = std::string(message);
  AddRemark(std::move(remark));
  if (!options_.strict) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(pass_, ": ", message));
}

void PassContext::BeginPass(absl::string_view name) {
  pass_ = std::string(name);
  counters_.clear();
  fired_ = NumericContract::kBitExact;
}

}  // namespace weft
