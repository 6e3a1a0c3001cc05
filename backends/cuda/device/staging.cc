#include "backends/cuda/device/staging.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/align.h"

namespace weft::cuda {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kPiece = int64_t{1} << 19;
constexpr int64_t kLeastRoom = int64_t{1} << 20;

// Four threads reach the speed of the bus; a small machine has none to spare.
int DefaultThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency() / 2), 1, 4);
}

}  // namespace

// A copy that is divided among threads.
struct InputStaging::Job {
  const DriverApi& driver;
  CuAddress to;
  const char* from;
  char* staged;
  int64_t bytes;
  CuStream stream;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> left;                // Bytes that are not submitted yet.
  std::atomic<CuResult> first{kCuSuccess};  // The first error.

  Job(const DriverApi& api, CuAddress address, const void* begin, char* room, int64_t size,
      CuStream queue)
      : driver(api),
        to(address),
        from(static_cast<const char*>(begin)),
        staged(room),
        bytes(size),
        stream(queue),
        left(size) {}

  // Copies pieces until there are no more.
  void Work() {
    for (int64_t at = next.fetch_add(kPiece); at < bytes; at = next.fetch_add(kPiece)) {
      const int64_t piece = std::min(kPiece, bytes - at);
      const auto size = static_cast<size_t>(piece);
      std::memcpy(staged + at, from + at, size);
      const CuResult copied =
          driver.copy_in(to + static_cast<CuAddress>(at), staged + at, size, stream);
      CuResult none = kCuSuccess;
      if (copied != kCuSuccess) first.compare_exchange_strong(none, copied);
      left -= piece;
    }
  }
};

// Threads that sleep until there is a job. A thread that comes late finds no pieces left.
class InputStaging::Helpers {
 public:
  Helpers(const DriverApi& driver, CuContext context, int count) {
    for (int t = 0; t < count; ++t) {
      threads_.emplace_back([this, &driver, context] {
        if (driver.context_set_current(context) == kCuSuccess) Serve();
      });
    }
  }
  ~Helpers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Start(std::shared_ptr<Job> job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = std::move(job);
      ++jobs_;
    }
    wake_.notify_all();
  }

 private:
  void Serve() {
    int64_t seen = 0;
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return ends_ || jobs_ != seen; });
        if (ends_) return;
        seen = jobs_;
        job = job_;
      }
      job->Work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<Job> job_;
  int64_t jobs_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

InputStaging::InputStaging(const DriverApi& driver, PrimaryContext& context)
    : driver_(driver), context_(context), threads_(DefaultThreads()) {}

InputStaging::~InputStaging() = default;

void InputStaging::set_threads(int threads) {
  threads_ = threads;
  helpers_ = nullptr;
}

void InputStaging::Release() {
  const int64_t most = std::min(wanted_, kMaxBytes);
  const int64_t held = memory_ == nullptr ? 0 : memory_->size();
  used_ = 0;
  wanted_ = 0;
  if (most <= held) return;
  memory_ = nullptr;
  memory_ = context_.AllocateLocked(std::max(most, kLeastRoom));
}

bool InputStaging::Copy(CuAddress to, const void* from, int64_t bytes, CuStream stream,
                        CuResult* result) {
  if (bytes < kLeastBytes || threads_ < 2) return false;
  const int64_t room = AlignUp(bytes, kPage);
  wanted_ += room;
  if (memory_ == nullptr || used_ + room > memory_->size()) return false;
  char* const staged = reinterpret_cast<char*>(memory_->data()) + used_;
  used_ += room;
  const auto job = std::make_shared<Job>(driver_, to, from, staged, bytes, stream);
  if (helpers_ == nullptr) {
    helpers_ = std::make_unique<Helpers>(driver_, context_.get(), threads_ - 1);
  }
  helpers_->Start(job);
  job->Work();
  while (job->left > 0) std::this_thread::yield();
  *result = job->first;
  return true;
}

}  // namespace weft::cuda
