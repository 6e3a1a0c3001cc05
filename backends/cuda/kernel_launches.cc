#include "backends/cuda/kernel_launches.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/align.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kPointThreads = 256;
// Blocks for each multiprocessor and nest: enough for any number of resident blocks.
constexpr int64_t kBlocksEach = 32;
// Rows in shared memory leave room for what reductions use of the 48 KiB that need no opt-in.
constexpr int64_t kMaxSharedRows = 40 << 10;
// Scratch memory of one nest for its rows, and of the nests between which nothing is ordered.
constexpr int64_t kMaxRowScratch = int64_t{256} << 20;
constexpr int64_t kMaxJoinedScratch = kMaxRowScratch;
constexpr int64_t kScratchAlignment = 64;

// Threads for a row: a power of two, so that each has some four elements.
int64_t RowThreads(int64_t elements) {
  int64_t threads = kWarp;
  while (threads < kMaxThreads && threads * 4 < elements) threads *= 2;
  return threads;
}

// A nest, or a part of one, that is to be launched.
struct NestWork {
  const CudaFunction* function = nullptr;
  LaunchShape shape;
  NestLaunch nest;
};

// Sets the shape for a number of rows of `inner` elements, or of points. All blocks of a launch
// have equal numbers of threads; results depend on that of rows.
void SetShape(bool rows, int64_t points, int64_t inner, int multiprocessors, NestWork* work) {
  const bool joined = work->function->table > 0;
  const int64_t threads = rows     ? RowThreads(inner)
                          : joined ? kPointThreads
                                   : std::min(kPointThreads, AlignUp(points, kWarp));
  const int64_t blocks = rows ? points : (points + threads - 1) / threads;
  work->nest.blocks = static_cast<unsigned>(std::min(blocks, multiprocessors * kBlocksEach));
  work->shape.threads = static_cast<unsigned>(threads);
}

