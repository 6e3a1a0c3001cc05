#include "backends/cpu/threads/host_loop.h"

#include <atomic>

#include "absl/synchronization/mutex.h"

namespace weft::cpu {
namespace {

struct Current {
  std::atomic<bool> given{false};
  absl::Mutex mutex;
  HostLoop loop;
};

// Never destroyed, because programs may outlive static objects.
Current& TheCurrent() {
  static Current& current = *new Current();
  return current;
}

thread_local bool in_task = false;

struct Task {
  void (*run)(void* data, int64_t index);
  void* data;
};

void RunTask(void* data, int64_t index) {
  const Task& task = *static_cast<const Task*>(data);
  // A host may run a task in the thread of another one that waits.
  const bool before = in_task;
  in_task = true;
  task.run(task.data, index);
  in_task = before;
}

}  // namespace

void SetHostLoop(const HostLoop& loop) {
  Current& current = TheCurrent();
  absl::MutexLock lock(&current.mutex);
  current.loop = loop;
  current.given.store(loop.run != nullptr, std::memory_order_release);
}

bool HasHostLoop() { return TheCurrent().given.load(std::memory_order_acquire); }

bool RunHostLoop(int64_t count, void (*task)(void* data, int64_t index), void* data) {
  if (!HasHostLoop()) return false;
  HostLoop loop;
  {
    absl::MutexLock lock(&TheCurrent().mutex);
    loop = TheCurrent().loop;
  }
  if (loop.run == nullptr) return false;
  if (in_task) {
    for (int64_t i = 0; i < count; ++i) task(data, i);
    return true;
  }
  Task own = {task, data};
  loop.run(loop.context, count, RunTask, &own);
  return true;
}

}  // namespace weft::cpu
