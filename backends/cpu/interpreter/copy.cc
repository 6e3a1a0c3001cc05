#include "backends/cpu/interpreter/copy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/target/target.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {
namespace {

// An integer dtype of that size; complex numbers of 128 bits are copied as two.
DType BitsOf(DType dtype) {
  switch (DTypeBits(dtype)) {
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

std::vector<SymInt> Scaled(const std::vector<int64_t>& strides, int64_t by, bool halves) {
  std::vector<SymInt> scaled;
  for (int64_t s : strides) scaled.push_back(SymInt(s * by));
  if (halves) scaled.push_back(SymInt(1));
  return scaled;
}

}  // namespace

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
  kernel.args = {{same ? BitsOf(from.dtype) : from.dtype},
                 {same ? BitsOf(to.dtype) : to.dtype, true}};
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

}  // namespace weft::cpu
