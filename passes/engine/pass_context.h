// Services for the passes of one pipeline run: admitted numeric contracts, counters, remarks, the
// target, and numbers for rewrites.
#ifndef WEFT_PASSES_ENGINE_PASS_CONTEXT_H_
#define WEFT_PASSES_ENGINE_PASS_CONTEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/numeric_contract.h"
#include "graph/target/target.h"
#include "passes/engine/logs.h"
#include "passes/engine/remarks.h"

namespace weft {

class RuleSet;  // passes/engine/rules/rule_set.h

// The origin of a rewrite, and its numeric contract.
struct RewriteMaker {
  NumericContract contract = NumericContract::kBitExact;
  absl::string_view rule;  // Empty: the pass itself.
  absl::string_view op;    // The op, if the rule is "fold".

  // "mul-one", "fold.add", or "".
  std::string Name() const;
};

class PassContext {
 public:
  // The contract that pipelines admit by default.
  static constexpr NumericContract kDefaultAdmitted = NumericContract::kValueSafe;

  struct Options {
    // If set, every pass may make rewrites up to this contract. Nullopt: up to the option `admit`
    // of the pass, or kDefaultAdmitted.
    std::optional<NumericContract> admitted;
    // Make it an error if a fixpoint hits its cap.
    bool strict = false;
    // Collect remarks; kinds kFailed and kBudget are always collected.
    bool remarks = false;
    // Collect near misses of rules whose name matches this regular expression, as remarks of kind
    // kNearMiss; empty: none.
    std::string near_misses;
    // Rules from files, which canonicalize tries after its own. May be null; outlives the context.
    const RuleSet* rules = nullptr;
    // Limit of all rewrites together (for bisection); -1: no limit.
    int64_t rewrite_limit = -1;
    // Limit of the work of one run of a pass, in units: a rewrite, or a visit of a node by the
    // rewriting driver. -1: no limit. A pass whose budget is spent stops, with a remark of kind
    // kBudget.
    int64_t budget = -1;
    // The target of the compilation; the default has neither routines nor composites.
    Target target;
  };

  PassContext() = default;
  explicit PassContext(Options options)
      : options_(std::move(options)), admitted_(options_.admitted.value_or(kDefaultAdmitted)) {}
  PassContext(const PassContext&) = delete;
  PassContext& operator=(const PassContext&) = delete;

  const Options& options() const { return options_; }
  const Target& target() const { return options_.target; }
  // The loosest contract that the running pass may use.
  NumericContract admitted() const { return admitted_; }
  bool Admits(NumericContract contract) const { return contract <= admitted_; }
  // "approximate, and rewrites up to value-safe are admitted", for remarks.
  std::string WhyNotAdmitted(NumericContract contract) const;

  // Counters of the running pass, sorted by name.
  void Count(absl::string_view name, int64_t n = 1);
  const std::map<std::string, int64_t, std::less<>>& counters() const { return counters_; }

  // Check this before making a remark, which costs string operations. Remarks of kinds kFailed and
  // kBudget are always kept.
  bool wants_remarks() const { return options_.remarks || logs_remarks_; }
  // Adds a remark; the context fills in the pass and the step.
  void AddRemark(Remark remark);
  const std::vector<Remark>& remarks() const { return remarks_; }
  std::vector<Remark> TakeRemarks() { return std::move(remarks_); }

  // Reports that a cap was hit: adds a remark of kind kFailed and, if strict, returns an error. The
  // details are lines of graph text.
  absl::Status ReportDivergence(absl::string_view message, absl::string_view suggestion,
                                std::vector<std::string> details = {});

  // Numbers the next rewrite. False if the limit is reached or the contract is not admitted; the
  // rewrite must then not be done. The maker's names outlive the context.
  bool StartRewrite(const RewriteMaker& maker) {
    if (!Admits(maker.contract)) return Refuse(maker);
    if (num_rewrites_ == options_.rewrite_limit || !Spend()) return false;
    ++num_rewrites_;
    last_ = maker;
    if (maker.contract > fired_) fired_ = maker.contract;
    return true;
  }
  // Subtracts work units from the pass's budget; false if it is spent, and the pass must then stop.
  bool Spend(int64_t units = 1) {
    spent_ += units;
    return options_.budget < 0 || spent_ <= options_.budget || OutOfBudget();
  }
  // Units that the running pass has spent.
  int64_t spent() const { return spent_; }

  // Rewrites of all passes so far, which is the number of the last one.
  int64_t num_rewrites() const { return num_rewrites_; }
  // The maker of the last rewrite.
  const RewriteMaker& last_rewrite() const { return last_; }
  // The loosest contract of the running pass's rewrites.
  NumericContract fired() const { return fired_; }

  // Called by the manager when a pass begins whose rewrites the pipeline admits up to `admit`.
  // Resets the state of the previous pass.
  void BeginPass(absl::string_view name, std::optional<NumericContract> admit = std::nullopt,
                 const LogComponent& log = passes_log);

 private:
  // Returns false; counts "not_admitted", with a remark the first time in a pass.
  bool Refuse(const RewriteMaker& maker);
  bool OutOfBudget();  // Returns false; adds the remark the first time.

  Options options_;
  NumericContract admitted_ = kDefaultAdmitted;
  std::string pass_;
  std::map<std::string, int64_t, std::less<>> counters_;
  std::vector<Remark> remarks_;
  int64_t num_rewrites_ = 0;
  int64_t spent_ = 0;
  bool out_of_budget_ = false;
  const LogComponent* log_ = &passes_log;  // Log component of the running pass.
  bool logs_remarks_ = false;              // That component or perf_hints_log is on.
  RewriteMaker last_;
  NumericContract fired_ = NumericContract::kBitExact;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_CONTEXT_H_
