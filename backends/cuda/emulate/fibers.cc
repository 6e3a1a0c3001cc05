#include "backends/cuda/emulate/fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if !defined(__x86_64__)
#error "The emulation of CUDA switches stacks by x86-64 code."
#endif

// Saves the registers that a call preserves and the stack pointer, and continues where `to` was
// saved.
extern "C" void WeftSwitchStacks(void** save, void* to);
asm(R"(
.text
.hidden WeftSwitchStacks
.type WeftSwitchStacks, @function
WeftSwitchStacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size WeftSwitchStacks, .-WeftSwitchStacks
)");

namespace weft::cuda::emulate {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr size_t kGuardBytes = 4096;

}  // namespace

Fiber::Fiber(void (*main)()) : main_(main) {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<char*>(memory);
  mprotect(stack_, kGuardBytes, PROT_NONE);
  Restart();
}

Fiber::~Fiber() { munmap(stack_, kGuardBytes + kStackBytes); }

void Fiber::Restart() {
  // Six registers, the address that the switch returns to, and one that `main` would return to: at
  // the entry of a function the stack pointer is 8 above a multiple of 16.
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + kGuardBytes + kStackBytes) - 3;
  *top = 0;
  *--top = reinterpret_cast<uintptr_t>(main_);
  for (int i = 0; i < 6; ++i) *--top = 0;
  inside_ = top;
}

void Fiber::Enter() { WeftSwitchStacks(&outside_, inside_); }
void Fiber::Leave() { WeftSwitchStacks(&inside_, outside_); }

}  // namespace weft::cuda::emulate
