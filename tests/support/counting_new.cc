#include "tests/support/counting_new.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};

bool IsOneDnn(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "dnnl") != nullptr;
}
}  // namespace

__attribute__((noinline)) void* operator new(size_t size) {
  if (counting && !IsOneDnn(__builtin_return_address(0))) ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weft {

CountingNew::CountingNew() {
  allocations = 0;
  counting = true;
}
CountingNew::~CountingNew() { counting = false; }

int64_t CountingNew::Stop() {
  counting = false;
  return allocations;
}

}  // namespace weft
