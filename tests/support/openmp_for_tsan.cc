// Describes GCC's OpenMP library, which is built without it, to ThreadSanitizer: the threads of a
// parallel region start after the code before the region, and the code after it runs after all of
// them. Empty in other builds.
#ifdef __SANITIZE_THREAD__
#include <dlfcn.h>

namespace {

template <typename Fn>
Fn Next(const char* name) {
  return reinterpret_cast<Fn>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);

namespace {

using Body = void (*)(void*);

struct Region {
  Body body;
  void* data;
  char start = 0;
  char end = 0;
};

__attribute__((no_sanitize("thread"))) void RunBody(void* region) {
  Region& r = *static_cast<Region*>(region);
  __tsan_acquire(&r.start);
  r.body(r.data);
  __tsan_release(&r.end);
}

}  // namespace

void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  static const auto next = Next<void (*)(Body, void*, unsigned, unsigned)>("GOMP_parallel");
  Region region{body, data};
  __tsan_release(&region.start);
  next(RunBody, &region, threads, flags);
  __tsan_acquire(&region.end);
}

void GOMP_parallel_loop_nonmonotonic_dynamic(Body body, void* data, unsigned threads, long first,
                                             long last, long step, long chunk, unsigned flags) {
  static const auto next = Next<void (*)(Body, void*, unsigned, long, long, long, long, unsigned)>(
      "GOMP_parallel_loop_nonmonotonic_dynamic");
  Region region{body, data};
  __tsan_release(&region.start);
  next(RunBody, &region, threads, first, last, step, chunk, flags);
  __tsan_acquire(&region.end);
}
}  // extern "C"
#endif  // __SANITIZE_THREAD__
