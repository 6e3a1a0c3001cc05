// The driver's functions about the device, its errors, memory and streams.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/emulate/activities.h"
#include "backends/cuda/emulate/entries.h"
#include "backends/cuda/emulate/launches.h"

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::Memory;
using weft::cuda::emulate::Shadow;
using weft::cuda::emulate::State;
using weft::cuda::emulate::Stream;
using weft::cuda::emulate::Task;

struct ErrorText {
  CuResult result;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {kCuSuccess, "CUDA_SUCCESS", "no error"},
    {kCuInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kCuOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kCuNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kCuNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kCuInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kCuInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kCuInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kCuInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kCuNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kCuIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kCuLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {kCuLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kCuCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kCuGraphUpdateFailed, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints"},
};

const ErrorText* FindError(CuResult result) {
  for (const ErrorText& error : kErrors) {
    if (error.result == result) return &error;
  }
  return nullptr;
}

}  // namespace

// --- The device --------------------------------------------------------------------------

WEFT_EXPORT CuResult cuInit(unsigned) {
  WEFT_ENTER("cuInit");
  state.initialized = true;
  return kCuSuccess;
}
WEFT_SAME(cuInit, init);

WEFT_EXPORT CuResult cuDriverGetVersion(int* version) {
  *version = 12000;
  return kCuSuccess;
}
WEFT_SAME(cuDriverGetVersion, driver_version);

WEFT_EXPORT CuResult cuGetErrorName(CuResult result, const char** name) {
  const ErrorText* error = FindError(result);
  if (error == nullptr) return kCuInvalidValue;
  *name = error->name;
  return kCuSuccess;
}
WEFT_SAME(cuGetErrorName, error_name);

WEFT_EXPORT CuResult cuGetErrorString(CuResult result, const char** text) {
  const ErrorText* error = FindError(result);
  if (error == nullptr) return kCuInvalidValue;
  *text = error->text;
  return kCuSuccess;
}
WEFT_SAME(cuGetErrorString, error_string);

WEFT_EXPORT CuResult cuDeviceGetCount(int* count) {
  WEFT_ENTER("cuDeviceGetCount");
  *count = 1;
  return kCuSuccess;
}
WEFT_SAME(cuDeviceGetCount, device_count);

WEFT_EXPORT CuResult cuDeviceGet(CuDevice* device, int ordinal) {
  WEFT_ENTER("cuDeviceGet");
  if (ordinal != 0) return kCuInvalidDevice;
  *device = 0;
  return kCuSuccess;
}
WEFT_SAME(cuDeviceGet, device_get);

WEFT_EXPORT CuResult cuDeviceGetName(char* name, int length, CuDevice) {
  WEFT_ENTER("cuDeviceGetName");
  std::strncpy(name, "Emulated", length);
  if (length > 0) name[length - 1] = '\0';
  return kCuSuccess;
}
WEFT_SAME(cuDeviceGetName, device_name);

WEFT_EXPORT CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice) {
  WEFT_ENTER("cuDeviceGetAttribute");
  // Of a GPU of compute capability 8.0, if no comment says otherwise.
  switch (attribute) {
    case kCuThreadsPerBlock:
      *value = 1024;
      return kCuSuccess;
    case kCuSharedBytesPerBlock:
      *value = 48 << 10;
      return kCuSuccess;
    case kCuRegistersPerBlock:
    case kCuRegistersPerMultiprocessor:
      *value = 64 << 10;
      return kCuSuccess;
    case kCuThreadsPerMultiprocessor:
      *value = 2048;
      return kCuSuccess;
    case kCuSharedBytesPerMultiprocessor:
      *value = 164 << 10;
      return kCuSuccess;
    case kCuBlocksPerMultiprocessor:
      *value = 32;
      return kCuSuccess;
    case kCuReservedSharedBytesPerBlock:
      *value = 1 << 10;
      return kCuSuccess;
    case kCuMultiprocessors:
      *value = 2;  // So that grids wrap around at small sizes.
      return kCuSuccess;
    case kCuComputeMajor:
      *value = emulate::State::Get().compute_major;
      return kCuSuccess;
    case kCuComputeMinor:
      *value = emulate::State::Get().compute_minor;
      return kCuSuccess;
    case kCuMemoryPools:
      *value = 1;
      return kCuSuccess;
    case kCuSharedBytesPerBlockOptIn:
      *value = emulate::kMaxOptInBytes;
      return kCuSuccess;
  }
  return kCuInvalidValue;
}
WEFT_SAME(cuDeviceGetAttribute, device_attribute);

