// Sets the number of threads that loops of the calling thread have while the scope is open. OpenMP,
// and with it oneDNN, uses as many, or one if the embedding program has a loop of its own
// (host_loop.h), which cannot run OpenMP's teams.
#ifndef WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_
#define WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_

namespace weft::cpu {

class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int threads_before_;
  const int openmp_before_;
};

// Threads of the innermost scope; without one, those of OpenMP.
int ScopeThreads();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_THREAD_SCOPE_H_
