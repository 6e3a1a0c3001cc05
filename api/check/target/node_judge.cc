#include "api/check/target/node_judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/check/target/element_bounds.h"
#include "api/check/target/rounding_trial.h"
#include "backends/reference/executor.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"

namespace weft {
namespace {

// Trials per node: more if a result has few elements, whose errors may cancel in all of few trials;
// and the most before a result counts as different, because elements that share an operand, such as
// the rows of one mask, stay equal if the elements of the operand happen to move together.
constexpr int64_t kTrials = 3;
constexpr int64_t kMoreTrials = 16;
constexpr int64_t kMaxTrials = 32;
constexpr int64_t kTrialElements = 4096;
// Additional units in the last place by which sums may differ without a trial, times the root of
// their length and, beyond kFewSums, the growth of the largest of so many random errors.
constexpr double kSumUnits = 3;
constexpr double kFewSums = 1024;
// Doubles represent all integers up to this one.
constexpr double kExactIntegers = 9007199254740992.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool SameType(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims();
}

bool PlainlyNearF32(const HostTensor& got, const HostTensor& want, double units) {
  const float* a = got.data<float>();
  const float* b = want.data<float>();
  const int64_t n = want.numel();
  units *= EpsilonOf(DType::kF32);
  const auto absolute =
      static_cast<float>(units * TypicalMagnitude(absl::MakeConstSpan(b, static_cast<size_t>(n))));
  const auto relative = static_cast<float>(units);
  for (int64_t i = 0; i < n; ++i) {
    if (std::abs(a[i] - b[i]) <= absolute + relative * std::abs(b[i]) && std::isfinite(b[i])) {
      continue;
    }
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

double UnitsOfSums(double length, int64_t count) {
  const double sums = std::max(kFewSums, static_cast<double>(count));
  return kSumUnits * std::sqrt(length) * std::sqrt(std::log(sums) / std::log(kFewSums));
}

// True if the results agree without a trial.
bool PlainlySame(const HostTensor& got, const HostTensor& want, double units) {
  if (got.BitEqual(want)) return true;
  if (units == 0 || want.dtype() != DType::kF32) return false;
  return PlainlyNearF32(got.Contiguous(), want.Contiguous(), units);
}

// True if products or sums of squares of such numbers may overflow in one executor and not in
// another with wider intermediates.
bool IsNearOverflow(DType dtype, double largest) {
  const double limit = dtype == DType::kF64 ? 1e150 : 1e15;
  return largest > limit;
}

std::string IndexText(size_t flat, absl::Span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = static_cast<int64_t>(flat) % dims[d];
    flat /= static_cast<size_t>(dims[d]);
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]");
}

class Judge {
 public:
  Judge(const Node& node, absl::Span<const HostTensor> operands, const SymbolEnv& env,
        absl::Span<const HostTensor> got, const JudgeOptions& options)
      : node_(node), operands_(operands), env_(env), got_(got), options_(options) {}

  absl::StatusOr<NodeJudgement> Run() {
    WEFT_ASSIGN_OR_RETURN(result_.want, reference::RunNode(node_, operands_, env_));
    exact_ = IsExactNode(node_);
    const double length = SumLength(node_, operands_);
    std::vector<size_t> doubtful;
    for (size_t r = 0; r < got_.size() && r < result_.want.size(); ++r) {
      const HostTensor& want = result_.want[r];
      if (!got_[r].valid() || !want.valid()) continue;
      if (!SameType(got_[r], want)) {
        Differ(kInfinity, absl::StrCat("result ", r, ": got ", got_[r].type().ToString(), ", want ",
                                       want.type().ToString()));
        continue;
      }
      const double sums = length > 1 ? UnitsOfSums(length, want.numel()) : 0;
      const double units = exact_ ? 0 : kPlainUnits + sums;
      if (!PlainlySame(got_[r], want, units)) doubtful.push_back(r);
    }
    if (!doubtful.empty() && result_.same) JudgeByTrials(doubtful);
    return std::move(result_);
  }

 private:
  void Differ(double excess, std::string difference) {
    if (!result_.same && excess <= result_.excess) return;
    result_.same = false;
    result_.excess = excess;
    result_.difference = std::move(difference);
  }

  void JudgeByTrials(const std::vector<size_t>& doubtful) {
    std::vector<ElementBounds> bounds;
    for (size_t r : doubtful) bounds.emplace_back(result_.want[r], exact_);
    double largest = 0;
    const int64_t numel = std::max<int64_t>(1, got_[doubtful[0]].numel());
    const int64_t enough = exact_ ? 1 : std::clamp(kTrialElements / numel, kTrials, kMoreTrials);
    for (int64_t t = 0; t < (exact_ ? 1 : kMaxTrials); ++t) {
      if (t >= enough && !Differs(doubtful, bounds, largest)) break;
      RoundingTrial trial(static_cast<int>(t), options_.operand_error);
      auto moved = reference::RunNode(node_, operands_, env_, trial.Options());
      ++result_.trials;
      largest = std::max(largest, trial.largest());
      if (!moved.ok()) continue;
      for (size_t k = 0; k < doubtful.size(); ++k) bounds[k].Add((*moved)[doubtful[k]]);
    }
    for (ElementBounds& b : bounds) b.Finish();
    for (size_t k = 0; k < doubtful.size(); ++k) JudgeResult(doubtful[k], bounds[k], largest);
  }

  bool IsNearOverflowOf(const HostTensor& got, double largest) const {
    return !exact_ && IsNearOverflow(got.dtype(), largest);
  }

  // True if an element differs by the trials so far.
  bool Differs(const std::vector<size_t>& doubtful, std::vector<ElementBounds>& bounds,
               double largest) const {
    for (size_t k = 0; k < doubtful.size(); ++k) {
      bounds[k].Finish();
      const HostTensor& got = got_[doubtful[k]];
      const bool near_overflow = IsNearOverflowOf(got, largest);
      const std::vector<double> elements = Elements(got);
      for (size_t i = 0; i < elements.size(); ++i) {
        if (bounds[k].Excess(i, elements[i], near_overflow) > 1) return true;
      }
    }
    return false;
  }

  void JudgeResult(size_t r, const ElementBounds& bounds, double largest) {
    const HostTensor& got = got_[r];
    const bool near_overflow = IsNearOverflowOf(got, largest);
    const std::vector<double> elements = Elements(got);
    size_t worst = 0;
    int64_t count = 0;
    double excess = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const double e = bounds.Excess(i, elements[i], near_overflow);
      if (!(e > 1)) continue;
      ++count;
      if (e <= excess) continue;
      worst = i;
      excess = e;
    }
    // Integers that doubles do not represent exactly.
    const bool wide = DTypeBits(got.dtype()) == 64 && !IsFloat(got.dtype());
    if (count == 0 && wide && !IsComplex(got.dtype())) {
      count = CountWide(got.ReadInts(), result_.want[r].ReadInts(), &worst);
      excess = kInfinity;
    }
    if (count == 0) return;
    std::vector<int64_t> dims(got.dims().begin(), got.dims().end());
    if (IsComplex(got.dtype())) dims.push_back(2);
    std::string text = absl::StrCat("result ", r, ": ", count, " of ", elements.size(),
                                    " elements differ; worst at ", IndexText(worst, dims), ": got ",
                                    elements[worst], ", want ", bounds.want(worst));
    if (excess < kInfinity) absl::StrAppend(&text, ", ", excess, " times what rounding may do");
    Differ(excess, std::move(text));
  }

  static int64_t CountWide(const std::vector<int64_t>& got, const std::vector<int64_t>& want,
                           size_t* first) {
    int64_t count = 0;
    for (size_t i = got.size(); i-- > 0;) {
      if (got[i] == want[i] || std::abs(static_cast<double>(want[i])) < kExactIntegers) continue;
      ++count;
      *first = i;
    }
    return count;
  }

  const Node& node_;
  absl::Span<const HostTensor> operands_;
  const SymbolEnv& env_;
  absl::Span<const HostTensor> got_;
  const JudgeOptions options_;
  bool exact_ = false;
  NodeJudgement result_;
};

}  // namespace

absl::StatusOr<NodeJudgement> JudgeNode(const Node& node, absl::Span<const HostTensor> operands,
                                        const SymbolEnv& env, absl::Span<const HostTensor> got,
                                        const JudgeOptions& options) {
  return Judge(node, operands, env, got, options).Run();
}

}  // namespace weft
