#include "backends/cuda/routines/copy.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/cuda/routines/copy_unit.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

// A dense copy of elements that are parts of a byte is one of bytes: sets `bytes`, the size of an
// element.
absl::StatusOr<CopySizes> CopyOf(const RunView& from, const RunView& to, int* bytes) {
  CopySizes sizes;
  const int bits = DTypeBits(from.dtype);
  *bytes = bits / 8;
  std::vector<Dim> dims;
  if (bits < 8) {
    if (!from.dense() || !to.dense()) return absl::UnimplementedError("elements in parts of bytes");
    *bytes = 1;
    dims.push_back({DTypeBytes(from.dtype, from.numel()), {1, 1}});
  } else {
    for (int d = 0; d < from.rank(); ++d) {
      dims.push_back({from.dims[d], {from.strides[d], to.strides[d]}});
    }
  }
  dims = Join(dims);
  if (dims.size() > kMaxCopyDims) return absl::UnimplementedError("a copy of too many dims");
  sizes.rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes.points *= dims[d].size;
    sizes.dims[d] = dims[d].size;
    sizes.from[d] = dims[d].strides[0];
    sizes.to[d] = dims[d].strides[1];
  }
  return sizes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeCopy(const RoutineContext& context,
                                                   const RunView& from, const RunView& to) {
  CudaDevice& device = context.device;
  int bytes = 0;
  WEFT_ASSIGN_OR_RETURN(const CopySizes sizes, CopyOf(from, to, &bytes));
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(CopyUnit()));
  auto code = std::make_unique<RoutineCode>(device);
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, absl::StrCat("weft_copy", bytes).c_str(),
      GridOfElements(sizes.points, device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        launch->AddOperand(0, 0, ExtentOf(from));
        launch->AddOperand(1, 0, ExtentOf(to));
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
