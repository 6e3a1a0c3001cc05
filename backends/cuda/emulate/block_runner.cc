#include "backends/cuda/emulate/block_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cuda/emulate/shadow.h"
#include "backends/cuda/emulate/state.h"

namespace weft::cuda::emulate {
namespace {

constexpr size_t kWarp = 32;

std::string ToText(Dim d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

}  // namespace

BlockRunner& BlockRunner::Get() {
  static auto& runner = *new BlockRunner;
  return runner;
}

BlockRunner::BlockRunner() {
  calls_.now = &now_;
  calls_.barrier = Barrier;
  calls_.exchange = Exchange;
  calls_.access = Access;
  calls_.region_fault = RegionFault;
  calls_.shared_fault = SharedFault;
}

void BlockRunner::Place(size_t thread) {
  const Dim d = now_.block_dim;
  const auto t = static_cast<unsigned>(thread);
  now_.thread = {t % d.x, t / d.x % d.y, t / d.x / d.y};
  current_ = thread;
}

void BlockRunner::Fail(const std::string& what, size_t thread) {
  if (!error_.empty()) return;
  Place(thread);
  error_ = "kernel " + launch_->name + ", block " + ToText(now_.block) + ", thread " +
           ToText(now_.thread) + ": " + what;
}

// --- On fibers ---------------------------------------------------------------------------

void BlockRunner::FiberMain() {
  BlockRunner& runner = Get();
  while (true) {
    runner.RunNewThreads();
    runner.free_fibers_.push_back(runner.fiber_);
    runner.fibers_[runner.fiber_]->Leave();
  }
}

void BlockRunner::RunNewThreads() {
  while (next_ < order_.size()) {
    const size_t thread = order_[next_++];
    Place(thread);
    threads_[thread].fiber = fiber_;
    launch_->entry->run(launch_->fields.data());
    // Other threads may have run since.
    threads_[current_].state = State::kDone;
  }
}

void BlockRunner::Wait(State state, int line) {
  threads_[current_].state = state;
  threads_[current_].line = line;
  fibers_[fiber_]->Leave();
}

void BlockRunner::Barrier(int line) { Get().Wait(State::kBarrier, line); }

uint64_t BlockRunner::Exchange(int line, unsigned mask, uint64_t value, int lane) {
  BlockRunner& runner = Get();
  Thread& thread = runner.threads_[runner.current_];
  thread.mask = mask;
  thread.value = value;
  thread.lane = lane;
  runner.Wait(State::kExchange, line);
  return thread.value;
}

void BlockRunner::FailHere(const std::string& what) {
  Fail(what, current_);
  // The fiber is restarted before it is used again.
  fibers_[fiber_]->Leave();
}

void BlockRunner::Access(const Region* region, const char* at, uint64_t bytes, bool write,
                         int64_t index) {
  BlockRunner& runner = Get();
  const Now& now = runner.now_;
  const bool shared = region->number < 0;
  const Moment moment = {now.epoch, now.block_begin,
                         shared ? now.block_begin : runner.launch_begin_,
                         static_cast<unsigned>(runner.current_)};
  const char* const wrong = region->shadow->Access(at, bytes, write, region->tracked, moment);
  if (wrong != nullptr) RegionFault(wrong, region, index);
}

void BlockRunner::RegionFault(const char* what, const Region* region, int64_t index) {
  const std::string name = region->number < 0
                               ? "dynamic shared memory"
                               : "the memory of pointer " + std::to_string(region->number);
  Get().FailHere(std::string(what) + " " + name + ", element " + std::to_string(index));
}

void BlockRunner::SharedFault(const char* what, const char* name, int64_t index, int64_t limit) {
  Get().FailHere(std::string(what) + " " + name + "[" + std::to_string(index) + "] of " +
                 std::to_string(limit));
}

// --- On the thread's own stack -------------------------------------------------------------

void BlockRunner::Enter(int fiber) {
  fiber_ = fiber;
  fibers_[fiber]->Enter();
}

int BlockRunner::TakeFiber() {
  if (free_fibers_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(FiberMain));
    return static_cast<int>(fibers_.size()) - 1;
  }
  const int fiber = free_fibers_.back();
  free_fibers_.pop_back();
  return fiber;
}

void BlockRunner::StartThreads() {
  while (next_ < order_.size() && error_.empty()) Enter(TakeFiber());
}

// Gives the lanes of a warp their values when all lanes of the mask wait.
bool BlockRunner::ReleaseWarp(size_t begin, size_t end) {
  unsigned waiting = 0;
  size_t first = end;
  for (size_t t = begin; t < end; ++t) {
    if (threads_[t].state != State::kExchange) continue;
    first = std::min(first, t);
    waiting |= 1u << (t - begin);
  }
  if (first == end) return false;
  const Thread& model = threads_[first];
  if ((model.mask & waiting) != model.mask) return false;
  std::vector<uint64_t> values(end - begin);
  for (size_t t = begin; t < end; ++t) values[t - begin] = threads_[t].value;
  for (size_t t = begin; t < end; ++t) {
    Thread& thread = threads_[t];
    if ((model.mask >> (t - begin) & 1) == 0) continue;
    if (thread.line != model.line || thread.mask != model.mask) {
      Fail("a warp operation with different masks or at different lines, " +
               std::to_string(model.line) + " and " + std::to_string(thread.line),
           t);
      return false;
    }
    const int lane = thread.lane < 0 ? static_cast<int>(t - begin) : thread.lane;
    if (lane >= static_cast<int>(kWarp) || (model.mask >> lane & 1) == 0) {
      Fail("a warp operation reads a lane outside of its mask, line " + std::to_string(model.line),
           t);
      return false;
    }
    thread.value = values[lane];
    thread.state = State::kReady;
  }
  return true;
}

// Ends a barrier that all threads of the block have reached.
bool BlockRunner::ReleaseBarrier() {
  for (const Thread& thread : threads_) {
    if (thread.state != State::kBarrier || thread.line != threads_[0].line) return false;
  }
  for (Thread& thread : threads_) thread.state = State::kReady;
  ++now_.epoch;
  return true;
}

bool BlockRunner::Release() {
  bool some = false;
  for (size_t begin = 0; begin < threads_.size(); begin += kWarp) {
    some = ReleaseWarp(begin, std::min(begin + kWarp, threads_.size())) || some;
  }
  if (some || ReleaseBarrier()) return true;
  size_t waits = threads_.size();
  size_t other = 0;
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (threads_[t].state != State::kDone) waits = std::min(waits, t);
  }
  if (waits == threads_.size()) return false;  // All have ended.
  const Thread& model = threads_[waits];
  while (other < threads_.size() &&
         (threads_[other].state == model.state && threads_[other].line == model.line)) {
    ++other;
  }
  const char* what = model.state == State::kBarrier ? "a barrier" : "a warp operation";
  std::string text =
      std::string("divergence: it waits at ") + what + " in line " + std::to_string(model.line);
  if (other < threads_.size()) {
    text += ", thread " + std::to_string(other) +
            (threads_[other].state == State::kDone
                 ? " has ended"
                 : " waits in line " + std::to_string(threads_[other].line));
  }
  Fail(text, waits);
  return false;
}

