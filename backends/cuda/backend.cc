#include "backends/cuda/backend.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/space.h"
#include "backends/cuda/target.h"
#include "backends/cuda/trace/gpu_models.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "lowering/plan.h"

namespace weft::cuda {
namespace {

const std::vector<BackendOption>& Options() {
  using Kind = BackendOption::Kind;
  static const auto& options = *new std::vector<BackendOption>{
      {"cuda-driver", Kind::kText, "PATH|emulated", "",
       "The CUDA driver: a path, or \"emulated\" for the emulation on the host. Empty: the\n"
       "installed one"},
      {"cuda-nvrtc", Kind::kText, "PATH", "",
       "NVRTC, the compiler of CUDA C++, or its folder. Empty: an installed one"},
      {"cuda-cublaslt", Kind::kText, "PATH|none", "",
       "cuBLASLt, NVIDIA's library of matmuls, or its folder; \"none\" to run own kernels.\n"
       "Empty: an installed one, if there is one"},
      {"cuda-cupti", Kind::kText, "PATH|none", "",
       "CUPTI, which records the GPU's work for traces, or its folder. Empty: an installed\n"
       "one. Without CUPTI, or with \"none\", events of the driver give the times"},
      {"cuda-model", Kind::kChoice, kGpuModelNames, "H200",
       "The GPU for which `opt --emit=plan` describes the kernels' code"},
      {"f32-precision", Kind::kChoice, "highest|high|medium", "highest",
       "Precision in which f32 matmuls read operands, on tensor cores: f32, 22 bits, or TF32\n"
       "(11 bits). Sums and results are f32"},
      {"cuda-cache-dir", Kind::kText, "DIR", "",
       "Folder that keeps compiled kernels for other processes"},
      {"cuda-graphs", Kind::kChoice, "on|off", "on",
       "Whether steps run as CUDA graphs once the sizes of the inputs are met again"},
      {"cuda-device", Kind::kInt, "N", "0", "Number of the GPU", 0, 1023},
  };
  return options;
}

class CudaBackend : public Backend {
 public:
  const Target& target() const override { return CudaTarget(); }
  std::string default_pipeline() const override { return "cpu"; }
  absl::Span<const BackendOption> options() const override { return Options(); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph&, Plan plan,
                                                      const BackendOptions& given,
                                                      const ExecutableHooks& hooks) const override {
    CudaOptions options;
    options.ordinal = Ordinal(given);
    const std::string& precision = OptionOf(*this, given, "f32-precision");
    options.f32_products = precision == "high" ? 3 : precision == "medium" ? 1 : 0;
    options.graphs = OptionOf(*this, given, "cuda-graphs") == "on";
    options.cupti = OptionOf(*this, given, "cuda-cupti");
    options.cache_dir = OptionOf(*this, given, "cuda-cache-dir");
    options.cublaslt = OptionOf(*this, given, "cuda-cublaslt");
    WEFT_ASSIGN_OR_RETURN(const Libraries* libraries, Open(given));
    return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Executable>> {
      return CudaExecutable::Create(*libraries, options, std::move(plan), hooks);
    });
  }

  absl::StatusOr<std::shared_ptr<DeviceSpace>> OpenSpace(
      const BackendOptions& given) const override {
    WEFT_ASSIGN_OR_RETURN(const Libraries* libraries, Open(given));
    return cuda::OpenSpace(*libraries, Ordinal(given));
  }

 private:
  int Ordinal(const BackendOptions& given) const {
    int ordinal = 0;
    WEFT_CHECK(absl::SimpleAtoi(OptionOf(*this, given, "cuda-device"), &ordinal));
    return ordinal;
  }
  absl::StatusOr<const Libraries*> Open(const BackendOptions& given) const {
    const absl::StatusOr<const Libraries*> libraries =
        OpenLibraries(OptionOf(*this, given, "cuda-driver"), OptionOf(*this, given, "cuda-nvrtc"));
    if (libraries.ok()) return libraries;
    return absl::FailedPreconditionError(
        absl::StrCat("target cuda: ", libraries.status().message()));
  }
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend() { return std::make_unique<CudaBackend>(); }

}  // namespace weft::cuda
