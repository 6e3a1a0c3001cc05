#include "backends/cuda/launcher.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/logs.h"
#include "backends/cuda/routines/copy.h"
#include "backends/cuda/routines/routine.h"
#include "backends/runtime/step_names.h"
#include "base/annotate.h"
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
      return CompileLibrary(request);
    case StepKind::kCopy:
      return CompileCopy(request.args[0], request.results[0]);
    case StepKind::kReference:
    case StepKind::kControl:
      return nullptr;
  }
  return nullptr;
}

absl::StatusOr<std::vector<std::unique_ptr<StepCode>>> CudaLauncher::CompileAll(
    absl::Span<const StepRequest> requests) {
  std::vector<std::unique_ptr<StepCode>> codes(requests.size());
  std::vector<size_t> open(requests.size());
  std::iota(open.begin(), open.end(), size_t{0});
  // A routine asks for one unit after the other.
  while (!open.empty()) {
    std::vector<size_t> waiting;
    units_.BeginCollecting();
    const absl::Status status = [&] {
      for (const size_t i : open) {
        auto code = Compile(requests[i]);
        if (absl::IsUnavailable(code.status())) {
          waiting.push_back(i);
        } else if (code.ok()) {
          codes[i] = *std::move(code);
        } else {
          return Annotate(code.status(), DescribeStep(requests[i].plan, requests[i].step));
        }
      }
      return absl::OkStatus();
    }();
    const absl::Status loaded = units_.LoadCollected();
    WEFT_RETURN_IF_ERROR(status);
    if (!loaded.ok()) {
      const StepRequest& first = requests[waiting.front()];
      return Annotate(loaded, DescribeStep(first.plan, first.step));
    }
    open = std::move(waiting);
  }
  return codes;
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
                        MakeLaunches(
                            found.kernel, kernel,
                            [&](const std::string& symbol) { return found.module->Find(symbol); },
                            request.env, offsets, device_.multiprocessors()));
  std::string label = DescribeStep(request.plan, request.step);
  char* flag = nullptr;
  if (std::any_of(launches.begin(), launches.end(), [](const auto& l) { return l.checks; })) {
    WEFT_ASSIGN_OR_RETURN(flag, NewFlag(label));
  }
  return std::make_unique<KernelCode>(device_, found.module, launches, extents,
                                      FreshResults(request), flag, std::move(label));
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileLibrary(const StepRequest& request) {
  // Only routines of the CPU run kernels on their results.
  if (IsFinished(request.step)) return nullptr;
  const MakeRoutine make = FindRoutine(request.step.op->name());
  absl::StatusOr<std::unique_ptr<StepCode>> code =
      absl::UnimplementedError("there is no kernel for this op");
  if (make != nullptr) code = make({device_, units_, cublaslt_, packed_}, request);
  if (!absl::IsUnimplemented(code.status())) return code;
  Remark(request, code.status().message());
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileCopy(const RunView& from,
                                                                    const RunView& to) {
  auto code = MakeCopy({device_, units_, cublaslt_, packed_}, from, to);
  if (absl::IsUnimplemented(code.status())) return nullptr;
  return code;
}

// --- Flags -------------------------------------------------------------------------------

absl::StatusOr<char*> CudaLauncher::NewFlag(const std::string& label) {
  if (flags_ == nullptr) {
    constexpr int64_t kBytes = kMaxFlags * sizeof(int32_t);
    constexpr auto kCategory = profiler::MemoryCategory::kTemporary;
    if (flags_copy_ == nullptr) flags_copy_ = device_.AllocateHost(kBytes, kCategory);
    if (flags_copy_ == nullptr) return absl::ResourceExhaustedError("no memory for flags");
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> flags, device_.Allocate(kBytes, kCategory));
    WEFT_RETURN_IF_ERROR(device_.Fill(flags->data(), 0, kBytes));
    flags_ = std::move(flags);
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

absl::Status CudaLauncher::EndRun() {
  const auto bytes = static_cast<int64_t>(flag_labels_.size() * sizeof(int32_t));
  if (bytes == 0) return absl::OkStatus();
  return device_.CopyOutLater(flags_copy_->data(), flags_->data(), bytes);
}

absl::Status CudaLauncher::CheckErrors() {
  if (flag_labels_.empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(EndRun());
  WEFT_RETURN_IF_ERROR(device_.Wait());
  return CheckIndices();
}

absl::Status CudaLauncher::CheckIndices() {
  if (flag_labels_.empty()) return absl::OkStatus();
  const auto* const flags = reinterpret_cast<const int32_t*>(flags_copy_->data());
  const auto* const end = flags + flag_labels_.size();
  const auto* const set = std::find_if(flags, end, [](int32_t f) { return f != 0; });
  if (set == end) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(ClearFlags());
  return absl::OutOfRangeError(
      absl::StrCat(flag_labels_[set - flags], ": an index is out of bounds"));
}

absl::Status CudaLauncher::ClearFlags() {
  if (flags_ != nullptr) WEFT_RETURN_IF_ERROR(device_.Fill(flags_->data(), 0, flags_->size()));
  return device_.Wait();
}

}  // namespace weft::cuda
