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
using CuMemoryPool = struct CuMemoryPoolRecord*;
using CuGraph = struct CuGraphRecord*;
using CuGraphNode = struct CuGraphNodeRecord*;
using CuGraphExec = struct CuGraphExecRecord*;

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
inline constexpr CuResult kCuNotReady = 600;
inline constexpr CuResult kCuIllegalAddress = 700;
inline constexpr CuResult kCuLaunchOutOfResources = 701;
inline constexpr CuResult kCuLaunchFailed = 719;
inline constexpr CuResult kCuCaptureUnsupported = 900;
inline constexpr CuResult kCuGraphUpdateFailed = 910;

// True for errors of a kernel after which every call in the context fails, until the process ends.
inline constexpr bool IsSticky(CuResult result) {
  return result == kCuIllegalAddress || (result >= 702 && result <= 719 && result != 704 &&
                                         result != 705 && result != 708 && result != 709);
}

enum CuDeviceAttribute : int {
  kCuThreadsPerBlock = 1,
  kCuSharedBytesPerBlock = 8,
  kCuRegistersPerBlock = 12,
  kCuMultiprocessors = 16,
  kCuThreadsPerMultiprocessor = 39,
  kCuComputeMajor = 75,
  kCuComputeMinor = 76,
  kCuSharedBytesPerMultiprocessor = 81,
  kCuRegistersPerMultiprocessor = 82,
  kCuSharedBytesPerBlockOptIn = 97,
  kCuBlocksPerMultiprocessor = 106,
  kCuReservedSharedBytesPerBlock = 111,
  kCuMemoryPools = 115,
};

enum CuFunctionAttribute : int {
  kCuFunctionSharedBytes = 1,
  kCuFunctionLocalBytes = 3,
  kCuFunctionRegisters = 4,
  kCuFunctionMaxDynamicSharedBytes = 8,
};

inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDisableTiming = 2;

// CUDA_KERNEL_NODE_PARAMS_v2.
struct CuKernelNode {
  CuFunction function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  CuContext context = nullptr;  // Null: the current one.
};
static_assert(sizeof(CuKernelNode) == 72);

// CUDA_MEMSET_NODE_PARAMS.
struct CuFillNode {
  CuAddress to = 0;
  size_t pitch = 0;
  unsigned value = 0;
  unsigned element_bytes = 1;
  size_t width = 0;  // In elements.
  size_t height = 1;
};
static_assert(sizeof(CuFillNode) == 40);

// CUmemPoolProps: memory of a device.
struct CuMemoryPoolProperties {
  int allocation = 1;
  int handles = 0;
  int location = 1;
  int device = 0;
  void* security = nullptr;
  size_t max_bytes = 0;
  unsigned char reserved[56] = {};
};
static_assert(sizeof(CuMemoryPoolProperties) == 88);

enum CuMemoryPoolAttribute : int { kCuPoolReleaseThreshold = 4 };

enum CuPointerAttribute : int { kCuPointerMemoryType = 2, kCuPointerDevice = 9 };

inline constexpr unsigned kCuHostPortable = 1;

enum CuMemoryType : unsigned { kCuHostMemory = 1, kCuDeviceMemory = 2 };

// CUDA_MEMCPY3D.
struct CuCopyNode {
  struct Side {
    size_t x_bytes = 0, y = 0, z = 0, level = 0;
    CuMemoryType type = kCuDeviceMemory;
    void* host = nullptr;
    CuAddress device = 0;
    void* array = nullptr;
    void* reserved = nullptr;
    size_t pitch = 0, height = 0;
  };
  Side from, to;
  size_t width_bytes = 0, height = 1, depth = 1;
};
static_assert(sizeof(CuCopyNode) == 200);

// CUgraphExecUpdateResultInfo.
struct CuGraphUpdate {
  int result = 0;
  CuGraphNode node = nullptr;
  CuGraphNode from = nullptr;
};
static_assert(sizeof(CuGraphUpdate) == 24);

enum CuCaptureMode : int { kCuCaptureThreadLocal = 1 };

