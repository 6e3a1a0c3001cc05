// Declarations of CUPTI's activity interface that the profiler uses, by its documentation; see
// driver_api.h.
//
// Records are versioned: later versions of the library append fields, and none changes its place.
// The structs below are the first fields of what CUDA 12 and 13 write; a record's size is known to
// the library alone (next_record).
#ifndef WEFT_BACKENDS_CUDA_DRIVER_CUPTI_API_H_
#define WEFT_BACKENDS_CUDA_DRIVER_CUPTI_API_H_

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver/driver_api.h"

namespace weft::cuda {

using CuptiResult = int;

inline constexpr CuptiResult kCuptiSuccess = 0;
inline constexpr CuptiResult kCuptiInvalidParameter = 1;
inline constexpr CuptiResult kCuptiMaxLimitReached = 12;
inline constexpr CuptiResult kCuptiQueueEmpty = 18;
inline constexpr CuptiResult kCuptiMultipleSubscribers = 39;

enum CuptiKind : uint32_t {
  kCuptiCopy = 1,
  kCuptiFill = 2,
  kCuptiDriverCall = 4,
  kCuptiRuntimeCall = 5,
  kCuptiKernel = 10,  // Kernels that may run at the same time.
  kCuptiOverhead = 17,
  kCuptiSync = 38,
  kCuptiExternal = 39,
};

// Domains of call numbers.
inline constexpr int kCuptiDriverDomain = 1;
inline constexpr int kCuptiRuntimeDomain = 2;
// A kind of external correlation ids that is for applications.
inline constexpr uint32_t kCuptiCustomCorrelation = 3;
// Thread ids of calls are those of the system.
inline constexpr int kCuptiSystemThreads = 1;

struct CuptiKernelRecord {
  uint32_t kind;
  uint8_t cache_config, shared_config;
  uint16_t registers;  // Of a thread.
  uint32_t partitioned_cache[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_of_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node;
  uint32_t shared_limit_config;
  uint32_t graph;
};
static_assert(sizeof(CuptiKernelRecord) == 160 && offsetof(CuptiKernelRecord, start) == 16 &&
              offsetof(CuptiKernelRecord, correlation) == 92 &&
              offsetof(CuptiKernelRecord, name) == 104 &&
              offsetof(CuptiKernelRecord, graph_node) == 144);

struct CuptiCopyRecord {
  uint32_t kind;
  uint8_t copy_kind, from_kind, to_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream;
  uint32_t correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph, channel;
};
static_assert(sizeof(CuptiCopyRecord) == 80 && offsetof(CuptiCopyRecord, correlation) == 44 &&
              offsetof(CuptiCopyRecord, graph_node) == 64);

struct CuptiFillRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph, channel;
};
static_assert(sizeof(CuptiFillRecord) == 80 && offsetof(CuptiFillRecord, correlation) == 44 &&
              offsetof(CuptiFillRecord, graph_node) == 64);

struct CuptiCallRecord {
  uint32_t kind, number;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};
static_assert(sizeof(CuptiCallRecord) == 40 && offsetof(CuptiCallRecord, correlation) == 32);

struct CuptiExternalRecord {
  uint32_t kind, external_kind;
  uint64_t external;
  uint32_t correlation, reserved;
};
static_assert(sizeof(CuptiExternalRecord) == 24 &&
              offsetof(CuptiExternalRecord, correlation) == 16);

struct CuptiOverheadRecord {
  uint32_t kind, overhead_kind, object_kind;
  uint32_t object[3];  // Of a thread: process, thread.
  uint64_t start, end;
};
static_assert(sizeof(CuptiOverheadRecord) == 40 && offsetof(CuptiOverheadRecord, start) == 24);
inline constexpr uint32_t kCuptiObjectThread = 2;

struct CuptiSyncRecord {
  uint32_t kind, type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
};
static_assert(sizeof(CuptiSyncRecord) == 40 && offsetof(CuptiSyncRecord, correlation) == 24);

using CuptiBufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CuptiBufferCompleted = void (*)(CuContext context, uint32_t stream, uint8_t* buffer,
                                      size_t size, size_t valid_size);

// X(member of CuptiApi, exported name, parameters)
#define WEFT_CUPTI(X)                                                                           \
  X(version, "cuptiGetVersion", (uint32_t * version))                                           \
  X(result_string, "cuptiGetResultString", (CuptiResult result, const char** text))             \
  X(timestamp, "cuptiGetTimestamp", (uint64_t * nanoseconds))                                   \
  X(register_callbacks, "cuptiActivityRegisterCallbacks",                                       \
    (CuptiBufferRequested requested, CuptiBufferCompleted completed))                           \
  X(enable, "cuptiActivityEnable", (CuptiKind kind))                                            \
  X(disable, "cuptiActivityDisable", (CuptiKind kind))                                          \
  X(flush_all, "cuptiActivityFlushAll", (uint32_t flags))                                       \
  X(next_record, "cuptiActivityGetNextRecord",                                                  \
    (uint8_t * buffer, size_t valid_size, void** record))                                       \
  X(num_dropped, "cuptiActivityGetNumDroppedRecords",                                           \
    (CuContext context, uint32_t stream, size_t * dropped))                                     \
  X(push_external, "cuptiActivityPushExternalCorrelationId", (uint32_t kind, uint64_t id))      \
  X(pop_external, "cuptiActivityPopExternalCorrelationId", (uint32_t kind, uint64_t * last_id)) \
  X(set_thread_id_type, "cuptiSetThreadIdType", (int type))                                     \
  X(call_name, "cuptiGetCallbackName", (int domain, uint32_t number, const char** name))

// The functions of an opened library; none is null.
struct CuptiApi {
#define WEFT_MEMBER(member, name, parameters) CuptiResult(*member) parameters = nullptr;
  WEFT_CUPTI(WEFT_MEMBER)
#undef WEFT_MEMBER
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_CUPTI_API_H_
