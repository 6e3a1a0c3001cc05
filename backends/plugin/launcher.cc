#include "backends/plugin/launcher.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/plugin/logs.h"
#include "backends/plugin/step_code.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "lowering/finish_kernel.h"
#include "lowering/plan_text.h"

namespace weft::plugin {
namespace {

// The view, marked as present even if the executor gives no buffer for it.
RunView Present(RunView view) {
  if (!view.present()) view.buffer = 0;
  return view;
}

std::vector<int64_t> BytesOf(const std::vector<Extent>& extents) {
  std::vector<int64_t> bytes;
  for (const Extent& extent : extents) bytes.push_back(extent.bytes());
  return bytes;
}

// Adds the operands and results of a step; returns their extents.
std::vector<Extent> AddOperands(const StepRequest& request, CallDescription* call) {
  std::vector<Extent> extents;
  for (const RunView& view : request.args) {
    extents.push_back(ExtentOf(request, view));
    call->AddArg(view, extents.back());
  }
  for (const RunView& view : request.results) {
    extents.push_back(ExtentOf(request, view));
    call->AddResult(view, extents.back());
  }
  return extents;
}

}  // namespace

absl::Status PluginLauncher::CompilePlan(const Plan& plan) {
  if (!device_.takes_plans()) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(plan_, device_.CompilePlan(PrintPlan(plan)));
  return absl::OkStatus();
}

void PluginLauncher::Remark(absl::string_view label, absl::string_view instead) {
  ++host_steps_;
  Log(device_hints_log,
      absl::StrCat(label, ": device ", device_.name(), " has no code for it: ", instead));
}

absl::StatusOr<std::unique_ptr<StepCode>> PluginLauncher::Compile(const StepRequest& request) {
  switch (request.step.kind) {
    case StepKind::kKernel:
      return CompileKernel(request);
    case StepKind::kLibrary:
      // Only routines of the CPU run kernels on their results.
      if (IsFinished(request.step)) return nullptr;
      return CompileRoutine(request);
    case StepKind::kCopy:
      return CompileCopy(request.args[0], request.results[0]);
    case StepKind::kReference:
    case StepKind::kControl:
      return nullptr;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StepCode>> PluginLauncher::CompileKernel(
    const StepRequest& request) {
  const std::string label = DescribeStep(request.plan, request.step);
  const std::string& name = request.plan.kernels[request.step.kernel].name;
  CallDescription call("kernel", label);
  std::vector<Extent> extents = AddOperands(request, &call);
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepCode> host, interpreter_->Compile(request));
  if (host == nullptr) return absl::InternalError("the interpreter has no code for a kernel");
  auto kernel =
      std::make_shared<HostKernel>(std::move(host), request.args.size(), BytesOf(extents), label);
  auto number = std::make_unique<KernelNumber>(kernel);
  call.SetKernel(number->value(), name);
  return FindOrStage(call, label, std::move(kernel), std::move(number), std::move(extents),
                     request.args.size());
}

absl::StatusOr<std::unique_ptr<StepCode>> PluginLauncher::CompileCopy(const RunView& from,
                                                                      const RunView& to) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepCode> host, interpreter_->CompileCopy(from, to));
  if (host == nullptr) return nullptr;
  std::vector<Extent> extents = {ExtentOf(from), ExtentOf(to)};
  CallDescription call("copy", "copy");
  call.AddArg(Present(from), extents[0]);
  call.AddResult(Present(to), extents[1]);
  auto kernel = std::make_shared<HostKernel>(std::move(host), 1, BytesOf(extents), "copy");
  return FindOrStage(call, "copy", std::move(kernel), nullptr, std::move(extents), 1);
}

absl::StatusOr<std::unique_ptr<StepCode>> PluginLauncher::FindOrStage(
    const CallDescription& call, std::string label, std::shared_ptr<HostKernel> kernel,
    std::unique_ptr<KernelNumber> number, std::vector<Extent> extents, size_t num_args) {
  WEFT_ASSIGN_OR_RETURN(const PluginDevice::Code code, device_.FindCode(call.ToC(plan_)));
  if (code.code != nullptr) {
    return std::make_unique<DeviceCode>(device_, code, std::move(label), "", std::move(number));
  }
  Remark(label, "it runs on the host, over copies");
  return std::make_unique<StagedCode>(device_, std::move(kernel), std::move(extents), num_args);
}

absl::StatusOr<std::unique_ptr<StepCode>> PluginLauncher::CompileRoutine(
    const StepRequest& request) {
  const Step& step = request.step;
  const std::string op(step.op->name());
  std::string label = DescribeStep(request.plan, step);
  // The interface of devices has no results whose sizes a call finds.
  if (step.finds_sizes) {
    Remark(label, "it runs on the reference");
    return nullptr;
  }
  CallDescription call(op, label);
  AddOperands(request, &call);
  bool known = call.SetAttrs(*step.op, request.attrs);
  for (const Epilogue& epilogue : step.epilogue) known = known && call.AddEpilogue(epilogue);
  if (known) {
    WEFT_ASSIGN_OR_RETURN(const PluginDevice::Code code, device_.FindCode(call.ToC(plan_)));
    if (code.code != nullptr) {
      return std::make_unique<DeviceCode>(device_, code, std::move(label),
                                          absl::StrCat(device_.name(), " ", op), nullptr);
    }
  }
  Remark(label, "it runs on the reference");
  return nullptr;
}

}  // namespace weft::plugin
