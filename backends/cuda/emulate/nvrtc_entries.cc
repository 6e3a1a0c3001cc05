// NVRTC's functions, which compile for the host.
#include <cstring>
#include <string>
#include <type_traits>

#include "backends/cuda/driver/nvrtc_api.h"
#include "backends/cuda/emulate/host_compiler.h"
#include "backends/cuda/emulate/image.h"

namespace weft::cuda {

struct NvrtcProgramRecord {
  std::string source;
  std::string log;
  std::string image;
};

}  // namespace weft::cuda

using weft::cuda::NvrtcProgram;
using weft::cuda::NvrtcResult;

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

WEFT_EXPORT const char* nvrtcGetErrorString(NvrtcResult result) {
  switch (result) {
    case weft::cuda::kNvrtcSuccess:
      return "NVRTC_SUCCESS";
    case weft::cuda::kNvrtcCompilation:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR_INVALID_INPUT";
  }
}

WEFT_EXPORT NvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcCreateProgram(NvrtcProgram* program, const char* source, const char*,
                                           int num_headers, const char* const*,
                                           const char* const*) {
  if (program == nullptr || source == nullptr || num_headers != 0) {
    return weft::cuda::kNvrtcInvalidInput;
  }
  *program = new weft::cuda::NvrtcProgramRecord{source, "", ""};
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcDestroyProgram(NvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcCompileProgram(NvrtcProgram program, int, const char* const*) {
  std::string library;
  if (!weft::cuda::emulate::CompileForHost(program->source, &library, &program->log)) {
    return weft::cuda::kNvrtcCompilation;
  }
  program->image = weft::cuda::emulate::MakeImage(library);
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcGetProgramLog(NvrtcProgram program, char* text) {
  std::memcpy(text, program->log.c_str(), program->log.size() + 1);
  return weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcGetCUBINSize(NvrtcProgram program, size_t* bytes) {
  *bytes = program->image.size();
  return program->image.empty() ? weft::cuda::kNvrtcInvalidInput : weft::cuda::kNvrtcSuccess;
}

WEFT_EXPORT NvrtcResult nvrtcGetCUBIN(NvrtcProgram program, char* data) {
  std::memcpy(data, program->image.data(), program->image.size());
  return weft::cuda::kNvrtcSuccess;
}

// The functions have the declared types.
#define WEFT_SAME(function, member) \
  static_assert(std::is_same_v<decltype(weft::cuda::NvrtcApi::member), decltype(&function)>)
WEFT_SAME(nvrtcGetErrorString, error_string);
WEFT_SAME(nvrtcVersion, version);
WEFT_SAME(nvrtcCreateProgram, create);
WEFT_SAME(nvrtcDestroyProgram, destroy);
WEFT_SAME(nvrtcCompileProgram, compile);
WEFT_SAME(nvrtcGetProgramLogSize, log_size);
WEFT_SAME(nvrtcGetProgramLog, log);
WEFT_SAME(nvrtcGetCUBINSize, cubin_size);
WEFT_SAME(nvrtcGetCUBIN, cubin);
