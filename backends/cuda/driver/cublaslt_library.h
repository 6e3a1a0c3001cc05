// cuBLASLt, opened at run time.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_LIBRARY_H_
#define WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/driver/cublaslt_api.h"
#include "backends/cuda/driver/libraries.h"

namespace weft::cuda {

struct CublasLtLibrary {
  CublasLtApi api;
  std::string path;
};

// `place`: a file, the folder of one, or empty: the driver's own library if it is the emulated one,
// else an installed cuBLASLt (13 or 12), which is searched beside NVRTC first. NotFound lists every
// place that was tried. Libraries are opened once and stay open. Opening takes up to half a second,
// as the library has half a gigabyte.
absl::StatusOr<const CublasLtLibrary*> OpenCublasLt(const Libraries& libraries,
                                                    const std::string& place);

// "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED (15), ...". ResourceExhausted for a lack of memory,
// else Internal; OK for success.
absl::Status ToStatus(const CublasLtApi& api, CublasStatus status, absl::string_view call);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_LIBRARY_H_