// Decides where the nest keeps its rows, and limits the blocks to the memory for them.
void PlaceRows(const CudaNest& nest, int64_t inner, NestWork* work) {
  const int64_t kept = inner * nest.rows * nest.row_slot;
  if (kept == 0) return;
  const bool rows = nest.kind == NestKind::kRows;
  work->nest.rows_shared = rows && kept <= kMaxSharedRows;
  if (work->nest.rows_shared) {
    work->shape.shared_bytes = static_cast<unsigned>(kept);
    return;
  }
  const int64_t each = rows ? kept : kept * work->shape.threads;
  const int64_t blocks = std::clamp<int64_t>(kMaxRowScratch / each, 1, work->nest.blocks);
  work->nest.blocks = static_cast<unsigned>(blocks);
  work->nest.scratch_bytes = each * blocks;
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

// True if no nest reads memory that another one writes. Nests that are lowered are independent;
// those of a plan from a file may depend on each other.
bool AreIndependent(const CudaKernel& kernel, const Plan& plan, const Step& step) {
  const auto memory_of = [&](int arg) {
    const int reads = static_cast<int>(step.args.size());
    const int buffer = arg < reads ? step.args[arg].buffer : step.results[arg - reads].buffer;
    const int donor = buffer < 0 ? -1 : plan.buffers[buffer].donor;
    return donor >= 0 ? donor : buffer;
  };
  constexpr int kSeveral = -1;
  absl::flat_hash_map<int, int> writer;  // By memory: the nest that writes it.
  const auto for_each = [&](bool written, auto visit) {
    for (size_t n = 0; n < kernel.nests.size(); ++n) {
      for (const int arg : kernel.nests[n].args) {
        const bool result = arg >= static_cast<int>(step.args.size());
        if (result == written) visit(static_cast<int>(n), memory_of(arg));
      }
    }
  };
  for_each(true, [&](int nest, int memory) {
    const auto [it, first] = writer.try_emplace(memory, nest);
    if (!first && it->second != nest) it->second = kSeveral;
  });
  bool independent = true;
  for_each(false, [&](int nest, int memory) {
    const auto it = writer.find(memory);
    independent = independent && (it == writer.end() || it->second == nest);
  });
  return independent;
}

// Collects nests, and joins those that one launch may compute.
class Joiner {
 public:
  // `joins`: nests may run at the same time.
  explicit Joiner(bool joins) : joins_(joins) {}

  // `finish`, if it has a function, combines the parts that `work` makes, in the same scratch.
  void Add(NestWork work, NestWork finish) {
    const int64_t bytes = AlignUp(work.nest.scratch_bytes, kScratchAlignment);
    if (!joins_ || scratch_ + bytes > kMaxJoinedScratch) End();
    work.nest.scratch_begin = finish.nest.scratch_begin = scratch_;
    scratch_ += bytes;
    Put(std::move(work), &first_);
    if (finish.function != nullptr) Put(std::move(finish), &second_);
  }

  std::vector<KernelLaunch> Take() {
    End();
    return std::move(launches_);
  }

 private:
  // Launches that may run in any order.
  struct Wave {
    std::vector<KernelLaunch> launches;
    // By symbol, threads, and whether rows are in shared memory: the last launch.
    absl::flat_hash_map<std::tuple<std::string, unsigned, bool>, size_t> open;
  };

  static void Put(NestWork work, Wave* wave) {
    const CudaFunction& function = *work.function;
    const auto key = std::make_tuple(function.symbol, work.shape.threads, work.nest.rows_shared);
    const auto [it, fresh] = wave->open.try_emplace(key, wave->launches.size());
    const auto most = static_cast<size_t>(std::max(function.table, 1));
    if (fresh || wave->launches[it->second].nests.size() == most) {
      it->second = wave->launches.size();
      wave->launches.push_back({function, work.shape, {}});
      wave->launches.back().shape.blocks = 0;
    }
    KernelLaunch& launch = wave->launches[it->second];
    launch.shape.blocks += work.nest.blocks;
    launch.shape.shared_bytes = std::max(launch.shape.shared_bytes, work.shape.shared_bytes);
    launch.nests.push_back(std::move(work.nest));
  }

  // Nests that are added later follow all those before.
  void End() {
    for (Wave* wave : {&first_, &second_}) {
      for (KernelLaunch& launch : wave->launches) launches_.push_back(std::move(launch));
      *wave = Wave();
    }
    scratch_ = 0;
  }

  const bool joins_;
  Wave first_;
  Wave second_;
  int64_t scratch_ = 0;  // Bytes of the nests of both.
  std::vector<KernelLaunch> launches_;
};

}  // namespace

absl::StatusOr<std::vector<KernelLaunch>> MakeLaunches(const CudaKernel& kernel, const Plan& plan,
                                                       const Step& step, const SymbolEnv& env,
                                                       absl::Span<const int64_t> offsets,
                                                       int multiprocessors) {
  const Kernel& source = plan.kernels[step.kernel];
  bool known = true;
  const auto value = [&](SymInt s) {
    const std::optional<int64_t> v = env.Eval(s);
    known = known && v.has_value();
    return v.value_or(0);
  };
  Joiner joiner(AreIndependent(kernel, plan, step));
  for (const CudaNest& nest : kernel.nests) {
    NestWork work;
    NestLaunch& launch = work.nest;
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
    NestWork finish;
    if (splits > 1) {
      launch.splits = splits;
      launch.scratch_bytes = nest.split.reductions * points * splits * kPartBytes;
      finish = work;
      finish.function = &nest.split.finish;
      finish.nest.values.push_back(points);
      SetShape(rows, points, splits, multiprocessors, &finish);
      work.function = group > 1 ? &nest.split.group_parts : &nest.split.parts;
      launch.values.push_back(groups);
      SetShape(rows, groups * splits, inner_groups / splits, multiprocessors, &work);
    } else {
      work.function = group > 1 ? &nest.groups.function : &nest.function;
      launch.values.push_back(groups);
      SetShape(rows, groups, inner_groups, multiprocessors, &work);
      PlaceRows(nest, inner, &work);
    }
    joiner.Add(std::move(work), std::move(finish));
  }
  return joiner.Take();
}

}  // namespace weft::cuda
