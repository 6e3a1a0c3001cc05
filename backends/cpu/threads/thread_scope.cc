#include "backends/cpu/threads/thread_scope.h"

#include <omp.h>

#include "backends/cpu/threads/host_loop.h"

namespace weft::cpu {
namespace {

thread_local int scope_threads = 0;  // 0: no scope is open.

// Setting the number is a call of OpenMP's library that is not free.
void SetOpenMpThreads(int threads) {
  if (threads != omp_get_max_threads()) omp_set_num_threads(threads);
}

}  // namespace

ThreadScope::ThreadScope(int threads)
    : threads_before_(scope_threads), openmp_before_(omp_get_max_threads()) {
  scope_threads = threads;
  SetOpenMpThreads(HasHostLoop() ? 1 : threads);
}

ThreadScope::~ThreadScope() {
  scope_threads = threads_before_;
  SetOpenMpThreads(openmp_before_);
}

int ScopeThreads() { return scope_threads > 0 ? scope_threads : omp_get_max_threads(); }

}  // namespace weft::cpu
