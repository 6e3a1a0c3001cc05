#include "api/inspect/code_facts.h"

#include "absl/strings/str_cat.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/static_facts.h"
#include "backends/cuda/trace/gpu_models.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "lowering/lower.h"

namespace weft {

absl::StatusOr<std::string> DescribeCode(const Module& module, const Backend& backend,
                                         const BackendOptions& options) {
  std::string text;
  if (backend.name() != "cuda") return text;
  const auto nvrtc = cuda::OpenNvrtc(OptionOf(backend, options, "cuda-nvrtc"));
  if (!nvrtc.ok()) return text;
  const cuda::GpuModel* const model = cuda::FindGpuModel(OptionOf(backend, options, "cuda-model"));
  if (model == nullptr) return absl::InvalidArgumentError("cuda-model names no known GPU");
  for (const auto& function : module.functions()) {
    WEFT_ASSIGN_OR_RETURN(const auto plan, Lower(*function, backend.target()));
    WEFT_ASSIGN_OR_RETURN(const std::string facts, cuda::DescribeCode(plan, **nvrtc, *model));
    absl::StrAppend(&text, facts);
  }
  return text;
}

}  // namespace weft
