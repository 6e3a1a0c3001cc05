// What one run of a pipeline offers its passes: admitted numeric contracts,
// counters, remarks, the target, and numbers for rewrites.
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

// Who made a rewrite, and what it may do to the numbers.
struct RewriteMaker {
  NumericContract contract = NumericContract::kBitExact;
  absl::string_view rule;  // Empty: the pass itself.
  absl::string_view op;    // Whose fold it is, when the rule is "fold".

  // "mul-one", "fold.add", or "".
  std::string Name() const;
};

class PassContext {
 public:
  // The contract that pipelines admit where they do not say more.
  static constexpr NumericContract kDefaultAdmitted = NumericContract::kValueSafe;

  struct Options {
    // Every pass may make rewrites up to this contract and no looser ones. Nothing: up to what
    // the pipeline says of the pass (option `admit`), by default kDefaultAdmitted.
    std::optional<NumericContract> admitted;
    // A fixpoint that hits its cap is an error.
    bool strict = false;
    // Collect remarks; those of kinds kFailed and kBudget are always collected.
    bool remarks = false;
    // Collect near misses of the rules whose name this regular expression
    // matches, as remarks of kind kNearMiss; empty: of none.
    std::string near_misses;
    // Rules from files, tried by canonicalize after its own; may be null and
    // outlives the context.
    const RuleSet* rules = nullptr;
    // At most this many rewrites in all (for bisection); -1: any number.
    int64_t rewrite_limit = -1;
    // Work that one run of a pass may do, in units (a rewrite, or a visit of a
    // node by the rewriting driver, is one); -1: any amount. A pass whose
    // budget is spent stops where it is, with a remark of kind kBudget.
    int64_t budget = -1;
    // The graph is compiled for this target; by default one without routines or composites.
    Target target;
  };

  PassContext() = default;
  explicit PassContext(Options options)
      : options_(std::move(options)), admitted_(options_.admitted.value_or(kDefaultAdmitted)) {}
  PassContext(const PassContext&) = delete;
  PassContext& operator=(const PassContext&) = delete;

  const Options& options() const { return options_; }
  const Target& target() const { return options_.target; }
  // What the pass that runs may do to the numbers.
  NumericContract admitted() const { return admitted_; }
  bool Admits(NumericContract contract) const { return contract <= admitted_; }
  // "approximate, and rewrites up to value-safe are admitted", for remarks.
  std::string WhyNotAdmitted(NumericContract contract) const;

  // Named counters of the pass that runs, in the order of their names.
  void Count(absl::string_view name, int64_t n = 1);
  const std::map<std::string, int64_t, std::less<>>& counters() const { return counters_; }

  // Test before making a remark: a remark costs strings. Remarks of kinds
  // kFailed and kBudget are kept in any case.
  bool wants_remarks() const { return options_.remarks || logs_remarks_; }
  // The context fills in the pass and the step.
  void AddRemark(Remark remark);
  const std::vector<Remark>& remarks() const { return remarks_; }
  std::vector<Remark> TakeRemarks() { return std::move(remarks_); }

  // A cap was hit: a remark of kind kFailed and, when strict, an error.
  // The details are graph text, line by line.
  absl::Status ReportDivergence(absl::string_view message, absl::string_view suggestion,
                                std::vector<std::string> details = {});

  // Gives the next rewrite its number; false when the limit is reached or the contract is not
  // admitted, and then the rewrite must not be done. The maker's names outlive the context.
  bool StartRewrite(const RewriteMaker& maker) {
    if (!Admits(maker.contract)) return Refuse(maker);
    if (num_rewrites_ == options_.rewrite_limit || !Spend()) return false;
    ++num_rewrites_;
    last_ = maker;
    if (maker.contract > fired_) fired_ = maker.contract;
    return true;
  }
  // Takes work units from the pass's budget; false when it is spent, and then
  // the pass must come to an end.
  bool Spend(int64_t units = 1) {
    spent_ += units;
    return options_.budget < 0 || spent_ <= options_.budget || OutOfBudget();
  }
  // Units that the pass that runs has spent.
  int64_t spent() const { return spent_; }

  // Of all passes so far; the last rewrite's number.
  int64_t num_rewrites() const { return num_rewrites_; }
  // Who made it.
  const RewriteMaker& last_rewrite() const { return last_; }
  // The most harmful contract among the current pass's rewrites.
  NumericContract fired() const { return fired_; }

  // For the manager: a pass begins, of which the pipeline admits rewrites up to `admit`. Clears
  // what belongs to one pass.
  void BeginPass(absl::string_view name, std::optional<NumericContract> admit = std::nullopt,
                 const LogComponent& log = passes_log);

 private:
  // False; counts it as "not_admitted", the first time in a pass with a remark.
  bool Refuse(const RewriteMaker& maker);
  bool OutOfBudget();  // False; makes the remark the first time.

  Options options_;
  NumericContract admitted_ = kDefaultAdmitted;
  std::string pass_;
  std::map<std::string, int64_t, std::less<>> counters_;
  std::vector<Remark> remarks_;
  int64_t num_rewrites_ = 0;
  int64_t spent_ = 0;
  bool out_of_budget_ = false;
  const LogComponent* log_ = &passes_log;  // The one that the pass which runs logs to.
  bool logs_remarks_ = false;              // Whether that one or perf_hints_log is on.
  RewriteMaker last_;
  NumericContract fired_ = NumericContract::kBitExact;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_CONTEXT_H_
