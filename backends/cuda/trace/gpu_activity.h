// Work of a GPU, or a call that submits it, before it is an event of a trace.
#ifndef WEFT_BACKENDS_CUDA_TRACE_GPU_ACTIVITY_H_
#define WEFT_BACKENDS_CUDA_TRACE_GPU_ACTIVITY_H_

#include <array>
#include <cstdint>

#include "profiler/names.h"

namespace weft::cuda {

struct GpuActivity {
  enum class Kind : uint8_t {
    kKernel,
    kCopy,
    kFill,
    kSync,
    kRuntimeCall,
    kDriverCall,
    kOverhead,
  };
  Kind kind = Kind::kKernel;
  profiler::NameId name = 0;  // Of a kernel or a call.
  int64_t begin = 0;          // Nanoseconds of CLOCK_MONOTONIC.
  int64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t thread = 0;       // Of a call.
  uint32_t number = 0;       // Of the called function.
  uint64_t correlation = 0;  // Relates work to the call that submitted it.
  uint64_t cause = 0;        // Correlation id of the span that made the call; 0: unknown.

  // Of a kernel.
  std::array<int32_t, 3> grid = {};
  std::array<int32_t, 3> block = {};
  int32_t registers = 0;  // Of a thread.
  int32_t static_shared = 0;
  int32_t dynamic_shared = 0;
  int64_t queued = 0;
  // Of a copy or a fill, in CUPTI's numbers.
  int64_t bytes = 0;
  uint8_t copy_kind = 0;  // Or the type of synchronization.
  uint8_t from_kind = 0;
  uint8_t to_kind = 0;
  // Of a node of a CUDA graph.
  uint32_t graph = 0;
  uint64_t graph_node = 0;
};

// CUPTI's numbers of the kinds of copies and of memory that Weft's own records use.
inline constexpr uint8_t kCopyToDevice = 1;
inline constexpr uint8_t kCopyToHost = 2;
inline constexpr uint8_t kCopyOnDevice = 8;
inline constexpr uint8_t kPageableMemory = 1;
inline constexpr uint8_t kPinnedMemory = 2;
inline constexpr uint8_t kDeviceMemory = 3;

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_GPU_ACTIVITY_H_
