#include "tests/trust/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/check/target/element_bounds.h"
#include "api/check/target/rounding_trial.h"
#include "api/compiler.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "tests/support/tensor_compare.h"

namespace weft::trust {
namespace {

// The most runs before an output is said to differ: errors of one run may cancel in an element.
constexpr int kMaxTrials = 32;
// Those with other signs of zeros.
constexpr int kSignTrials = 8;

// Functions of f32 are computed in f32 by `cpu` and may overflow where the reference does not yet.
constexpr double kNearOverflow = 1e37;

bool AreNearOverflow(double a, double b) {
  return std::min(std::abs(a), std::abs(b)) > kNearOverflow && (a < 0) == (b < 0);
}

bool IsExact(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node* node) { return IsExactNode(*node); });
}

// Integers that doubles do not tell apart.
bool DifferInLowBits(const HostTensor& got, const HostTensor& want) {
  constexpr double kExactIntegers = 0x1p53;
  if (IsFloat(want.dtype()) || IsComplex(want.dtype()) || DTypeBits(want.dtype()) < 64) {
    return false;
  }
  const std::vector<int64_t> a = got.ReadInts();
  const std::vector<int64_t> b = want.ReadInts();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && std::abs(static_cast<double>(b[i])) >= kExactIntegers) return true;
  }
  return false;
}

class OutputJudge {
 public:
  // `center` is what the reference gives.
  OutputJudge(const HostTensor& got, const HostTensor& want, const HostTensor& center, bool exact,
              bool both_round)
      : got_(Elements(got)),
        want_(Elements(want)),
        bounds_(center, exact),
        both_round_(both_round) {
    bounds_.Finish();
  }

  void Add(const HostTensor& trial) {
    bounds_.Add(trial);
    bounds_.Finish();
  }

  void AddAlternative(const HostTensor& trial) { bounds_.AddAlternative(trial); }

  // Index of the first element that differs, or -1.
  int64_t FirstDifference() const {
    for (size_t i = 0; i < got_.size(); ++i) {
      const double excess = both_round_ ? bounds_.Distance(i, got_[i], want_[i])
                                        : bounds_.Excess(i, got_[i], /*near_overflow=*/false);
      if (excess > 1 && !AreNearOverflow(got_[i], want_[i])) return static_cast<int64_t>(i);
    }
    return -1;
  }

  std::string Describe(int64_t i) const {
    const double excess = both_round_ ? bounds_.Distance(i, got_[i], want_[i])
                                      : bounds_.Excess(i, got_[i], /*near_overflow=*/false);
    return absl::StrCat("element ", i, " is ", got_[i], ", wanted ", want_[i], ", ", excess,
                        " times what rounding may do");
  }

 private:
  const std::vector<double> got_;
  const std::vector<double> want_;
  ElementBounds bounds_;
  const bool both_round_;
};

// The same program without composite ops; null where it cannot be had.
std::unique_ptr<Module> Decomposed(const Module& module) {
  std::unique_ptr<Module> clone = module.Clone();
  CompileOptions options;
  options.passes = "functionalize,decompose{admit=reassociating}";
  return Compile(*clone, options).ok() ? std::move(clone) : nullptr;
}

// Runs of a program for one output.
class Trials {
 public:
  Trials(const Module& module, absl::Span<const HostTensor> inputs, size_t output,
         const HostTensor& center, int64_t* count)
      : module_(module), inputs_(inputs), output_(output), center_(center), count_(count) {}

  void Round(int trial, double operand_error, OutputJudge* judge) {
    if (trial == 1) decomposed_ = Decomposed(module_);
    const bool parts = trial % 2 == 1 && decomposed_ != nullptr;
    RoundingTrial rounding(trial, operand_error);
    const HostTensor moved = Run(parts ? *decomposed_ : module_, rounding.Options());
    if (moved.valid()) judge->Add(moved);
  }
  void SignZeros(int trial, OutputJudge* judge) {
    ZeroSignTrial signs(trial);
    const HostTensor other = Run(module_, signs.Options());
    if (other.valid()) judge->AddAlternative(other);
  }

 private:
  // Invalid where it fails or has other sizes: moved data may be out of an op's domain.
  HostTensor Run(const Module& module, const reference::RunOptions& options) {
    ++*count_;
    const auto results = reference::Run(*module.main(), inputs_, options);
    if (!results.ok() || (*results)[output_].dims() != center_.dims()) return HostTensor();
    return (*results)[output_];
  }

  const Module& module_;
  const absl::Span<const HostTensor> inputs_;
  const size_t output_;
  const HostTensor& center_;
  int64_t* const count_;
  std::unique_ptr<Module> decomposed_;
};

// Output `i` alone.
absl::StatusOr<std::string> DifferenceOfOutput(const Module& module,
                                               absl::Span<const HostTensor> inputs, size_t i,
                                               const HostTensor& got, const HostTensor& want,
                                               const JudgeLimits& limits, int64_t* count) {
  HostTensor center = want;
  if (limits.both_round) {
    WEFT_ASSIGN_OR_RETURN(const auto results, reference::Run(*module.main(), inputs));
    center = results[i];
    if (center.dims() != want.dims()) return "the reference gives " + center.type().ToString();
  }
  const bool exact = IsExact(*module.main());
  OutputJudge judge(got, want, center, exact, limits.both_round);
  Trials trials(module, inputs, i, center, count);
  for (int t = 0; judge.FirstDifference() >= 0 && t < (exact ? kSignTrials : kMaxTrials); ++t) {
    if (t == 0 || !exact) trials.Round(t, limits.operand_error, &judge);
    if (t < kSignTrials) trials.SignZeros(t, &judge);
  }
  const int64_t at = judge.FirstDifference();
  return at < 0 ? "" : judge.Describe(at);
}

}  // namespace

std::string DifferenceBeyondRounding(const Module& module, absl::Span<const HostTensor> inputs,
                                     absl::Span<const HostTensor> got,
                                     absl::Span<const HostTensor> want, const JudgeLimits& limits,
                                     int64_t* trials) {
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string difference = Difference(got[i], want[i], {});
    if (difference.empty()) continue;
    const bool same_type = got[i].valid() && want[i].valid() && got[i].dtype() == want[i].dtype() &&
                           got[i].dims() == want[i].dims();
    const auto beyond = same_type && !DifferInLowBits(got[i], want[i])
                            ? DifferenceOfOutput(module, inputs, i, got[i], want[i], limits, trials)
                            : absl::StatusOr<std::string>(difference);
    if (!beyond.ok()) return absl::StrCat("output ", i, ": ", beyond.status().message());
    if (!beyond->empty()) return absl::StrCat("output ", i, ": ", *beyond);
  }
  return "";
}

}  // namespace weft::trust
