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

namespace weft::cuda {
namespace {

// Kernels of a unit: a compilation costs some 25 ms beside what each of its kernels costs, and
// units are compiled in parallel.
constexpr size_t kBatch = 8;

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
  WEFT_ASSIGN_OR_RETURN(const std::vector<KernelLaunch> launches,
                        MakeLaunches(found.kernel, request.plan, request.step, request.env, offsets,
                                     device_.multiprocessors()));
  std::string label = DescribeStep(request.plan, request.step);
  const char* flag = nullptr;
  const auto& nests = found.kernel.nests;
  if (std::any_of(nests.begin(), nests.end(), [](const CudaNest& n) { return n.checks; })) {
    WEFT_ASSIGN_OR_RETURN(flag, flags_.Find(label));
  }
  return KernelCode::Make(device_, found.module, launches, extents, FreshResults(request), flag,
                          std::move(label));
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileLibrary(const StepRequest& request) {
  const MakeRoutine make = FindRoutine(request.step.op->name());
  absl::StatusOr<std::unique_ptr<StepCode>> code =
      absl::UnimplementedError("there is no kernel for this op");
  // A plan from a file may say so of any step.
  if (request.step.updates >= 0 && !WorksInPlace(request.step.op->name())) {
    code = absl::UnimplementedError("its kernel does not update an operand in place");
  } else if (make != nullptr) {
    code = make(context_, request);
  }
  if (!absl::IsUnimplemented(code.status())) return code;
  Remark(request, code.status().message());
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StepCode>> CudaLauncher::CompileCopy(const RunView& from,
                                                                    const RunView& to) {
  auto code = MakeCopy(context_, from, to);
  if (absl::IsUnimplemented(code.status())) return nullptr;
  return code;
}

absl::Status CudaLauncher::CheckErrors() {
  if (flags_.empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(flags_.Submit());
  WEFT_RETURN_IF_ERROR(device_.Wait());
  return flags_.Check();
}

}  // namespace weft::cuda
