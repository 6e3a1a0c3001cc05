// Records the work of all GPUs of the process with CUPTI, which allows one user at a time.
//
// CUPTI asks for buffers and gives them back full, on threads of its own; records are read then. A
// kind of record that is not known here is skipped.
#ifndef WEFT_BACKENDS_CUDA_TRACE_CUPTI_RECORDER_H_
#define WEFT_BACKENDS_CUDA_TRACE_CUPTI_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/trace/gpu_activity.h"

namespace weft::cuda {

class CuptiRecorder {
 public:
  static CuptiRecorder& Get();

  // FailedPrecondition if another profiler uses CUPTI. Does nothing if it is recording already.
  absl::Status Start(const CuptiLibrary& library);
  bool recording() const { return api_.load(std::memory_order_acquire) != nullptr; }
  // Stops, waits for the records of finished work, and moves them to `activities`, not sorted.
  // Times are those of CLOCK_MONOTONIC.
  absl::Status Stop(std::vector<GpuActivity>* activities);
  // After a stop: JSON with the library's version and the counts of records.
  std::string Report() const;

  // Work that this thread submits until Pop() has this cause.
  void Push(uint64_t cause);
  void Pop();

 private:
  // CUPTI's clock and CLOCK_MONOTONIC at one instant.
  struct ClockPair {
    int64_t cupti = 0;
    int64_t monotonic = 0;
  };

  static void GiveBuffer(uint8_t** buffer, size_t* size, size_t* max_records);
  static void TakeBuffer(CuContext context, uint32_t stream, uint8_t* buffer, size_t size,
                         size_t valid_size);

  absl::Status ToStatus(CuptiResult result, absl::string_view call) const;
  ClockPair ReadClocks() const;
  void Read(const CuptiApi& api, uint8_t* buffer, size_t valid_size);
  // Reads one record; `left`: the bytes from its begin to the end of the buffer.
  void ReadRecord(const CuptiApi& api, const void* record, size_t left)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(GpuActivity activity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  profiler::NameId NameOfCall(const CuptiApi& api, int domain, uint32_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<const CuptiApi*> api_{nullptr};  // Null: not recording.
  // For buffers that come late.
  std::atomic<const CuptiApi*> last_api_{nullptr};

  mutable absl::Mutex mutex_;
  ClockPair start_ ABSL_GUARDED_BY(mutex_);
  // Times are CUPTI's.
  std::vector<GpuActivity> activities_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, uint64_t> causes_ ABSL_GUARDED_BY(mutex_);  // By correlation id.
  std::map<std::pair<int, uint32_t>, profiler::NameId> call_names_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, int64_t> counts_ ABSL_GUARDED_BY(mutex_);  // Of records, by kind.
  int64_t without_time_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t beyond_limit_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_CUPTI_RECORDER_H_
