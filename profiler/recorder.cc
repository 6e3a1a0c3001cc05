#include "profiler/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "profiler/record.h"

namespace weft::profiler {
namespace internal {

std::atomic<uint64_t> recording_state{0};

namespace {

struct Registry {
  absl::Mutex mutex;
  ChunkBudget budget;
  std::vector<std::unique_ptr<ThreadBuffer>> buffers ABSL_GUARDED_BY(mutex);
  uint32_t num_recordings ABSL_GUARDED_BY(mutex) = 0;
  // True from the start of a recording to the collection after its stop.
  bool in_use ABSL_GUARDED_BY(mutex) = false;

  // Drops buffers of ended threads that will not be collected.
  void DropRetired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    buffers.erase(std::remove_if(buffers.begin(), buffers.end(),
                                 [](const auto& buffer) { return buffer->retired.load(); }),
                  buffers.end());
  }
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

// Buffer of this thread; null before its first event and after the thread's end.
thread_local ThreadBuffer* this_buffer = nullptr;
thread_local bool this_thread_ended = false;

// Marks the buffer when the thread ends.
struct ThreadEnd {
  ~ThreadEnd() {
    this_thread_ended = true;
    ThreadBuffer* buffer = this_buffer;
    this_buffer = nullptr;
    if (buffer == nullptr) return;
    Registry& registry = TheRegistry();
    absl::MutexLock lock(&registry.mutex);
    buffer->retired.store(true);
    if (!registry.in_use) registry.DropRetired();
  }
};

std::string ThreadName(int64_t tid) {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return "thread " + std::to_string(tid) + " (" + name + ")";
}

ABSL_ATTRIBUTE_NOINLINE ThreadBuffer* MakeBuffer() {
  if (this_thread_ended) return nullptr;
  thread_local ThreadEnd end;
  static_cast<void>(&end);
  Registry& registry = TheRegistry();
  const int64_t tid = syscall(SYS_gettid);
  auto buffer = std::make_unique<ThreadBuffer>(&registry.budget, tid, ThreadName(tid));
  this_buffer = buffer.get();
  absl::MutexLock lock(&registry.mutex);
  registry.buffers.push_back(std::move(buffer));
  return this_buffer;
}

void Append(const Event& event) {
  ThreadBuffer* buffer = this_buffer;
  if (ABSL_PREDICT_FALSE(buffer == nullptr)) {
    buffer = MakeBuffer();
    if (buffer == nullptr) return;
  }
  buffer->Append(event);
}

}  // namespace

void RecordSpan(const SpanStart& span) {
  const Ticks end = NowTicks();
  if (RecordingState() >> 32 != span.recording) return;
  Event event;
  event.time = span.start;
  event.value = end - span.start;
  event.id = span.correlation;
  event.name = span.name;
  event.description = span.description;
  event.activity = span.activity;
  Append(event);
}

void RecordPoint(Activity activity, NameId name, int64_t value, uint64_t id) {
  Event event;
  event.time = NowTicks();
  event.value = value;
  event.id = id;
  event.name = name;
  event.activity = activity;
  Append(event);
}

void RecordMemoryChange(const MemoryChange& change) {
  static const NameId name = InternName("[memory]");
  Event event;
  event.time = NowTicks();
  event.value = change.bytes;
  event.id = change.address;
  event.total = change.total;
  event.name = name;
  event.activity = Activity::kMemory;
  event.memory_category = change.category;
  Append(event);
}

void StartRecording(ActivityMask activities, int64_t max_bytes, OverflowPolicy policy) {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.DropRetired();
  for (auto& buffer : registry.buffers) buffer->Discard();
  // The one chunk that each thread always keeps is not counted.
  registry.budget.Reset(std::max<int64_t>(max_bytes / int64_t{sizeof(Chunk)}, 1), policy);
  registry.in_use = true;
  const uint64_t number = ++registry.num_recordings;
  recording_state.store(number << 32 | activities, std::memory_order_seq_cst);
}

void DiscardRecorded() {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  for (auto& buffer : registry.buffers) buffer->Discard();
}

void StopRecording() { recording_state.store(0, std::memory_order_seq_cst); }

int64_t NumRecorded() {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  int64_t sum = 0;
  for (const auto& buffer : registry.buffers) sum += buffer->NumUnseen();
  return sum;
}

void CollectRecorded(absl::FunctionRef<void(const RecordedThread&)> begin,
                     absl::FunctionRef<void(absl::Span<const Event>)> add) {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  for (auto& buffer : registry.buffers) {
    const int64_t num_lost = buffer->num_lost();
    if (num_lost == 0 && buffer->NumUnseen() == 0) continue;
    begin({buffer->tid(), buffer->name(), num_lost});
    buffer->Collect(add);
  }
  if (RecordingState() != 0) return;
  registry.in_use = false;
  registry.DropRetired();
}

int64_t NumThreadBuffers() {
  Registry& registry = TheRegistry();
  absl::MutexLock lock(&registry.mutex);
  return static_cast<int64_t>(registry.buffers.size());
}

}  // namespace internal

void RecordCounterValue(NameId name, double value) {
  int64_t bits;
  static_assert(sizeof(bits) == sizeof(value), "a double is 64 bits");
  std::memcpy(&bits, &value, sizeof(bits));
  internal::RecordPoint(Activity::kCounter, name, bits, 0);
}

uint64_t NewFlowId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weft::profiler
