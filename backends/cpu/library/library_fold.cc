// col2im: each element of the blocks is added to its place. A plane, or some rows of one, is a
// task, so that each sum is added up by one thread, in one order.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/sample_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// One dim of the image.
struct FoldDim {
  int64_t size = 0;
  int64_t kernel = 0;
  int64_t stride = 0;
  int64_t dilation = 0;
  int64_t before = 0;  // Padding.
  int64_t blocks = 0;
};

struct FoldShape {
  const SampleTable* table = nullptr;
  std::vector<FoldDim> dims;
  int64_t batches = 0;
  int64_t channels = 0;
  int64_t taps = 0;                              // Of a block.
  int64_t x_batch = 0, x_row = 0, x_column = 0;  // [batch, channel * taps, blocks]
};

// Values v in [0, count) for which at + v * step is in [0, size).
struct Range {
  Range(int64_t at, int64_t step, int64_t size, int64_t count)
      : begin(at >= 0 ? 0 : (-at + step - 1) / step),
        end(std::min(count, at >= size ? 0 : (size - at + step - 1) / step)) {}
  int64_t begin, end;
};

class FoldCall : public LibraryCall {
 public:
  FoldCall(FoldShape shape, int threads) : s_(std::move(shape)), threads_(threads) {
    plane_ = 1;
    for (const FoldDim& d : s_.dims) plane_ *= d.size;
    const int64_t planes = s_.batches * s_.channels;
    parts_ = planes >= threads ? 1 : std::min<int64_t>(threads, s_.dims[0].size);
    const FoldDim& last = s_.dims.back();
    // Along the rows of x, or along its columns, whichever lie closer together.
    taps_inside_ = s_.x_row < s_.x_column && last.kernel > 1;
  }

  std::string name() const override { return "fold"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const int64_t items = s_.batches * s_.channels * parts_;
    const int threads = static_cast<int>(std::min<int64_t>(threads_, items));
    ForEach(threads, items, [&](int64_t item, const TeamMember&) {
      const int64_t plane = item / parts_, part = item % parts_;
      const int64_t size = s_.dims[0].size;
      Task task;
      task.first = size * part / parts_;
      task.last = size * (part + 1) / parts_;
      task.x = static_cast<const float*>(memory.args[0]) + plane / s_.channels * s_.x_batch +
               plane % s_.channels * s_.taps * s_.x_row;
      task.y = static_cast<float*>(memory.result) + plane * plane_;
      const int64_t row = plane_ / size;
      std::memset(task.y + task.first * row, 0, (task.last - task.first) * row * 4);
      AddDim(task, 0, 0, 0, 0);
    });
    return absl::OkStatus();
  }

 private:
  // Rows [first, last) of the first dim of a plane.
  struct Task {
    int64_t first = 0;
    int64_t last = 0;
    const float* x = nullptr;
    float* y = nullptr;
  };

  // The element of the block and the block so far, and the place in the image. The depth is the
  // number of dims of the image.
  void AddDim(const Task& task, size_t d, int64_t tap, int64_t block, int64_t place) const {
    const FoldDim& dim = s_.dims[d];
    const int64_t low = d == 0 ? task.first : 0;
    const int64_t size = (d == 0 ? task.last : dim.size) - low;
    const bool last = d + 1 == s_.dims.size();
    if (last && taps_inside_) return AddBlocks(task, dim, low, size, tap, block, place);
    for (int64_t k = 0; k < dim.kernel; ++k) {
      const int64_t at = k * dim.dilation - dim.before - low;
      const Range range(at, dim.stride, size, dim.blocks);
      if (range.begin >= range.end) continue;
      const int64_t first = at + low + range.begin * dim.stride;
      if (last) {
        const float* x = task.x + (tap * dim.kernel + k) * s_.x_row +
                         (block * dim.blocks + range.begin) * s_.x_column;
        s_.table->add(x, s_.x_column, range.end - range.begin, task.y + place * dim.size + first,
                      dim.stride);
        continue;
      }
      for (int64_t b = range.begin; b < range.end; ++b) {
        AddDim(task, d + 1, tap * dim.kernel + k, block * dim.blocks + b,
               place * dim.size + at + low + b * dim.stride);
      }
    }
  }

  // The last dim, block by block.
  void AddBlocks(const Task& task, const FoldDim& dim, int64_t low, int64_t size, int64_t tap,
                 int64_t block, int64_t place) const {
    for (int64_t b = 0; b < dim.blocks; ++b) {
      const int64_t at = b * dim.stride - dim.before - low;
      const Range range(at, dim.dilation, size, dim.kernel);
      if (range.begin >= range.end) continue;
      const float* x = task.x + (tap * dim.kernel + range.begin) * s_.x_row +
                       (block * dim.blocks + b) * s_.x_column;
      s_.table->add(x, s_.x_row, range.end - range.begin,
                    task.y + place * dim.size + at + low + range.begin * dim.dilation,
                    dim.dilation);
    }
  }

  const FoldShape s_;
  const int threads_;
  int64_t plane_ = 0;  // Elements.
  int64_t parts_ = 1;  // Tasks of a plane.
  bool taps_inside_ = false;
};

bool AreSmall(const std::vector<int64_t>& values, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t v) { return v >= least && v <= kMost; });
}

}  // namespace

LibraryCallOr MakeFoldCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  if (x.dtype != DType::kF32 || !step.epilogue.empty() || x.numel() == 0 || y.numel() == 0 ||
      !y.dense()) {
    return absl::UnimplementedError("such a fold");
  }
  const FoldAttrs attrs(step.schema, step.attrs);
  const std::vector<int64_t> kernel = attrs.kernel_size(), stride = attrs.stride(),
                             dilation = attrs.dilation(), padding = attrs.padding();
  FoldShape s;
  s.taps = 1;
  const size_t n = kernel.size();
  if (n < 1 || y.rank() != static_cast<int>(n) + 2 || x.rank() != 3 || stride.size() != n ||
      dilation.size() != n || padding.size() != 2 * n || !AreSmall(kernel, 1) ||
      !AreSmall(stride, 1) || !AreSmall(dilation, 1) || !AreSmall(padding, 0)) {
    return absl::UnimplementedError("such a window");
  }
  int64_t blocks = 1;
  for (size_t d = 0; d < n; ++d) {
    FoldDim dim = {y.dims[d + 2], kernel[d], stride[d], dilation[d], padding[d], 0};
    const int64_t reach = dim.size + padding[d] + padding[n + d] - dim.dilation * (dim.kernel - 1);
    dim.blocks = reach < 1 ? 0 : (reach - 1) / dim.stride + 1;
    s.taps *= dim.kernel;
    blocks *= dim.blocks;
    s.dims.push_back(dim);
  }
  // A plan from a file may have other sizes.
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1] * s.taps || x.dims[2] != blocks) {
    return absl::UnimplementedError("blocks that do not fit");
  }
  s.table = &ForIsa(context.isa, Avx512Sample, Avx2Sample);
  s.batches = y.dims[0];
  s.channels = y.dims[1];
  s.x_batch = x.strides[0];
  s.x_row = x.strides[1];
  s.x_column = x.strides[2];
  return std::make_unique<FoldCall>(std::move(s), context.threads);
}

}  // namespace weft::cpu
