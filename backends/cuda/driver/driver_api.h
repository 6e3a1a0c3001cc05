// Declarations of the CUDA driver interface that this backend uses, by its documentation. The build
// uses no vendor header; the library is opened at run time (libraries.h).
//
// The library exports functions under the names that WEFT_CUDA_DRIVER lists. A name that ends in
// _v2 fixes the parameters for all later versions of the driver.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_DRIVER_API_H_
#define WEFT_BACKENDS_CUDA_DRIVER_DRIVER_API_H_

#include <cstddef>

namespace weft::cuda {

using CuResult = int;
using CuDevice = int;
using CuAddress = unsigned long long;  // NOLINT(runtime/int): the type of the interface.
using CuContext = struct CuContextRecord*;
using CuStream = struct CuStreamRecord*;
using CuEvent = struct CuEventRecord*;
using CuModule = struct CuModuleRecord*;
using CuFunction = struct CuFunctionRecord*;

// Results that the backend tells apart.
inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuInvalidValue = 1;
inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNotInitialized = 3;
inline constexpr CuResult kCuNoDevice = 100;
inline constexpr CuResult kCuInvalidDevice = 101;
inline constexpr CuResult kCuInvalidImage = 200;
inline constexpr CuResult kCuInvalidContext = 201;
inline constexpr CuResult kCuInvalidHandle = 400;
inline constexpr CuResult kCuNotFound = 500;
inline constexpr CuResult kCuIllegalAddress = 700;
inline constexpr CuResult kCuLaunchOutOfResources = 701;
inline constexpr CuResult kCuLaunchFailed = 719;

// True for errors of a kernel after which every call in the context fails, until the process ends.
inline constexpr bool IsSticky(CuResult result) {
  return result == kCuIllegalAddress || (result >= 702 && result <= 719 && result != 704 &&
                                         result != 705 && result != 708 && result != 709);
}

enum CuDeviceAttribute : int {
  kCuMultiprocessors = 16,
  kCuComputeMajor = 75,
  kCuComputeMinor = 76,
  kCuSharedBytesPerBlockOptIn = 97,
};

enum CuFunctionAttribute : int {
  kCuFunctionRegisters = 4,
  kCuFunctionLocalBytes = 3,
  kCuFunctionMaxDynamicSharedBytes = 8,
};

inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDisableTiming = 2;

// X(member of DriverApi, exported name, parameters)
#define WEFT_CUDA_DRIVER(X)                                                                      \
  X(init, "cuInit", (unsigned flags))                                                            \
  X(driver_version, "cuDriverGetVersion", (int* version))                                        \
  X(error_name, "cuGetErrorName", (CuResult result, const char** name))                          \
  X(error_string, "cuGetErrorString", (CuResult result, const char** text))                      \
  X(device_count, "cuDeviceGetCount", (int* count))                                              \
  X(device_get, "cuDeviceGet", (CuDevice * device, int ordinal))                                 \
  X(device_name, "cuDeviceGetName", (char* name, int length, CuDevice device))                   \
  X(device_attribute, "cuDeviceGetAttribute",                                                    \
    (int* value, CuDeviceAttribute attribute, CuDevice device))                                  \
  X(device_total_memory, "cuDeviceTotalMem_v2", (size_t * bytes, CuDevice device))               \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))  \
  X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                  \
  X(context_set_current, "cuCtxSetCurrent", (CuContext context))                                 \
  X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                             \
  X(memory_allocate, "cuMemAlloc_v2", (CuAddress * address, size_t bytes))                       \
  X(memory_free, "cuMemFree_v2", (CuAddress address))                                            \
  X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
    (CuAddress to, const void* from, size_t bytes, CuStream stream))                             \
  X(copy_out, "cuMemcpyDtoHAsync_v2", (void* to, CuAddress from, size_t bytes, CuStream stream)) \
  X(copy, "cuMemcpyDtoDAsync_v2", (CuAddress to, CuAddress from, size_t bytes, CuStream stream)) \
  X(fill, "cuMemsetD8Async", (CuAddress to, unsigned char value, size_t bytes, CuStream stream)) \
  X(stream_create, "cuStreamCreate", (CuStream * stream, unsigned flags))                        \
  X(stream_destroy, "cuStreamDestroy_v2", (CuStream stream))                                     \
  X(stream_synchronize, "cuStreamSynchronize", (CuStream stream))                                \
  X(stream_wait_event, "cuStreamWaitEvent", (CuStream stream, CuEvent event, unsigned flags))    \
  X(event_create, "cuEventCreate", (CuEvent * event, unsigned flags))                            \
  X(event_destroy, "cuEventDestroy_v2", (CuEvent event))                                         \
  X(event_record, "cuEventRecord", (CuEvent event, CuStream stream))                             \
  X(module_load, "cuModuleLoadData", (CuModule * module, const void* image))                     \
  X(module_unload, "cuModuleUnload", (CuModule module))                                          \
  X(module_function, "cuModuleGetFunction",                                                      \
    (CuFunction * function, CuModule module, const char* name))                                  \
  X(function_attribute, "cuFuncGetAttribute",                                                    \
    (int* value, CuFunctionAttribute attribute, CuFunction function))                            \
  X(launch, "cuLaunchKernel",                                                                    \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,                 \
     void** parameters, void** extra))

// The functions of an opened library; none is null.
struct DriverApi {
#define WEFT_MEMBER(member, name, parameters) CuResult(*member) parameters = nullptr;
  WEFT_CUDA_DRIVER(WEFT_MEMBER)
#undef WEFT_MEMBER
};

// Functions that the emulated driver has in addition; a real one has none of them.
//   operands: the ranges of device memory behind the pointer parameters of the next launch, in
//   their
//     order; an access outside of its range is an error. Without this, the range is the allocation.
//   report: the first error that kernels made since the last call, in words, or ""; valid until the
//     next call.
//   fail_at: the `count`-th call from now of the function with that exported name returns `result`
//     and does nothing else; 0 cancels this.
//   seed: determines the order of streams and threads from now on.
//   reset: forgets a sticky error.
//   counter: "calls NAME" of a function, "live_bytes", "launches", "streams", "library_calls",
//     "library_objects" (handles and descriptors of cuBLASLt); -1: no such counter.
#define WEFT_CUDA_EMULATION(X)                                                               \
  X(operands, "weftEmulateOperands", void,                                                   \
    (const CuAddress* begins, const size_t* bytes, unsigned count))                          \
  X(forget, "weftEmulateForget", void, (CuStream stream, CuAddress address, size_t bytes))   \
  X(report, "weftEmulateReport", const char*, ())                                            \
  X(fail_at, "weftEmulateFailAt", void, (const char* name, unsigned count, CuResult result)) \
  X(seed, "weftEmulateSeed", void, (unsigned seed))                                          \
  X(reset, "weftEmulateReset", void, ())                                                     \
  X(counter, "weftEmulateCounter", long, (const char* name)) /* NOLINT(runtime/int) */

struct EmulationApi {
#define WEFT_MEMBER(member, name, result, parameters) result(*member) parameters = nullptr;
  WEFT_CUDA_EMULATION(WEFT_MEMBER)
#undef WEFT_MEMBER

  bool present() const { return operands != nullptr; }
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_DRIVER_API_H_
