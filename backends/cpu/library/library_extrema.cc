// cummax and cummin: the key of each element is compared with the best one of its line so far.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/lines.h"
#include "backends/cpu/library/order_keys.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// Lines that lie side by side and are scanned together.
constexpr int kBeside = 32;

// The key whose largest one wins; NaN wins in either direction.
template <typename U, typename Key>
U Rank(U bits, Key key, bool largest) {
  const U ordered = key(bits);
  if (largest || (Key::kHasNan && ordered == std::numeric_limits<U>::max())) return ordered;
  return static_cast<U>(~ordered);
}

// The last of equal elements wins; a result that is null is left out.
template <typename U, typename Key>
void ScanLine(int64_t size, Key key, bool largest, const U* x, U* values, int64_t* positions) {
  U best = 0, rank = 0;  // No key is below 0.
  int64_t at = 0;
  for (int64_t k = 0; k < size; ++k) {
    const U next = Rank<U>(x[k], key, largest);
    if (next >= rank) {
      rank = next;
      best = x[k];
      at = k;
    }
    if (values != nullptr) values[k] = best;
    if (positions != nullptr) positions[k] = at;
  }
}

// The same for `count` lines side by side, kBeside at most.
template <typename U, typename Key>
void ScanLines(const Lines& lines, Key key, bool largest, const U* x, int64_t count, U* values,
               int64_t* positions) {
  U best[kBeside], rank[kBeside] = {};
  int64_t at[kBeside];
  for (int64_t k = 0; k < lines.size; ++k) {
    const int64_t row = k * lines.inner;
    for (int64_t j = 0; j < count; ++j) {
      const U next = Rank<U>(x[row + j], key, largest);
      const bool wins = next >= rank[j];
      rank[j] = wins ? next : rank[j];
      best[j] = wins ? x[row + j] : best[j];
      at[j] = wins ? k : at[j];
    }
    if (values != nullptr) std::copy_n(best, count, values + row);
    if (positions != nullptr) std::copy_n(at, count, positions + row);
  }
}

class ExtremaCall : public LibraryCall {
 public:
  ExtremaCall(const Lines& lines, DType dtype, bool largest, int threads)
      : lines_(lines),
        dtype_(dtype),
        largest_(largest),
        groups_((lines.inner + kBeside - 1) / kBeside),
        threads_(ThreadsOfLines(lines, lines.outer * groups_, threads)) {}

  std::string name() const override { return "running_extrema"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    WithKey(dtype_, [&](auto zero, auto key) {
      using U = decltype(zero);
      const auto* x = static_cast<const U*>(memory.args[0]);
      auto* values = static_cast<U*>(memory.results[0]);
      auto* positions = static_cast<int64_t*>(memory.results[1]);
      ForEach(threads_, lines_.outer * groups_, [&](int64_t task, const TeamMember&) {
        const int64_t beside = task % groups_ * kBeside;
        const int64_t begin = task / groups_ * lines_.size * lines_.inner + beside;
        const int64_t count = std::min<int64_t>(kBeside, lines_.inner - beside);
        U* const v = values == nullptr ? nullptr : values + begin;
        int64_t* const at = positions == nullptr ? nullptr : positions + begin;
        if (lines_.inner == 1) {
          ScanLine(lines_.size, key, largest_, x + begin, v, at);
        } else {
          ScanLines(lines_, key, largest_, x + begin, count, v, at);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  const Lines lines_;
  const DType dtype_;
  const bool largest_;
  const int64_t groups_;  // Groups of lines that are scanned together.
  const int threads_;
};

}  // namespace

LibraryCallOr MakeExtremaCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& x = step.args[0];
  Lines lines;
  if (!step.epilogue.empty() || !x.dense() || x.numel() == 0 || step.more_results.size() != 1 ||
      !FindLines(x, DimAttrs(step.schema, step.attrs).dim(), &lines)) {
    return absl::UnimplementedError("such a running extremum");
  }
  // A plan from a file may have any dtypes.
  const auto fits = [&](const RunView& view, DType dtype) {
    return !view.present() || (view.dense() && view.dims == x.dims && view.dtype == dtype);
  };
  if (!HasKey(x.dtype) || !fits(step.result, x.dtype) || !fits(step.more_results[0], DType::kI64)) {
    return absl::UnimplementedError("a running extremum of such elements");
  }
  return std::make_unique<ExtremaCall>(lines, x.dtype, step.op == RoutineOp::kCummax,
                                       context.threads);
}

}  // namespace weft::cpu
