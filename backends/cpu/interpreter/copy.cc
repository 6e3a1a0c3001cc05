#include "backends/cpu/interpreter/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/threads/parallel.h"
#include "base/status_macros.h"
#include "graph/target/target.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {
namespace {

// Bytes of a run: a vector at least; longer runs are left to the program.
constexpr int64_t kLeastRun = 16;
constexpr int64_t kMostRun = 2048;
// Bytes that are worth several threads.
constexpr int64_t kShare = 1 << 17;

// The last vector overlaps the one before.
void CopyRun(const char* from, int64_t bytes, char* to) {
  for (int64_t k = 0; k + kLeastRun < bytes; k += kLeastRun) {
    std::memcpy(to + k, from + k, kLeastRun);
  }
  std::memcpy(to + bytes - kLeastRun, from + bytes - kLeastRun, kLeastRun);
}

std::vector<SymInt> Scaled(const std::vector<int64_t>& strides, int64_t by, bool halves) {
  std::vector<SymInt> scaled;
  for (int64_t s : strides) scaled.push_back(SymInt(s * by));
  if (halves) scaled.push_back(SymInt(1));
  return scaled;
}

}  // namespace

DType CopyDType(DType dtype) {
  if (!IsComplex(dtype) && ComputeDType(dtype) == dtype) return dtype;
  switch (DTypeBits(dtype)) {
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    default:
      return DType::kU64;
  }
}

absl::StatusOr<TileProgram> CompileCopy(const RunView& from, const RunView& to,
                                        const TileTable& table) {
  const bool same = from.dtype == to.dtype;
  if (DTypeBits(from.dtype) < 8 || DTypeBits(to.dtype) < 8) {
    return absl::UnimplementedError("a copy of elements of four bits");
  }
  if (!same && ComputeDType(from.dtype) != ComputeDType(to.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("a copy of ", DTypeName(from.dtype), " to ", DTypeName(to.dtype)));
  }
  const bool halves = DTypeBits(from.dtype) == 128;
  const int64_t by = halves ? 2 : 1;
  Kernel kernel;
  kernel.name = "copy";
  kernel.args = {{same ? CopyDType(from.dtype) : from.dtype},
                 {same ? CopyDType(to.dtype) : to.dtype, true}};
  Nest nest;
  nest.outer = ToSymInts(from.dims);
  if (halves) nest.outer.push_back(SymInt(2));
  Instr load;
  load.op = ScalarOp::kLoad;
  load.dtype = ComputeDType(kernel.args[0].dtype);
  load.access.arg = 0;
  load.access.strides = Scaled(from.strides, by, halves);
  Store store;
  store.value = 0;
  store.access.arg = 1;
  store.access.strides = Scaled(to.strides, by, halves);
  Stage stage;
  stage.body.push_back(std::move(load));
  stage.stores.push_back(std::move(store));
  nest.stages.push_back(std::move(stage));
  kernel.nests.push_back(std::move(nest));
  // A copy reduces nothing, so its result does not depend on the target.
  kernel.schedule = DecideSchedule(kernel, Target());
  return CompileTiles(kernel, table, [](SymInt) { return std::nullopt; });
}

std::optional<RunCopy> FindRunCopy(const RunView& from, const RunView& to) {
  if (from.dtype != to.dtype || DTypeBits(from.dtype) < 8) return std::nullopt;
  const int64_t element = DTypeBits(from.dtype) / 8;
  RunCopy copy;
  copy.bytes = element;
  for (size_t d = from.dims.size(); d-- > 0;) {
    const int64_t size = from.dims[d];
    const int64_t step = from.strides[d] * element;
    const int64_t to_step = to.strides[d] * element;
    if (size == 0) return std::nullopt;
    if (size == 1) continue;
    if (copy.dims.empty() && step == copy.bytes && to_step == copy.bytes) {
      copy.bytes *= size;
    } else if (!copy.dims.empty() && step == copy.from.back() * copy.dims.back() &&
               to_step == copy.to.back() * copy.dims.back()) {
      copy.dims.back() *= size;
    } else {
      copy.dims.push_back(size);
      copy.from.push_back(step);
      copy.to.push_back(to_step);
    }
  }
  if (copy.bytes < kLeastRun || copy.bytes > kMostRun) return std::nullopt;
  std::reverse(copy.dims.begin(), copy.dims.end());
  std::reverse(copy.from.begin(), copy.from.end());
  std::reverse(copy.to.begin(), copy.to.end());
  return copy;
}

void CopyRuns(const RunCopy& copy, int threads, const char* from, char* to) {
  // Lines of runs along the last dim.
  const size_t outer = copy.dims.empty() ? 0 : copy.dims.size() - 1;
  const int64_t runs = copy.dims.empty() ? 1 : copy.dims.back();
  const int64_t from_step = copy.dims.empty() ? 0 : copy.from.back();
  const int64_t to_step = copy.dims.empty() ? 0 : copy.to.back();
  int64_t lines = 1;
  for (size_t d = 0; d < outer; ++d) lines *= copy.dims[d];
  if (lines * runs * copy.bytes <= kShare) threads = 1;
  ForEach(threads, lines, [&](int64_t l, const TeamMember&) {
    const char* source = from;
    char* target = to;
    int64_t left = l;
    for (size_t d = outer; d-- > 0; left /= copy.dims[d]) {
      source += left % copy.dims[d] * copy.from[d];
      target += left % copy.dims[d] * copy.to[d];
    }
    for (int64_t i = 0; i < runs; ++i) {
      CopyRun(source + i * from_step, copy.bytes, target + i * to_step);
    }
  });
}

}  // namespace weft::cpu
