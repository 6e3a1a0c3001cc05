// Sets the number of threads that OpenMP, and with it oneDNN, uses in the calling thread's loops
// while the scope is open.
#ifndef WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_
#define WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_

#include <omp.h>

namespace weft::cpu {

class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~ThreadScope() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_
