#include "backends/cuda/launcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cuda/emit/routines.h"
#include "backends/cuda/logs.h"
#include "backends/cuda/routine_calls.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "lowering/finish_kernel.h"

namespace weft::cuda {
namespace {

// Kernels of a unit: a compilation costs some 25 ms beside what each of its kernels costs, and
// units are compiled in parallel.
constexpr size_t kBatch = 8;
// Error flags. Steps beyond share the last one.
constexpr size_t kMaxFlags = 4096;

void CollectKernels(const Plan& plan, std::vector<const Kernel*>* kernels) {
  std::vector<const Plan*> open = {&plan};
  while (!open.empty()) {
    const Plan* next = open.back();
    open.pop_back();
    for (const Kernel& kernel : next->kernels) kernels->push_back(&kernel);
    for (const Step& step : next->steps) {
      for (const auto& region : step.regions) open.push_back(region.get());
    }
  }
}

LaunchShape GridOf(int64_t blocks, int multiprocessors) {
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(std::min<int64_t>(blocks, 32 * multiprocessors));
  shape.threads = kRoutineThreads;
  return shape;
}

template <typename Sizes>
std::string BytesOf(const Sizes& sizes) {
  return std::string(reinterpret_cast<const char*>(&sizes), sizeof sizes);
}

}  // namespace

absl::Status CudaLauncher::CompilePlan(const Plan& plan) {
  std::vector<const Kernel*> kernels;
  CollectKernels(plan, &kernels);
  std::vector<CudaKernel> emitted;
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < kernels.size(); begin += kBatch) {
    WEFT_ASSIGN_OR_RETURN(CudaUnit unit,
                          EmitCuda(absl::MakeConstSpan(kernels).subspan(begin, kBatch)));
    std::move(unit.kernels.begin(), unit.kernels.end(), std::back_inserter(emitted));
    texts.push_back(std::move(unit.text));
  }
  WEFT_ASSIGN_OR_RETURN(const auto modules, loader_.Load(texts));
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels_[kernels[k]] = {std::move(emitted[k]), modules[k / kBatch]};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const CudaModule>> CudaLauncher::Unit(const std::string& text) {
  std::shared_ptr<const CudaModule>& module = units_[text];
  if (module == nullptr) {
    WEFT_ASSIGN_OR_RETURN(const auto loaded, loader_.Load({text}));
    module = loaded[0];
  }
  return module;
}

void CudaLauncher::Remark(const StepRequest& request, absl::string_view reason) {
  ++host_steps_;
  Log(hints_log, absl::StrCat(DescribeStep(request.plan, request.step),
                              ": runs on the host, over copies: ", reason));
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::Compile(const StepRequest& request) {
  switch (request.step.kind) {
    case StepKind::kKernel:
      return CompileKernel(request);
    case StepKind::kLibrary:
      // Only routines of the CPU run kernels on their results.
      if (IsFinished(request.step)) return nullptr;
      return CompileMatmul(request);
    case StepKind::kCopy:
      return CompileCopy(request.args[0], request.results[0]);
    case StepKind::kReference:
    case StepKind::kControl:
      return nullptr;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileKernel(const StepRequest& request) {
  const Kernel& kernel = request.plan.kernels[request.step.kernel];
  const auto it = kernels_.find(&kernel);
  if (it == kernels_.end()) return absl::InternalError("a kernel was not compiled");
  const Found& found = it->second;
  std::vector<Extent> extents;
  std::vector<int64_t> offsets;
  for (const absl::Span<const RunView> views : {request.args, request.results}) {
    for (const RunView& view : views) {
      extents.push_back(ExtentOf(request, view));
      offsets.push_back(view.offset);
    }
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<NestLaunch> launches,
                        MakeLaunches(found.kernel, kernel, *found.module, request.env, offsets,
                                     device_.multiprocessors()));
  std::string label = DescribeStep(request.plan, request.step);
  char* flag = nullptr;
  if (std::any_of(launches.begin(), launches.end(), [](const auto& l) { return l.checks; })) {
    WEFT_ASSIGN_OR_RETURN(flag, NewFlag(label));
  }
  return std::make_unique<KernelCode>(device_, found.module, std::move(launches),
                                      std::move(extents), FreshResults(request), flag,
                                      std::move(label));
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileMatmul(const StepRequest& request) {
  const bool linear = request.step.op->name() == "linear";
  const RunView& result = request.results[0];
  if (!linear && request.step.op->name() != "matmul") {
    Remark(request, "there is no kernel for this op");
    return nullptr;
  }
  if (result.dtype != request.args[0].dtype || !request.step.epilogue.empty()) {
    Remark(request, "the matmul kernel neither accumulates in another dtype nor has an epilogue");
    return nullptr;
  }
  const RunView absent;
  const RunView& bias = linear && request.args.size() > 2 ? request.args[2] : absent;
  absl::StatusOr<MatmulSizes> sizes = linear
                                          ? LinearOf(request.args[0], request.args[1], bias, result)
                                          : MatmulOf(request.args[0], request.args[1], result);
  if (!sizes.ok()) {
    Remark(request, sizes.status().message());
    return nullptr;
  }
  const bool tensor = device_.has_tensor_cores();
  const MatmulShape shape = ShapeOfMatmul(result.dtype, tensor);
  SetGroups(shape, request.args[0], request.args[1], result, &*sizes);
  WEFT_ASSIGN_OR_RETURN(const auto module, Unit(MatmulUnit(result.dtype, tensor)));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find("weft_matmul"));
  const int64_t down = (sizes->m + shape.tile - 1) / shape.tile;
  const int64_t across = (sizes->n + shape.tile - 1) / shape.tile;
  const int last = static_cast<int>(request.args.size());
  const std::vector<int> operands = {0, 1, bias.present() ? 2 : -1, last};
  std::vector<Extent> extents = {ExtentOf(request, request.args[0]),
                                 ExtentOf(request, request.args[1]), ExtentOf(request, bias),
                                 ExtentOf(request, result)};
  return std::make_unique<RoutineCode>(
      device_, module, function, GridOf(down * across * sizes->batches, device_.multiprocessors()),
      operands, std::move(extents), BytesOf(*sizes), FreshResults(request), "matmul",
      DescribeStep(request.plan, request.step));
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileCopy(const RunView& from,
                                                                    const RunView& to) {
  int bytes = 0;
  const absl::StatusOr<CopySizes> sizes = CopyOf(from, to, &bytes);
  if (!sizes.ok()) return nullptr;
  WEFT_ASSIGN_OR_RETURN(const auto module, Unit(CopyUnit()));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find(absl::StrCat("weft_copy", bytes)));
  const int64_t blocks = (sizes->points + kRoutineThreads - 1) / kRoutineThreads;
  return std::make_unique<RoutineCode>(
      device_, module, function, GridOf(blocks, device_.multiprocessors()), std::vector<int>{0, 1},
      std::vector<Extent>{ExtentOf(from), ExtentOf(to)}, BytesOf(*sizes), std::nullopt, "",
      "a copy");
}

// --- Flags -------------------------------------------------------------------------------

absl::StatusOr<char*> CudaLauncher::NewFlag(const std::string& label) {
  if (flags_ == nullptr) {
    WEFT_ASSIGN_OR_RETURN(flags_, device_.Allocate(kMaxFlags * sizeof(int32_t),
                                                   profiler::MemoryCategory::kTemporary));
    WEFT_RETURN_IF_ERROR(device_.Fill(flags_->data(), 0, flags_->size()));
  }
  // Code is made again for each assignment of the sizes; a step keeps its flag.
  const auto known = std::find(flag_labels_.begin(), flag_labels_.end(), label);
  size_t flag = static_cast<size_t>(known - flag_labels_.begin());
  if (known == flag_labels_.end()) {
    flag = std::min(flag, kMaxFlags - 1);
    if (flag == flag_labels_.size()) flag_labels_.push_back(label);
  }
  return flags_->data() + flag * sizeof(int32_t);
}

absl::Status CudaLauncher::CheckIndices() {
  if (flag_labels_.empty()) return absl::OkStatus();
  std::vector<int32_t> flags(flag_labels_.size());
  const auto bytes = static_cast<int64_t>(flags.size() * sizeof(int32_t));
  WEFT_RETURN_IF_ERROR(device_.CopyOut(flags.data(), flags_->data(), bytes));
  const auto set = std::find_if(flags.begin(), flags.end(), [](int32_t f) { return f != 0; });
  if (set == flags.end()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(device_.Fill(flags_->data(), 0, bytes));
  return absl::OutOfRangeError(
      absl::StrCat(flag_labels_[set - flags.begin()], ": an index is out of bounds"));
}

}  // namespace weft::cuda
