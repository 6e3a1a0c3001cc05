#include "backends/cpu/generated.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/cpu/jit/logs.h"
#include "base/status_macros.h"
#include "profiler/record.h"

namespace weft::cpu {
namespace {

LogArtifact output_code_log("output_code", "generated C++");

// The arrow in a trace from the request for code to the thread that makes it.
profiler::NameId FlowName() {
  static const profiler::NameId name = profiler::InternName("kernel code");
  return name;
}

}  // namespace

GeneratedKernels::GeneratedKernels(const std::vector<const Kernel*>& kernels, Isa isa,
                                   JitOptions options)
    : kernels_(kernels), options_(std::move(options)) {
  const absl::Time start = absl::Now();
  CcTarget target;
  target.isa = isa == Isa::kAvx512 ? CcTarget::Isa::kAvx512 : CcTarget::Isa::kAvx2;
  status_ = Emit(target);
  if (status_.ok() && !unit_.kernels.empty()) {
    // Errors of the cache are reported when the code is compiled.
    auto kept = KernelLibrary::FromCache(unit_.text, options_);
    if (!kept.ok() || *kept == nullptr) {
      const uint64_t flow = profiler::NewFlowId();
      profiler::RecordFlowStart(FlowName(), flow);
      thread_ = std::thread([this, start, flow] {
        {
          const profiler::Scope scope(profiler::Activity::kCompilerPass, "generate code");
          profiler::RecordFlowFinish(FlowName(), flow);
          status_ = Compile();
        }
        seconds_ = absl::ToDoubleSeconds(absl::Now() - start);
        ready_.store(true, std::memory_order_release);
      });
      return;
    }
    stats_.from_cache = true;
    Use(*std::move(kept));
  }
  seconds_ = absl::ToDoubleSeconds(absl::Now() - start);
  ready_.store(true, std::memory_order_release);
}

GeneratedKernels::~GeneratedKernels() {
  if (thread_.joinable()) thread_.join();
}

absl::Status GeneratedKernels::Wait() {
  if (thread_.joinable()) thread_.join();
  return status_;
}

absl::Status GeneratedKernels::Emit(CcTarget target) {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "emit kernels");
  target.sleef = LoadSleef();
  WEFT_ASSIGN_OR_RETURN(unit_, EmitCcOfMost(&kernels_, target));
  options_.flags = CcFlags(target);
  if (!unit_.kernels.empty()) Log(output_code_log, unit_.text);
  return absl::OkStatus();
}

absl::Status GeneratedKernels::Compile() {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "compile kernels");
  auto library = KernelLibrary::Create(unit_.text, options_, &stats_);
  if (!library.ok()) {
    Log(codegen_log, LogSeverity::kWarning,
        absl::StrCat("kernels stay with the interpreter: ", library.status().message()));
    return library.status();
  }
  Use(*std::move(library));
  return absl::OkStatus();
}

void GeneratedKernels::Use(std::shared_ptr<KernelLibrary> library) {
  Log(codegen_log,
      absl::StrFormat("%d kernels, %d bytes of C++: %s", unit_.kernels.size(), unit_.text.size(),
                      stats_.from_cache
                          ? "from the cache"
                          : absl::StrFormat("%.0f ms", stats_.compile_seconds * 1e3)));
  library_ = std::move(library);
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const auto fn = reinterpret_cast<GeneratedFn>(library_->Find(unit_.kernels[i].symbol));
    if (fn == nullptr) continue;
    const CcKernel& made = unit_.kernels[i];
    found_[kernels_[i]] = {fn, made.sizes, made.points, made.scratch_bytes, made.work_per_point};
  }
}

const GeneratedKernel* GeneratedKernels::Find(const Kernel* kernel) const {
  const auto it = found_.find(kernel);
  return it == found_.end() ? nullptr : &it->second;
}

}  // namespace weft::cpu
