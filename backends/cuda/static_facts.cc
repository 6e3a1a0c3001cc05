#include "backends/cuda/static_facts.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/cuda/device/kernel_facts.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/kernel_launches.h"
#include "backends/runtime/symbol_env.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "lowering/example_sizes.h"
#include "lowering/plan_facts.h"
#include "lowering/step_cost.h"

namespace weft::cuda {
namespace {

constexpr char kTitles[] =
    "// step  kernel                       blocks  threads  registers  spills  shared  blocks/SM  "
    "occupancy  floor us\n";

// The compiled kernels of a plan, as the launcher compiles them (launcher.cc).
struct Compiled {
  std::vector<CudaKernel> kernels;           // By kernel of the plan.
  std::map<std::string, KernelFacts> facts;  // By symbol.
};

absl::StatusOr<Compiled> Compile(const Plan& plan, const NvrtcApi& nvrtc, const GpuModel& model) {
  Compiled compiled;
  for (const Kernel& kernel : plan.kernels) {
    const Kernel* const one = &kernel;
    WEFT_ASSIGN_OR_RETURN(CudaUnit unit, EmitCuda(absl::MakeConstSpan(&one, 1)));
    std::string log;
    WEFT_RETURN_IF_ERROR(CompileCubin(nvrtc, unit.text, model.arch, &log).status());
    compiled.kernels.push_back(std::move(unit.kernels[0]));
    // Units have the same symbols: those of each kernel are told apart by its number.
    for (KernelFacts& facts : ReadKernelFacts(log)) {
      const std::string key = absl::StrCat(compiled.kernels.size() - 1, " ", facts.name);
      compiled.facts[key] = std::move(facts);
    }
  }
  return compiled;
}

bool IsTensorCoreType(const Plan& plan, const Step& step) {
  return !step.args.empty() && step.args[0].present() &&
         (plan.buffers[step.args[0].buffer].dtype == DType::kF16 ||
          plan.buffers[step.args[0].buffer].dtype == DType::kBF16);
}

// "0.01 by bytes", "3.20 by flops"; "?" if the sizes are not known.
std::string FloorOf(const Plan& plan, const Step& step, const ExampleSizes& sizes,
                    const GpuModel& model) {
  const StepCost cost = CostOf(plan, step);
  const std::optional<int64_t> flops = sizes.ValueOf(cost.flops);
  const std::optional<int64_t> bytes = sizes.ValueOf(cost.bytes);
  if (!flops || !bytes) return "?";
  const bool tensor = step.kind == StepKind::kLibrary && IsTensorCoreType(plan, step);
  const double by_flops =
      static_cast<double>(*flops) / (tensor ? model.tensor_gflops : model.f32_gflops);
  const double by_bytes = static_cast<double>(*bytes) / model.gbytes_per_second;
  constexpr double kNanosPerMicro = 1e3;
  return absl::StrFormat("%.2f by %s", std::max(by_flops, by_bytes) / kNanosPerMicro,
                         by_flops > by_bytes ? "flops" : "bytes");
}

// A launch's line. `facts` is null if the compiler said nothing about the kernel.
std::string LineOf(int step, const KernelLaunch& launch, const KernelFacts* facts,
                   const GpuModel& model, const std::string& floor) {
  std::string name = launch.function.symbol;
  if (launch.nests.size() > 1) absl::StrAppend(&name, "[", launch.nests.size(), "]");
  std::string line = absl::StrFormat("// %4d  %-26s %8d %8d", step, name, launch.shape.blocks,
                                     launch.shape.threads);
  if (facts == nullptr) return absl::StrCat(line, "  unknown code  ", floor, "\n");
  const int64_t shared = launch.shape.shared_bytes + facts->shared_bytes;
  const int64_t blocks =
      OccupancyOf(model.limits, {launch.shape.threads, facts->registers, shared}).Blocks();
  const double share =
      ShareOfThreads(model.limits, static_cast<double>(blocks), launch.shape.threads);
  absl::StrAppendFormat(&line, " %10d %7d %7d %10d %9.0f%%  %s\n", facts->registers,
                        facts->spill_bytes, shared, blocks, share * 100, floor);
  return line;
}

class Describer {
 public:
  Describer(const Plan& plan, const GpuModel& model)
      : plan_(plan), model_(model), sizes_(plan), env_(FactsOf(plan)) {
    for (const auto& [symbol, value] : sizes_.values()) env_.Define({symbol}, {value});
  }

  const ExampleSizes& sizes() const { return sizes_; }

  absl::StatusOr<std::string> KernelText(int number, const Step& step,
                                         const Compiled& compiled) const {
    const std::string floor = FloorOf(plan_, step, sizes_, model_);
    const std::vector<int64_t> offsets(plan_.kernels[step.kernel].args.size(), 0);
    auto launches = MakeLaunches(compiled.kernels[step.kernel], plan_, step, env_, offsets,
                                 model_.limits.multiprocessors);
    if (!launches.ok()) return OtherText(number, "a size depends on data", floor);
    std::string text;
    for (size_t l = 0; l < launches->size(); ++l) {
      const KernelLaunch& launch = (*launches)[l];
      const auto facts =
          compiled.facts.find(absl::StrCat(step.kernel, " ", launch.function.symbol));
      absl::StrAppend(
          &text, LineOf(number, launch, facts == compiled.facts.end() ? nullptr : &facts->second,
                        model_, l == 0 ? floor : ""));
    }
    return text;
  }

  std::string StepText(int number, const Step& step) const {
    return OtherText(number, step.kind == StepKind::kCopy ? "copy" : step.op_name,
                     FloorOf(plan_, step, sizes_, model_));
  }

 private:
  static std::string OtherText(int number, const std::string& name, const std::string& floor) {
    return absl::StrFormat("// %4d  %-95s  %s\n", number, Printable(name), floor);
  }

  const Plan& plan_;
  const GpuModel& model_;
  const ExampleSizes sizes_;
  SymbolEnv env_;
};

}  // namespace

absl::StatusOr<std::string> DescribeCode(const Plan& plan, const NvrtcApi& nvrtc,
                                         const GpuModel& model) {
  WEFT_ASSIGN_OR_RETURN(const Compiled compiled, Compile(plan, nvrtc, model));
  const Describer describer(plan, model);
  std::string text = absl::StrCat("// code for ", model.limits.name, " (", model.arch, ")",
                                  describer.sizes().text(), "\n", kTitles);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const int number = static_cast<int>(s);
    if (step.kind == StepKind::kKernel) {
      WEFT_ASSIGN_OR_RETURN(const std::string lines, describer.KernelText(number, step, compiled));
      text.append(lines);
    } else {
      text.append(describer.StepText(number, step));
    }
  }
  return text;
}

}  // namespace weft::cuda