void BlockRunner::RunBlock(const Launch& launch) {
  threads_.assign(launch.block.count(), Thread());
  std::shuffle(order_.begin(), order_.end(), random_);
  next_ = 0;
  now_.block_begin = ++now_.epoch;
  if (launch.dynamic_bytes > 0) {
    std::memset(now_.dynamic.begin, kPoison, launch.dynamic_bytes);
    now_.dynamic.shadow->SetWritten(now_.dynamic.begin, launch.dynamic_bytes, false);
  }
  StartThreads();
  while (error_.empty() && Release()) {
    for (const unsigned t : order_) {
      if (threads_[t].state != State::kReady || !error_.empty()) continue;
      Place(t);
      Enter(threads_[t].fiber);
    }
  }
}

std::string BlockRunner::Run(const Launch& launch) {
  launch_ = &launch;
  error_.clear();
  std::vector<char> dynamic(launch.dynamic_bytes + 16);
  char* const begin = dynamic.data() + (16 - reinterpret_cast<uintptr_t>(dynamic.data()) % 16) % 16;
  Shadow shadow(begin, launch.dynamic_bytes);
  now_.dynamic = {begin, begin + launch.dynamic_bytes, &shadow, true, -1};
  launch_begin_ = now_.epoch + 1;
  now_.block_dim = launch.block;
  now_.grid_dim = launch.grid;
  order_.resize(launch.block.count());
  std::iota(order_.begin(), order_.end(), 0u);
  // Blocks run from the last to the first: none may rely on one before it.
  for (uint64_t b = launch.grid.count(); b-- > 0 && error_.empty();) {
    const auto number = static_cast<unsigned>(b);
    now_.block = {number % launch.grid.x, number / launch.grid.x % launch.grid.y,
                  number / launch.grid.x / launch.grid.y};
    RunBlock(launch);
  }
  if (!error_.empty()) {
    // Fibers stand in the middle of threads.
    free_fibers_.clear();
    for (size_t f = 0; f < fibers_.size(); ++f) {
      fibers_[f]->Restart();
      free_fibers_.push_back(static_cast<int>(f));
    }
  }
  return error_;
}

}  // namespace weft::cuda::emulate
