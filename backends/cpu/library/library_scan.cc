// cumsum and cumprod. A line is scanned in its order, as the op defines it, so that results do not
// depend on the number of threads.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/cpu/kernels/scan_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/lines.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

struct ScanShape {
  Lines lines;
  int64_t bytes = 0;  // Of an element.
  ScanPanel panel;    // What all have in common.
};

class ScanCall : public LibraryCall {
 public:
  ScanCall(const ScanShape& shape, ScanFn run, int threads)
      : s_(shape),
        run_(run),
        together_(LinesOfTask(s_.lines, threads)),
        groups_((Neighbours() + together_ - 1) / together_),
        threads_(ThreadsOfLines(s_.lines, Tasks(), threads)) {}

  std::string name() const override { return "scan"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const auto* x = static_cast<const char*>(memory.args[0]);
    auto* y = static_cast<char*>(memory.result);
    ForEach(threads_, Tasks(), [&](int64_t task, const TeamMember&) {
      const int64_t first = task % groups_ * together_;
      const int64_t count = std::min(together_, Neighbours() - first);
      const int64_t begin = IsApart() ? first * s_.lines.size
                                      : task / groups_ * s_.lines.size * s_.lines.inner + first;
      RunLines(x + begin * s_.bytes, count, y + begin * s_.bytes);
    });
    return absl::OkStatus();
  }

 private:
  static int64_t LinesOfTask(const Lines& lines, int threads) {
    if (lines.inner > 1) return kScanBeside;
    return lines.outer >= kScanApart * threads ? kScanApart : 1;
  }
  // The lines lie one behind the other, else side by side.
  bool IsApart() const { return s_.lines.inner == 1; }
  // Lines among which those of a task are.
  int64_t Neighbours() const { return IsApart() ? s_.lines.outer : s_.lines.inner; }
  int64_t Tasks() const { return IsApart() ? groups_ : s_.lines.outer * groups_; }

  void RunLines(const char* x, int64_t count, char* y) const {
    ScanPanel panel = s_.panel;
    panel.x = x;
    panel.y = y;
    panel.lines = count;
    if (!IsApart() || count == kScanApart) return run_(panel);
    panel.lines = 1;
    const int64_t line = s_.lines.size * s_.bytes;
    for (int64_t i = 0; i < count; ++i) {
      panel.x = x + i * line;
      panel.y = y + i * line;
      run_(panel);
    }
  }

  const ScanShape s_;
  const ScanFn run_;
  const int64_t together_;  // Lines of a task.
  const int64_t groups_;    // Groups of so many neighbours.
  const int threads_;
};

}  // namespace

LibraryCallOr MakeScanCall(const LibraryStep& step, const LibraryContext& context) {
  const ScanAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  ScanShape shape;
  if (!step.epilogue.empty() || !x.dense() || !step.result.dense() || x.dims != step.result.dims ||
      x.dtype != step.result.dtype || x.numel() == 0 || !FindLines(x, attrs.dim(), &shape.lines)) {
    return absl::UnimplementedError("such a scan");
  }
  const FindScanFn find = ForIsa(context.isa, Avx512Scan, Avx2Scan);
  const ScanFn run = find(x.dtype, step.op == RoutineOp::kCumprod);
  if (run == nullptr) return absl::UnimplementedError("scans of such elements");
  shape.bytes = DTypeBits(x.dtype) / 8;
  shape.panel.size = shape.lines.size;
  shape.panel.step = shape.lines.inner;
  shape.panel.exclusive = attrs.exclusive();
  shape.panel.reverse = attrs.reverse();
  if (IsNarrow(x.dtype)) {
    shape.panel.load = context.table->load(x.dtype);
    shape.panel.store = context.table->store(x.dtype);
  }
  return std::make_unique<ScanCall>(shape, run, context.threads);
}

}  // namespace weft::cpu
