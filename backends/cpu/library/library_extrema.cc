// cummax and cummin: the key of each element is compared with the best one of its line so far.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/cpu/kernels/order_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/lines.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

class ExtremaCall : public LibraryCall {
 public:
  ExtremaCall(const Lines& lines, int64_t bytes, bool largest, ExtremaFn run, int threads)
      : lines_(lines),
        bytes_(bytes),
        largest_(largest),
        run_(run),
        groups_((lines.inner + kExtremaLines - 1) / kExtremaLines),
        threads_(ThreadsOfLines(lines, lines.outer * groups_, threads)) {}

  std::string name() const override { return "running_extrema"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const auto* x = static_cast<const char*>(memory.args[0]);
    auto* values = static_cast<char*>(memory.results[0]);
    auto* positions = static_cast<int64_t*>(memory.results[1]);
    ForEach(threads_, lines_.outer * groups_, [&](int64_t task, const TeamMember&) {
      const int64_t beside = task % groups_ * kExtremaLines;
      const int64_t begin = task / groups_ * lines_.size * lines_.inner + beside;
      ExtremaPanel panel;
      panel.x = x + begin * bytes_;
      panel.values = values == nullptr ? nullptr : values + begin * bytes_;
      panel.positions = positions == nullptr ? nullptr : positions + begin;
      panel.size = lines_.size;
      panel.step = lines_.inner;
      panel.lines = std::min(kExtremaLines, lines_.inner - beside);
      panel.largest = largest_;
      run_(panel);
    });
    return absl::OkStatus();
  }

 private:
  const Lines lines_;
  const int64_t bytes_;  // Of an element.
  const bool largest_;
  const ExtremaFn run_;
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
  const ExtremaFn run = ForIsa(context.isa, Avx512Order, Avx2Order).extrema(x.dtype);
  if (run == nullptr || !fits(step.result, x.dtype) || !fits(step.more_results[0], DType::kI64)) {
    return absl::UnimplementedError("a running extremum of such elements");
  }
  return std::make_unique<ExtremaCall>(lines, DTypeBits(x.dtype) / 8, step.op == RoutineOp::kCummax,
                                       run, context.threads);
}

}  // namespace weft::cpu
