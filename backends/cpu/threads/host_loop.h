// A parallel loop of the embedding program, which the CPU's loops use in place of OpenMP's threads.
#ifndef WEFT_BACKENDS_CPU_THREADS_HOST_LOOP_H_
#define WEFT_BACKENDS_CPU_THREADS_HOST_LOOP_H_

#include <cstdint>

namespace weft::cpu {

struct HostLoop {
  // Calls task(data, i) for each i from 0 to count - 1, in any threads and any order, at once or
  // one after another, and returns when all calls have returned. Does not throw. It may be called
  // from several threads at once, but not by a task.
  void (*run)(void* context, int64_t count, void (*task)(void* data, int64_t index),
              void* data) = nullptr;
  void* context = nullptr;
};

// Loops of the whole process that begin from now on use `loop`; OpenMP if its function is null. A
// loop that has been given serves until the runs that began with it have ended.
void SetHostLoop(const HostLoop& loop);
bool HasHostLoop();

// Runs the tasks by the host's loop; one after another if the caller is a task. False, and nothing
// is run, without such a loop.
bool RunHostLoop(int64_t count, void (*task)(void* data, int64_t index), void* data);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_HOST_LOOP_H_