// X(member of DriverApi, exported name, parameters)
#define WEFT_CUDA_DRIVER(X)                                                                        \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driver_version, "cuDriverGetVersion", (int* version))                                          \
  X(error_name, "cuGetErrorName", (CuResult result, const char** name))                            \
  X(error_string, "cuGetErrorString", (CuResult result, const char** text))                        \
  X(device_count, "cuDeviceGetCount", (int* count))                                                \
  X(device_get, "cuDeviceGet", (CuDevice * device, int ordinal))                                   \
  X(device_name, "cuDeviceGetName", (char* name, int length, CuDevice device))                     \
  X(device_attribute, "cuDeviceGetAttribute",                                                      \
    (int* value, CuDeviceAttribute attribute, CuDevice device))                                    \
  X(device_total_memory, "cuDeviceTotalMem_v2", (size_t * bytes, CuDevice device))                 \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))    \
  X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                    \
  X(context_push, "cuCtxPushCurrent_v2", (CuContext context))                                      \
  X(context_pop, "cuCtxPopCurrent_v2", (CuContext * context))                                      \
  X(context_set_current, "cuCtxSetCurrent", (CuContext context))                                   \
  X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                               \
  X(memory_allocate, "cuMemAlloc_v2", (CuAddress * address, size_t bytes))                         \
  X(memory_free, "cuMemFree_v2", (CuAddress address))                                              \
  X(host_allocate, "cuMemHostAlloc", (void** memory, size_t bytes, unsigned flags))                \
  X(host_free, "cuMemFreeHost", (void* memory))                                                    \
  X(pointer_attributes, "cuPointerGetAttributes",                                                  \
    (unsigned count, CuPointerAttribute* attributes, void** values, CuAddress address))            \
  X(pool_create, "cuMemPoolCreate",                                                                \
    (CuMemoryPool * pool, const CuMemoryPoolProperties* properties))                               \
  X(pool_destroy, "cuMemPoolDestroy", (CuMemoryPool pool))                                         \
  X(pool_set, "cuMemPoolSetAttribute",                                                             \
    (CuMemoryPool pool, CuMemoryPoolAttribute attribute, void* value))                             \
  X(pool_allocate, "cuMemAllocFromPoolAsync",                                                      \
    (CuAddress * address, size_t bytes, CuMemoryPool pool, CuStream stream))                       \
  X(pool_free, "cuMemFreeAsync", (CuAddress address, CuStream stream))                             \
  X(copy_in, "cuMemcpyHtoDAsync_v2",                                                               \
    (CuAddress to, const void* from, size_t bytes, CuStream stream))                               \
  X(copy_out, "cuMemcpyDtoHAsync_v2", (void* to, CuAddress from, size_t bytes, CuStream stream))   \
  X(copy, "cuMemcpyDtoDAsync_v2", (CuAddress to, CuAddress from, size_t bytes, CuStream stream))   \
  X(fill, "cuMemsetD8Async", (CuAddress to, unsigned char value, size_t bytes, CuStream stream))   \
  X(stream_create, "cuStreamCreate", (CuStream * stream, unsigned flags))                          \
  X(stream_destroy, "cuStreamDestroy_v2", (CuStream stream))                                       \
  X(stream_synchronize, "cuStreamSynchronize", (CuStream stream))                                  \
  X(stream_wait_event, "cuStreamWaitEvent", (CuStream stream, CuEvent event, unsigned flags))      \
  X(stream_is_capturing, "cuStreamIsCapturing", (CuStream stream, int* status))                    \
  X(event_create, "cuEventCreate", (CuEvent * event, unsigned flags))                              \
  X(event_destroy, "cuEventDestroy_v2", (CuEvent event))                                           \
  X(event_record, "cuEventRecord", (CuEvent event, CuStream stream))                               \
  X(event_synchronize, "cuEventSynchronize", (CuEvent event))                                      \
  X(event_query, "cuEventQuery", (CuEvent event))                                                  \
  X(event_elapsed, "cuEventElapsedTime", (float* milliseconds, CuEvent begin, CuEvent end))        \
  X(module_load, "cuModuleLoadData", (CuModule * module, const void* image))                       \
  X(module_unload, "cuModuleUnload", (CuModule module))                                            \
  X(module_function, "cuModuleGetFunction",                                                        \
    (CuFunction * function, CuModule module, const char* name))                                    \
  X(function_attribute, "cuFuncGetAttribute",                                                      \
    (int* value, CuFunctionAttribute attribute, CuFunction function))                              \
  X(set_function_attribute, "cuFuncSetAttribute",                                                  \
    (CuFunction function, CuFunctionAttribute attribute, int value))                               \
  X(launch, "cuLaunchKernel",                                                                      \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,                   \
     void** parameters, void** extra))                                                             \
  X(capture_begin, "cuStreamBeginCapture_v2", (CuStream stream, CuCaptureMode mode))               \
  X(capture_end, "cuStreamEndCapture", (CuStream stream, CuGraph * graph))                         \
  X(graph_create, "cuGraphCreate", (CuGraph * graph, unsigned flags))                              \
  X(graph_destroy, "cuGraphDestroy", (CuGraph graph))                                              \
  X(graph_add_kernel, "cuGraphAddKernelNode_v2",                                                   \
    (CuGraphNode * node, CuGraph graph, const CuGraphNode* after, size_t count,                    \
     const CuKernelNode* kernel))                                                                  \
  X(graph_add_fill, "cuGraphAddMemsetNode",                                                        \
    (CuGraphNode * node, CuGraph graph, const CuGraphNode* after, size_t count,                    \
     const CuFillNode* fill, CuContext context))                                                   \
  X(graph_add_copy, "cuGraphAddMemcpyNode",                                                        \
    (CuGraphNode * node, CuGraph graph, const CuGraphNode* after, size_t count,                    \
     const CuCopyNode* copy, CuContext context))                                                   \
  X(graph_add_child, "cuGraphAddChildGraphNode",                                                   \
    (CuGraphNode * node, CuGraph graph, const CuGraphNode* after, size_t count, CuGraph child))    \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                              \
    (CuGraphExec * exec, CuGraph graph, unsigned long long flags)) /* NOLINT(runtime/int) */       \
  X(graph_update, "cuGraphExecUpdate_v2", (CuGraphExec exec, CuGraph graph, CuGraphUpdate * info)) \
  X(graph_launch, "cuGraphLaunch", (CuGraphExec exec, CuStream stream))                            \
  X(graph_exec_destroy, "cuGraphExecDestroy", (CuGraphExec exec))

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
//   forget: reads of this memory are errors until work that is submitted later writes it.
//   forget_next: the same from the moment when the work that is submitted or added to a graph next
//     runs.
//   report: the first error that kernels made since the last call, in words, or ""; valid until the
//     next call.
//   fail_at: the `count`-th call from now of the function with that exported name returns `result`
//     and does nothing else; 0 cancels this.
//   seed: determines the order of streams and threads from now on.
//   compute: the compute capability of the device from now on; 8.0 at first.
//   reset: forgets a sticky error.
//   counter: "calls NAME" of a function, "live_bytes" of the device, "host_bytes" that are
//     page-locked, "launches", "streams", "pools", "graphs" (that exist, of both kinds),
//     "library_calls", "library_objects" (handles and descriptors of cuBLASLt); -1: no such
//     counter.
#define WEFT_CUDA_EMULATION(X)                                                               \
  X(operands, "weftEmulateOperands", void,                                                   \
    (const CuAddress* begins, const size_t* bytes, unsigned count))                          \
  X(forget, "weftEmulateForget", void, (CuStream stream, CuAddress address, size_t bytes))   \
  X(forget_next, "weftEmulateForgetNext", void, (CuAddress address, size_t bytes))           \
  X(report, "weftEmulateReport", const char*, ())                                            \
  X(fail_at, "weftEmulateFailAt", void, (const char* name, unsigned count, CuResult result)) \
  X(seed, "weftEmulateSeed", void, (unsigned seed))                                          \
  X(compute, "weftEmulateCompute", void, (int major, int minor))                             \
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