WEFT_EXPORT CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice) {
  WEFT_ENTER("cuDeviceTotalMem_v2");
  *bytes = Memory::kTotalBytes;
  return kCuSuccess;
}
WEFT_SAME(cuDeviceTotalMem_v2, device_total_memory);

WEFT_EXPORT CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice) {
  WEFT_ENTER("cuDevicePrimaryCtxRetain");
  state.has_context = true;
  *context = reinterpret_cast<CuContext>(&state);
  return kCuSuccess;
}
WEFT_SAME(cuDevicePrimaryCtxRetain, primary_context_retain);

WEFT_EXPORT CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) {
  WEFT_ENTER("cuDevicePrimaryCtxRelease_v2");
  return kCuSuccess;
}
WEFT_SAME(cuDevicePrimaryCtxRelease_v2, primary_context_release);

WEFT_EXPORT CuResult cuCtxSetCurrent(CuContext) {
  WEFT_ENTER("cuCtxSetCurrent");
  return state.has_context ? kCuSuccess : kCuInvalidContext;
}
WEFT_SAME(cuCtxSetCurrent, context_set_current);

WEFT_EXPORT CuResult cuCtxPushCurrent_v2(CuContext) {
  WEFT_ENTER("cuCtxPushCurrent_v2");
  return state.has_context ? kCuSuccess : kCuInvalidContext;
}
WEFT_SAME(cuCtxPushCurrent_v2, context_push);

WEFT_EXPORT CuResult cuCtxPopCurrent_v2(CuContext* context) {
  WEFT_ENTER("cuCtxPopCurrent_v2");
  *context = reinterpret_cast<CuContext>(&state);
  return kCuSuccess;
}
WEFT_SAME(cuCtxPopCurrent_v2, context_pop);

// --- Memory ------------------------------------------------------------------------------

namespace weft::cuda::emulate {

CuResult MakeFillTask(State& state, CuAddress to, unsigned char value, size_t bytes, Task* task) {
  char* const host = state.memory.Range(to, bytes);
  if (host == nullptr) return kCuInvalidValue;
  Shadow* const shadow = state.memory.Find(to)->shadow.get();
  task->name = "a fill";
  task->activity = FillRecord(value, bytes);
  task->accesses = {{host, host + bytes, true}};
  task->run = [host, shadow, value, bytes] {
    std::memset(host, value, bytes);
    shadow->SetWritten(host, bytes);
    return kCuSuccess;
  };
  return kCuSuccess;
}

CuResult MakeCopyTask(State& state, CuAddress to, CuAddress from, size_t bytes, Task* task) {
  char* const target = state.memory.Range(to, bytes);
  const char* const source = state.memory.Range(from, bytes);
  if (target == nullptr || source == nullptr) return kCuInvalidValue;
  Shadow* const written = state.memory.Find(to)->shadow.get();
  const Shadow* const read = state.memory.Find(from)->shadow.get();
  task->name = "a copy";
  task->activity = CopyRecord(kWithinDevice, kOnDevice, kOnDevice, bytes);
  task->accesses = {{target, target + bytes, true}, {source, source + bytes, false}};
  task->run = [target, source, written, read, bytes] {
    if (bytes > 0) std::memmove(target, source, bytes);
    written->CopyWritten(target, *read, source, bytes);
    return kCuSuccess;
  };
  return kCuSuccess;
}

}  // namespace weft::cuda::emulate

WEFT_EXPORT CuResult cuMemGetInfo_v2(size_t* free, size_t* total) {
  WEFT_ENTER("cuMemGetInfo_v2");
  *total = Memory::kTotalBytes;
  *free = Memory::kTotalBytes - static_cast<size_t>(state.memory.live_bytes());
  return kCuSuccess;
}
WEFT_SAME(cuMemGetInfo_v2, memory_info);

