// Per-thread buffers of events. Internal: record.h is the interface.
//
// Every thread has a list of chunks. It writes into the last one and publishes each event by a
// release store; other threads only read published events. A lock is taken when a chunk is full,
// once in about 1,300 events, and by the collector.
//
// The memory of all threads together is bounded; the policy says what happens at the limit.
#ifndef WEFT_PROFILER_BUFFER_H_
#define WEFT_PROFILER_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "profiler/event.h"
#include "profiler/overflow_policy.h"

namespace weft::profiler::internal {

struct Chunk {
  static constexpr uint32_t kCapacity = 1364;  // 64 KiB with the other members.
  std::atomic<uint32_t> size{0};
  Event events[kCapacity];
};

// A limit of chunks that all threads share.
class ChunkBudget {
 public:
  void Reset(int64_t chunks, OverflowPolicy policy);
  bool Take();
  void Return(int64_t chunks = 1) { left_.fetch_add(chunks, std::memory_order_relaxed); }
  OverflowPolicy policy() const { return policy_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_{0};
  std::atomic<OverflowPolicy> policy_{OverflowPolicy::kDropNewest};
};

class ThreadBuffer {
 public:
  ThreadBuffer(ChunkBudget* budget, int64_t tid, std::string name);
  ~ThreadBuffer();

  // Must be called by the owning thread.
  void Append(const Event& event) {
    Chunk* chunk = tail_;
    uint32_t size = tail_size_;
    if (__builtin_expect(size == Chunk::kCapacity, 0)) {
      chunk = NextChunk();
      if (chunk == nullptr) return;
      size = 0;
    }
    chunk->events[size] = event;
    tail_size_ = size + 1;
    chunk->size.store(size + 1, std::memory_order_release);
  }

  // May be called by any thread at any time. Passes the published events that were not collected
  // yet to `take`, in order.
  void Collect(absl::FunctionRef<void(absl::Span<const Event>)> take);
  int64_t NumUnseen() const;
  // Discards published events, and resets the counts.
  void Discard();
  int64_t num_lost() const;

  int64_t tid() const { return tid_; }
  const std::string& name() const { return name_; }

  // Set when the owning thread ends.
  std::atomic<bool> retired{false};

 private:
  // A chunk with room, or null if the event is lost.
  Chunk* NextChunk();
  int64_t UnseenIn(const Chunk& chunk) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ChunkBudget* const budget_;
  const int64_t tid_;
  const std::string name_;

  // The last chunk, accessed by the owner alone.
  Chunk* tail_ = nullptr;
  uint32_t tail_size_ = Chunk::kCapacity;

  mutable absl::Mutex mutex_;
  std::deque<std::unique_ptr<Chunk>> chunks_ ABSL_GUARDED_BY(mutex_);
  // Events of the first chunk that were collected or discarded.
  uint32_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft::profiler::internal

#endif  // WEFT_PROFILER_BUFFER_H_
