#include "backends/cuda/kernel_code.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

void AddNest(const NestLaunch& nest, absl::Span<const Extent> extents, const char* flag,
             PreparedLaunch* launch) {
  for (const NestLaunch::Pointer& pointer : nest.pointers) {
    launch->AddOperand(pointer.operand, pointer.begin, extents[pointer.operand]);
  }
  for (const int64_t value : nest.values) launch->AddValue(value);
  if (nest.has_rows) {
    launch->AddScratch(nest.scratch_bytes, nest.scratch_begin);
    launch->AddValue(nest.rows_shared ? 1 : 0);
  }
  if (nest.checks) launch->AddFixed(flag, sizeof(int32_t));
  if (nest.splits > 0) {
    launch->AddScratch(nest.scratch_bytes, nest.scratch_begin);
    launch->AddValue(nest.splits);
  }
}

PreparedLaunch Prepare(CuFunction function, const KernelLaunch& launch,
                       absl::Span<const Extent> extents, const char* flag) {
  PreparedLaunch prepared(function, launch.shape);
  const int table = launch.function.table;
  if (table == 0) {
    AddNest(launch.nests[0], extents, flag, &prepared);
    return prepared;
  }
  prepared.BeginStruct();
  const auto number = static_cast<int>(launch.nests.size());
  std::vector<uint32_t> begins;
  uint32_t blocks = 0;
  for (const NestLaunch& nest : launch.nests) {
    AddNest(nest, extents, flag, &prepared);
    begins.push_back(blocks);
    blocks += nest.blocks;
  }
  begins.resize(table + 1, blocks);
  const int64_t each = prepared.words() / number;
  for (int64_t w = each * (table - number); w > 0; --w) prepared.AddValue(0);
  prepared.AddStruct({reinterpret_cast<const char*>(begins.data()), begins.size() * sizeof blocks});
  prepared.EndStruct();
  return prepared;
}

}  // namespace

KernelCode::KernelCode(CudaDevice& device, std::shared_ptr<const CudaModule> module,
                       FreshResults fresh, std::string label)
    : device_(device),
      module_(std::move(module)),
      fresh_(std::move(fresh)),
      label_(std::move(label)) {}

absl::StatusOr<std::unique_ptr<KernelCode>> KernelCode::Make(
    CudaDevice& device, std::shared_ptr<const CudaModule> module,
    absl::Span<const KernelLaunch> launches, absl::Span<const Extent> extents, FreshResults fresh,
    const char* flag, std::string label) {
  std::unique_ptr<KernelCode> code(
      new KernelCode(device, std::move(module), std::move(fresh), std::move(label)));
  for (const KernelLaunch& launch : launches) {
    WEFT_ASSIGN_OR_RETURN(CuFunction function, code->module_->Find(launch.function.symbol));
    code->launches_.push_back(Prepare(function, launch, extents, flag));
    for (const NestLaunch& nest : launch.nests) {
      code->scratch_bytes_ =
          std::max(code->scratch_bytes_, nest.scratch_begin + nest.scratch_bytes);
    }
  }
  return code;
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
