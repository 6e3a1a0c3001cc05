// The CUDA driver and NVRTC, opened at run time, or the emulation that stands for both.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_LIBRARIES_H_
#define WEFT_BACKENDS_CUDA_DRIVER_LIBRARIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/driver/cupti_api.h"
#include "backends/cuda/driver/driver_api.h"
#include "backends/cuda/driver/nvrtc_api.h"

namespace weft::cuda {

struct Libraries {
  DriverApi driver;
  NvrtcApi nvrtc;
  EmulationApi emulation;  // Absent in a real driver.
  std::string driver_path;
  std::string nvrtc_path;
};

// `driver`: a path, "emulated", or empty for the installed driver. `nvrtc`: a file, the folder of
// one, or empty: the driver's own library if it has NVRTC's functions (the emulated one does), else
// an installed NVRTC. NotFound lists every place that was tried. Libraries are opened once and stay
// open.
absl::StatusOr<const Libraries*> OpenLibraries(const std::string& driver, const std::string& nvrtc);

// NVRTC alone, for checks that need no device.
absl::StatusOr<const NvrtcApi*> OpenNvrtc(const std::string& nvrtc);

struct CuptiLibrary {
  CuptiApi api;
  std::string path;
};

// CUPTI, which records the work of GPUs. `cupti`: a file, the folder of one, or empty: the driver's
// own library if it has CUPTI's functions (the emulated one does), else one beside NVRTC, else an
// installed one. NotFound lists every place that was tried.
absl::StatusOr<const CuptiLibrary*> OpenCupti(const Libraries& libraries, const std::string& cupti);

// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory". ResourceExhausted for a lack of
// memory, else Internal; OK for success.
absl::Status ToStatus(const Libraries& libraries, CuResult result, absl::string_view call);
absl::Status ToStatus(const NvrtcApi& nvrtc, NvrtcResult result, absl::string_view call);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_LIBRARIES_H_
