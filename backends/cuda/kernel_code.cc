#include "backends/cuda/kernel_code.h"

#include <algorithm>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kPointThreads = 256;
// Blocks for each multiprocessor: enough for any number of resident blocks.
constexpr int64_t kBlocksEach = 32;
// Rows in shared memory leave room for what reductions use of the 48 KiB that need no opt-in.
constexpr int64_t kMaxSharedRows = 40 << 10;
constexpr int64_t kMaxRowScratch = int64_t{256} << 20;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Threads for a row: a power of two, so that each has some four elements.
int64_t RowThreads(int64_t elements) {
  int64_t threads = kWarp;
  while (threads < kMaxThreads && threads * 4 < elements) threads *= 2;
  return threads;
}

// A launch for a number of rows of `inner` elements, or of points.
LaunchShape ShapeOf(bool rows, int64_t points, int64_t inner, int multiprocessors) {
  const int64_t threads =
      rows ? RowThreads(inner) : std::min(kPointThreads, RoundUp(points, kWarp));
  const int64_t blocks = rows ? points : (points + threads - 1) / threads;
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(std::min(blocks, multiprocessors * kBlocksEach));
  shape.threads = static_cast<unsigned>(threads);
  return shape;
}

// Decides where the nest keeps its rows, and limits the blocks to the memory for them.
void PlaceRows(const CudaNest& nest, int64_t inner, NestLaunch* launch) {
  const int64_t kept = inner * nest.rows * nest.row_slot;
  if (kept == 0) return;
  const bool rows = nest.kind == NestKind::kRows;
  launch->rows_shared = rows && kept <= kMaxSharedRows;
  if (launch->rows_shared) {
    launch->shape.shared_bytes = static_cast<unsigned>(kept);
    return;
  }
  const int64_t each = rows ? kept : kept * launch->shape.threads;
  const int64_t blocks = std::clamp<int64_t>(kMaxRowScratch / each, 1, launch->shape.blocks);
  launch->shape.blocks = static_cast<unsigned>(blocks);
  launch->scratch_bytes = each * blocks;
}

// Points in a group: 1 if the nest's function for groups does not fit the sizes.
int64_t GroupOf(const CudaNest& nest, absl::Span<const int64_t> offsets,
                absl::FunctionRef<int64_t(SymInt)> value) {
  const int64_t size = nest.groups.size;
  for (const SymInt multiple : nest.groups.multiples) {
    if (value(multiple) % size != 0) return 1;
  }
  for (const int a : nest.groups.args) {
    if ((offsets[nest.args[a]] + value(nest.begins[a])) % size != 0) return 1;
  }
  return size;
}

PreparedLaunch Prepare(const NestLaunch& nest, absl::Span<const Extent> extents, const char* flag) {
  PreparedLaunch launch(nest.function, nest.shape);
  for (const NestLaunch::Pointer& pointer : nest.pointers) {
    launch.AddOperand(pointer.operand, pointer.begin, extents[pointer.operand]);
  }
  for (const int64_t value : nest.values) launch.AddValue(value);
  if (nest.has_rows) {
    launch.AddScratch(nest.scratch_bytes);
    launch.AddValue(nest.rows_shared ? 1 : 0);
  }
  if (nest.checks) launch.AddFixed(flag, sizeof(int32_t));
  if (nest.splits > 0) {
    launch.AddScratch(nest.scratch_bytes);
    launch.AddValue(nest.splits);
  }
  return launch;
}

}  // namespace

absl::StatusOr<std::vector<NestLaunch>> MakeLaunches(const CudaKernel& kernel, const Kernel& source,
                                                     FindFunction find, const SymbolEnv& env,
                                                     absl::Span<const int64_t> offsets,
                                                     int multiprocessors) {
  bool known = true;
  const auto value = [&](SymInt s) {
    const std::optional<int64_t> v = env.Eval(s);
    known = known && v.has_value();
    return v.value_or(0);
  };
  std::vector<NestLaunch> launches;
  for (const CudaNest& nest : kernel.nests) {
    NestLaunch launch;
    const int64_t points = value(nest.points);
    for (size_t a = 0; a < nest.args.size(); ++a) {
      const int64_t bytes = DTypeBits(source.args[nest.args[a]].dtype) / 8;
      launch.pointers.push_back({nest.args[a], value(nest.begins[a]) * bytes});
    }
    for (SymInt size : nest.sizes) launch.values.push_back(value(size));
    launch.has_rows = nest.rows > 0;
    launch.checks = nest.checks;
    const int64_t inner = value(nest.inner);
    const int64_t group = GroupOf(nest, offsets, value);
    if (!known) {
      return absl::InternalError(
          absl::StrCat("kernel @", source.name, ": a size of its code has no value"));
    }
    if (points <= 0) continue;
    const bool rows = nest.kind == NestKind::kRows;
    const int64_t groups = rows ? points : points / group;
    const int64_t inner_groups = rows ? inner / group : inner;
    const int64_t splits =
        nest.split.reductions > 0 ? CountSplits(nest.kind, groups, inner_groups) : 1;
    if (splits > 1) {
      launch.splits = splits;
      launch.scratch_bytes = nest.split.reductions * points * splits * kPartBytes;
      NestLaunch finish = launch;
      launch.values.push_back(groups);
      finish.values.push_back(points);
      launch.shape = ShapeOf(rows, groups * splits, inner_groups / splits, multiprocessors);
      finish.shape = ShapeOf(rows, points, splits, multiprocessors);
      WEFT_ASSIGN_OR_RETURN(launch.function,
                            find(group > 1 ? nest.split.group_parts : nest.split.parts));
      WEFT_ASSIGN_OR_RETURN(finish.function, find(nest.split.finish));
      launches.push_back(std::move(launch));
      launches.push_back(std::move(finish));
      continue;
    }
    launch.values.push_back(groups);
    launch.shape = ShapeOf(rows, groups, inner_groups, multiprocessors);
    PlaceRows(nest, inner, &launch);
    WEFT_ASSIGN_OR_RETURN(launch.function, find(group > 1 ? nest.groups.symbol : nest.symbol));
    launches.push_back(std::move(launch));
  }
  return launches;
}

KernelCode::KernelCode(CudaDevice& device, std::shared_ptr<const CudaModule> module,
                       absl::Span<const NestLaunch> launches, absl::Span<const Extent> extents,
                       FreshResults fresh, const char* flag, std::string label)
    : device_(device),
      module_(std::move(module)),
      fresh_(std::move(fresh)),
      label_(std::move(label)) {
  for (const NestLaunch& nest : launches) {
    scratch_bytes_ = std::max(scratch_bytes_, nest.scratch_bytes);
    launches_.push_back(Prepare(nest, extents, flag));
  }
}

absl::Status KernelCode::Launch(const LaunchMemory& memory) {
  fresh_.Forget(device_, memory);
  device_.Forget(RangeOf(memory.scratch, {0, scratch_bytes_}));
  for (PreparedLaunch& launch : launches_) {
    WEFT_RETURN_IF_ERROR(launch.Submit(device_, memory, label_));
  }
  return absl::OkStatus();
}

}  // namespace weft::cuda