WEFT_EXPORT CuResult cuMemAlloc_v2(CuAddress* address, size_t bytes) {
  WEFT_ENTER("cuMemAlloc_v2");
  if (!state.has_context) return kCuInvalidContext;
  if (bytes == 0) return kCuInvalidValue;
  if (state.Captures()) return kCuCaptureUnsupported;
  *address = state.memory.Allocate(bytes);
  return *address == 0 ? kCuOutOfMemory : kCuSuccess;
}
WEFT_SAME(cuMemAlloc_v2, memory_allocate);

WEFT_EXPORT CuResult cuMemFree_v2(CuAddress address) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuMemFree_v2");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  // The driver waits, too. After an error of a kernel the memory is given back all the same, so
  // that tests can look for leaks.
  const CuResult result = state.Drain(nullptr);
  return state.memory.Free(address) ? result : kCuInvalidValue;
}
WEFT_SAME(cuMemFree_v2, memory_free);

// Work that was submitted before is done with the memory when it is given back; after an error of a
// kernel, there is none.
WEFT_EXPORT CuResult cuMemFreeHost(void* memory) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuMemFreeHost");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  const auto it = state.locked.find(static_cast<const char*>(memory));
  if (it == state.locked.end()) return kCuInvalidValue;
  const CuResult result = state.Drain(nullptr);
  state.locked_bytes -= static_cast<int64_t>(it->second);
  state.locked.erase(it);
  std::free(memory);
  return result;
}
WEFT_SAME(cuMemFreeHost, host_free);

WEFT_EXPORT CuResult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  WEFT_ENTER("cuMemHostAlloc");
  if (bytes == 0) return kCuInvalidValue;
  constexpr size_t kPage = 4096;
  void* const made = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (made == nullptr) return kCuOutOfMemory;
  std::memset(made, emulate::kPoison, bytes);
  state.locked[static_cast<const char*>(made)] = bytes;
  state.locked_bytes += static_cast<int64_t>(bytes);
  *memory = made;
  return kCuSuccess;
}
WEFT_SAME(cuMemHostAlloc, host_allocate);

WEFT_EXPORT CuResult cuPointerGetAttributes(unsigned count, CuPointerAttribute* attributes,
                                            void** values, CuAddress address) {
  WEFT_ENTER("cuPointerGetAttributes");
  const bool host = state.IsLocked(reinterpret_cast<const void*>(address));
  const bool device = !host && state.memory.Find(address) != nullptr;
  unsigned type = 0;
  if (host) type = kCuHostMemory;
  if (device) type = kCuDeviceMemory;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == kCuPointerMemoryType) {
      *static_cast<unsigned*>(values[i]) = type;
    } else if (attributes[i] == kCuPointerDevice) {
      *static_cast<int*>(values[i]) = 0;
    } else {
      return kCuInvalidValue;
    }
  }
  return kCuSuccess;
}
WEFT_SAME(cuPointerGetAttributes, pointer_attributes);

WEFT_EXPORT CuResult cuMemPoolCreate(CuMemoryPool* pool, const CuMemoryPoolProperties* given) {
  WEFT_ENTER("cuMemPoolCreate");
  if (given->allocation != 1 || given->location != 1 || given->device != 0) return kCuInvalidValue;
  *pool = reinterpret_cast<CuMemoryPool>(new char);
  ++state.pools;
  return kCuSuccess;
}
WEFT_SAME(cuMemPoolCreate, pool_create);

WEFT_EXPORT CuResult cuMemPoolDestroy(CuMemoryPool pool) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuMemPoolDestroy");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  delete reinterpret_cast<char*>(pool);
  --state.pools;
  return entered;
}
WEFT_SAME(cuMemPoolDestroy, pool_destroy);

WEFT_EXPORT CuResult cuMemPoolSetAttribute(CuMemoryPool pool, CuMemoryPoolAttribute, void*) {
  WEFT_ENTER("cuMemPoolSetAttribute");
  return pool == nullptr ? kCuInvalidValue : kCuSuccess;
}
WEFT_SAME(cuMemPoolSetAttribute, pool_set);

WEFT_EXPORT CuResult cuMemAllocFromPoolAsync(CuAddress* address, size_t bytes, CuMemoryPool pool,
                                             CuStream stream) {
  WEFT_ENTER("cuMemAllocFromPoolAsync");
  if (pool == nullptr || bytes == 0) return kCuInvalidValue;
  const Stream* const found = state.FindStream(stream);
  if (found == nullptr) return kCuInvalidHandle;
  if (found->capture != nullptr) return kCuCaptureUnsupported;
  *address = state.memory.Allocate(bytes);
  return *address == 0 ? kCuOutOfMemory : kCuSuccess;
}
WEFT_SAME(cuMemAllocFromPoolAsync, pool_allocate);

