#include "passes/engine/pass_context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/engine/logs.h"

namespace weft {
namespace {

LogSeverity SeverityOf(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kPassed:
    case RemarkKind::kMissed:
      return LogSeverity::kInfo;
    case RemarkKind::kBudget:
    case RemarkKind::kFailed:
      return LogSeverity::kWarning;
    default:
      return LogSeverity::kDebug;
  }
}

void LogRemark(const Remark& remark, const LogComponent& component) {
  const LogSeverity severity = SeverityOf(remark.kind);
  const bool hint = remark.kind == RemarkKind::kMissed && perf_hints_log.IsLogged();
  if (!hint && !component.IsLogged(severity)) return;
  const std::string text = remark.ToString();
  Log(component, severity, text);
  if (hint) Log(perf_hints_log, text);
}

}  // namespace

std::string RewriteMaker::Name() const {
  return op.empty() ? std::string(rule) : absl::StrCat(rule, ".", op);
}

void PassContext::Count(absl::string_view name, int64_t n) {
  if (n == 0) return;
  auto it = counters_.find(name);
  if (it == counters_.end()) it = counters_.emplace(std::string(name), 0).first;
  it->second += n;
}

void PassContext::AddRemark(Remark remark) {
  const bool loud = remark.kind == RemarkKind::kFailed || remark.kind == RemarkKind::kBudget;
  const bool near_miss = remark.kind == RemarkKind::kNearMiss && !options_.near_misses.empty();
  remark.pass = pass_;
  remark.step = num_rewrites_;
  remark.work = spent_;
  LogRemark(remark, *log_);
  if (!options_.remarks && !near_miss && !loud) return;
  remarks_.push_back(std::move(remark));
}

absl::Status PassContext::ReportDivergence(absl::string_view message, absl::string_view suggestion,
                                           std::vector<std::string> details) {
  Remark remark;
  remark.kind = RemarkKind::kFailed;
  remark.reason = std::string(message);
  remark.suggestion = std::string(suggestion);
  remark.details = std::move(details);
  absl::Status status;
  if (options_.strict) {
    std::string text = absl::StrCat(pass_, ": ", message);
    for (const std::string& line : remark.details) absl::StrAppend(&text, "\n    ", line);
    status = absl::InternalError(text);
  }
  AddRemark(std::move(remark));
  return status;
}

std::string PassContext::WhyNotAdmitted(NumericContract contract) const {
  return absl::StrCat(NumericContractName(contract), ", and rewrites up to ",
                      NumericContractName(admitted_), " are admitted");
}

bool PassContext::Refuse(const RewriteMaker& maker) {
  Count("not_admitted");
  // One remark is enough: the same option would admit all of them.
  if (!wants_remarks() || counters_.find("not_admitted")->second > 1) return false;
  Remark remark;
  remark.kind = RemarkKind::kMissed;
  remark.rule = maker.Name();
  remark.contract = std::string(NumericContractName(maker.contract));
  remark.reason = absl::StrCat("not done: it is ", WhyNotAdmitted(maker.contract));
  AddRemark(std::move(remark));
  return false;
}

bool PassContext::OutOfBudget() {
  if (out_of_budget_) return false;
  out_of_budget_ = true;
  Count("budget_spent");
  Remark remark;
  remark.kind = RemarkKind::kBudget;
  remark.reason = "stopped: the budget is spent";
  remark.args = {{"budget", absl::StrCat(options_.budget)}};
  remark.suggestion = "a larger budget lets it go on";
  AddRemark(std::move(remark));
  return false;
}

void PassContext::BeginPass(absl::string_view name, std::optional<NumericContract> admit,
                            const LogComponent& log) {
  pass_ = std::string(name);
  admitted_ = options_.admitted.value_or(admit.value_or(kDefaultAdmitted));
  counters_.clear();
  fired_ = NumericContract::kBitExact;
  spent_ = 0;
  out_of_budget_ = false;
  log_ = &log;
  logs_remarks_ = log.IsLogged() || perf_hints_log.IsLogged();
}

}  // namespace weft
