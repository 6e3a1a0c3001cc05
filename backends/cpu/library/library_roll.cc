// roll: elements are moved as resample_call.h moves them, in runs.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/resample_call.h"
#include "backends/cpu/library/routine_ops.h"

namespace weft::cpu {

LibraryCallOr MakeRollCall(const LibraryStep& step, const LibraryContext& context) {
  const RollAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  const absl::Span<const SymInt> shifts = attrs.shifts();
  const std::vector<int64_t> dims = attrs.dims();
  const int bits = DTypeBits(x.dtype);
  if (bits < 8 || bits > 64 || !step.epilogue.empty() || x.numel() == 0 || x.dims != y.dims ||
      !x.dense() || !y.dense() || x.rank() == 0 || shifts.size() != dims.size()) {
    return absl::UnimplementedError("such a roll");
  }
  std::vector<ResampleAxis> axes;
  for (const int64_t d : x.dims) axes.emplace_back(d, d);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = dims[i] < 0 ? dims[i] + x.rank() : dims[i];
    if (d < 0 || d >= x.rank() || !axes[d].kept() ||
        x.dims[d] > std::numeric_limits<int32_t>::max()) {
      return absl::UnimplementedError("such a roll");
    }
    const int64_t n = x.dims[d];
    const int64_t first = (n - shifts[i].value() % n) % n;
    for (int64_t at = 0; at < n; ++at) axes[d].Add({{(first + at) % n, 1.0}});
  }
  return MakeResampleMoveCall(std::move(axes), bits / 8, context.threads);
}

}  // namespace weft::cpu