// No later call finds the memory, but work that was submitted before may use it.
WEFT_EXPORT CuResult cuMemFreeAsync(CuAddress address, CuStream stream) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuMemFreeAsync");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  Stream* const found = state.FindStream(stream);
  if (found == nullptr) return kCuInvalidHandle;
  const std::shared_ptr<void> piece = state.memory.Retire(address);
  if (piece == nullptr) return kCuInvalidValue;
  Stream::Work work;
  work.run = [piece] { return kCuSuccess; };
  found->queue.push_back(std::move(work));
  return entered;
}
WEFT_SAME(cuMemFreeAsync, pool_free);

// The driver has read pageable memory when the call returns.
WEFT_EXPORT CuResult cuMemcpyHtoDAsync_v2(CuAddress to, const void* from, size_t bytes,
                                          CuStream stream) {
  WEFT_ENTER("cuMemcpyHtoDAsync_v2");
  char* const host = state.memory.Range(to, bytes);
  if (host == nullptr) return kCuInvalidValue;
  const char* begin = static_cast<const char*>(from);
  Shadow* const shadow = state.memory.Find(to)->shadow.get();
  Task task;
  task.name = "a copy to the device";
  task.activity = emulate::CopyRecord(emulate::kToDevice,
                                      state.IsLocked(from) ? emulate::kPinned : emulate::kPageable,
                                      emulate::kOnDevice, bytes);
  task.accesses = {{host, host + bytes, true}};
  if (state.IsLocked(from)) {
    task.run = [host, shadow, begin, bytes] {
      std::memcpy(host, begin, bytes);
      shadow->SetWritten(host, bytes);
      return kCuSuccess;
    };
    return state.Submit(stream, std::move(task));
  }
  task.run = [host, shadow, data = std::vector<char>(begin, begin + bytes)] {
    if (!data.empty()) std::memcpy(host, data.data(), data.size());
    shadow->SetWritten(host, data.size());
    return kCuSuccess;
  };
  return state.Submit(stream, std::move(task));
}
WEFT_SAME(cuMemcpyHtoDAsync_v2, copy_in);

WEFT_EXPORT CuResult cuMemcpyDtoHAsync_v2(void* to, CuAddress from, size_t bytes, CuStream stream) {
  WEFT_ENTER("cuMemcpyDtoHAsync_v2");
  const char* const host = state.memory.Range(from, bytes);
  if (host == nullptr) return kCuInvalidValue;
  Task task;
  task.name = "a copy to the host";
  task.activity =
      emulate::CopyRecord(emulate::kToHost, emulate::kOnDevice,
                          state.IsLocked(to) ? emulate::kPinned : emulate::kPageable, bytes);
  task.accesses = {{host, host + bytes, false}};
  task.run = [to, host, bytes] {
    if (bytes > 0) std::memcpy(to, host, bytes);
    return kCuSuccess;
  };
  return state.Submit(stream, std::move(task));
}
WEFT_SAME(cuMemcpyDtoHAsync_v2, copy_out);

WEFT_EXPORT CuResult cuMemcpyDtoDAsync_v2(CuAddress to, CuAddress from, size_t bytes,
                                          CuStream stream) {
  WEFT_ENTER("cuMemcpyDtoDAsync_v2");
  Task task;
  const CuResult made = emulate::MakeCopyTask(state, to, from, bytes, &task);
  return made != kCuSuccess ? made : state.Submit(stream, std::move(task));
}
WEFT_SAME(cuMemcpyDtoDAsync_v2, copy);

WEFT_EXPORT CuResult cuMemsetD8Async(CuAddress to, unsigned char value, size_t bytes,
                                     CuStream stream) {
  WEFT_ENTER("cuMemsetD8Async");
  Task task;
  const CuResult made = emulate::MakeFillTask(state, to, value, bytes, &task);
  return made != kCuSuccess ? made : state.Submit(stream, std::move(task));
}
WEFT_SAME(cuMemsetD8Async, fill);
