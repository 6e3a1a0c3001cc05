#include "backends/cuda/device/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace weft::cuda {
namespace {

constexpr int64_t kPiece = int64_t{1} << 19;
constexpr int64_t kAlignment = 4096;

int64_t RoundUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// Four threads reach the speed of the bus; a small machine has none to spare.
int InputStaging::DefaultThreads() {
  return std::min<int>(4, static_cast<int>(std::thread::hardware_concurrency() / 2));
}

void InputStaging::Release() {
  const int64_t most = std::min(wanted_, kMaxBytes);
  const int64_t held = memory_ == nullptr ? 0 : memory_->size();
  used_ = 0;
  wanted_ = 0;
  if (most <= held) return;
  memory_ = nullptr;
  memory_ = context_.AllocateLocked(most);
}

bool InputStaging::Copy(CuAddress to, const void* from, int64_t bytes, CuStream stream,
                        CuResult* result) {
  if (threads_ < 2 || bytes < kLeastBytes) return false;
  const int64_t room = RoundUp(bytes);
  wanted_ += room;
  if (memory_ == nullptr || used_ + room > memory_->size()) return false;
  char* const staged = reinterpret_cast<char*>(memory_->data()) + used_;
  const char* const begin = static_cast<const char*>(from);
  used_ += room;
  std::atomic<int64_t> next{0};
  std::atomic<CuResult> first{kCuSuccess};
  const auto work = [&] {
    for (int64_t at = next.fetch_add(kPiece); at < bytes; at = next.fetch_add(kPiece)) {
      const auto piece = static_cast<size_t>(std::min(kPiece, bytes - at));
      std::memcpy(staged + at, begin + at, piece);
      const CuResult copied =
          driver_.copy_in(to + static_cast<CuAddress>(at), staged + at, piece, stream);
      CuResult none = kCuSuccess;
      if (copied != kCuSuccess) first.compare_exchange_strong(none, copied);
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads_; ++t) {
    others.emplace_back([&] {
      if (driver_.context_set_current(context_.get()) == kCuSuccess) work();
    });
  }
  work();
  for (std::thread& other : others) other.join();
  *result = first;
  return true;
}

}  // namespace weft::cuda
