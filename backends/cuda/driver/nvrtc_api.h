// Declarations of NVRTC, the compiler of CUDA C++, by its documentation; see driver_api.h.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_NVRTC_API_H_
#define WEFT_BACKENDS_CUDA_DRIVER_NVRTC_API_H_

#include <cstddef>

namespace weft::cuda {

using NvrtcResult = int;
using NvrtcProgram = struct NvrtcProgramRecord*;

inline constexpr NvrtcResult kNvrtcSuccess = 0;
inline constexpr NvrtcResult kNvrtcInvalidInput = 3;
inline constexpr NvrtcResult kNvrtcCompilation = 6;

// X(member of NvrtcApi, exported name, result, parameters)
#define WEFT_NVRTC(X)                                                                        \
  X(error_string, "nvrtcGetErrorString", const char*, (NvrtcResult result))                  \
  X(version, "nvrtcVersion", NvrtcResult, (int* major, int* minor))                          \
  X(create, "nvrtcCreateProgram", NvrtcResult,                                               \
    (NvrtcProgram * program, const char* source, const char* name, int num_headers,          \
     const char* const* headers, const char* const* include_names))                          \
  X(destroy, "nvrtcDestroyProgram", NvrtcResult, (NvrtcProgram * program))                   \
  X(compile, "nvrtcCompileProgram", NvrtcResult,                                             \
    (NvrtcProgram program, int num_options, const char* const* options))                     \
  X(log_size, "nvrtcGetProgramLogSize", NvrtcResult, (NvrtcProgram program, size_t * bytes)) \
  X(log, "nvrtcGetProgramLog", NvrtcResult, (NvrtcProgram program, char* text))              \
  X(cubin_size, "nvrtcGetCUBINSize", NvrtcResult, (NvrtcProgram program, size_t * bytes))    \
  X(cubin, "nvrtcGetCUBIN", NvrtcResult, (NvrtcProgram program, char* data))

// The functions of an opened library; none is null.
struct NvrtcApi {
#define WEFT_MEMBER(member, name, result, parameters) result(*member) parameters = nullptr;
  WEFT_NVRTC(WEFT_MEMBER)
#undef WEFT_MEMBER
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_NVRTC_API_H_
