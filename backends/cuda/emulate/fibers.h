// Stacks that take turns on one thread of the system.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_FIBERS_H_
#define WEFT_BACKENDS_CUDA_EMULATE_FIBERS_H_

#include <cstddef>
#include <memory>

namespace weft::cuda::emulate {

class Fiber {
 public:
  // `main` is called on the first switch to the fiber, and must not return.
  explicit Fiber(void (*main)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Forgets where the fiber was; the next switch calls `main` again.
  void Restart();
  // Leaves the thread's own stack for the fiber's, until the fiber calls Leave.
  void Enter();
  // Called on the fiber.
  void Leave();

 private:
  void (*const main_)();
  char* stack_ = nullptr;
  void* inside_ = nullptr;   // Stack pointer of the fiber while it is left.
  void* outside_ = nullptr;  // That of the thread while it is in the fiber.
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_FIBERS_H_
