// Runs the threads of a kernel, block by block, on one thread of the system.
//
// A thread is a fiber that runs until it waits at a barrier or a warp operation, or ends. A fiber
// whose thread has ended goes on with the next thread, so that kernels without barriers take one
// fiber. Between barriers, threads run in an order that the seed determines.
//
// Errors end the kernel and are reported in words with the kernel, block, thread and line: threads
// of a block that wait at different barriers or have ended without one; lanes of a warp that give
// different masks or read a lane that has ended; accesses outside of what a pointer may access;
// reads of unwritten memory; accesses of several threads without an order (shadow.h).
#ifndef WEFT_BACKENDS_CUDA_EMULATE_BLOCK_RUNNER_H_
#define WEFT_BACKENDS_CUDA_EMULATE_BLOCK_RUNNER_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/emulate/fibers.h"
#include "backends/cuda/emulate/kernel_abi.h"

namespace weft::cuda::emulate {

struct Launch {
  std::string name;
  const Entry* entry = nullptr;
  std::vector<FieldValue> fields;
  Dim grid, block;
  int64_t dynamic_bytes = 0;
};

// The process has one: kernels call it through HostCalls.
class BlockRunner {
 public:
  static BlockRunner& Get();

  const HostCalls& calls() const { return calls_; }
  void Seed(unsigned seed) { random_.seed(seed); }
  // "" or the first error. Calls from several threads must not overlap.
  std::string Run(const Launch& launch);

 private:
  enum class State : uint8_t { kNew, kReady, kBarrier, kExchange, kDone };
  struct Thread {
    State state = State::kNew;
    int fiber = -1;
    int line = 0;  // Where it waits.
    unsigned mask = 0;
    uint64_t value = 0;  // Given to an exchange; then the result.
    int lane = -1;
  };

  BlockRunner();
  static void FiberMain();
  static void Barrier(int line);
  static uint64_t Exchange(int line, unsigned mask, uint64_t value, int lane);
  static void Access(const Region* region, const char* at, uint64_t bytes, bool write,
                     int64_t index);
  static void RegionFault(const char* what, const Region* region, int64_t index);
  static void SharedFault(const char* what, const char* name, int64_t index, int64_t limit);

  void RunBlock(const Launch& launch);
  void StartThreads();
  void RunNewThreads();
  void Enter(int fiber);
  void Wait(State state, int line);
  // Makes threads ready that no longer have to wait; false: there are none.
  bool Release();
  bool ReleaseWarp(size_t begin, size_t end);
  bool ReleaseBarrier();
  void Place(size_t thread);
  void Fail(const std::string& what, size_t thread);
  // Ends the running thread.
  void FailHere(const std::string& what);
  int TakeFiber();

  HostCalls calls_;
  Now now_;
  uint64_t launch_begin_ = 0;  // First interval of the launch.
  std::mt19937 random_;
  const Launch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<unsigned> order_;  // Of the threads.
  size_t next_ = 0;              // The next new thread in the order.
  size_t current_ = 0;           // The running thread.
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<int> free_fibers_;
  int fiber_ = -1;  // The running fiber.
  std::string error_;
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_BLOCK_RUNNER_H_
