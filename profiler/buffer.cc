#include "profiler/buffer.h"

#include <utility>

namespace weft::profiler::internal {

void ChunkBudget::Reset(int64_t chunks, OverflowPolicy policy) {
  left_.store(chunks, std::memory_order_relaxed);
  policy_.store(policy, std::memory_order_relaxed);
}

bool ChunkBudget::Take() {
  if (left_.fetch_sub(1, std::memory_order_relaxed) > 0) return true;
  left_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

ThreadBuffer::ThreadBuffer(ChunkBudget* budget, int64_t tid, std::string name)
    : budget_(budget), tid_(tid), name_(std::move(name)) {}

ThreadBuffer::~ThreadBuffer() {
  absl::MutexLock lock(&mutex_);
  budget_->Return(static_cast<int64_t>(chunks_.size()));
}

int64_t ThreadBuffer::UnseenIn(const Chunk& chunk) const {
  const int64_t size = chunk.size.load(std::memory_order_acquire);
  return &chunk == chunks_.front().get() ? size - seen_ : size;
}

Chunk* ThreadBuffer::NextChunk() {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<Chunk> next;
  if (budget_->Take()) {
    next = std::make_unique<Chunk>();
  } else if (chunks_.empty() || budget_->policy() == OverflowPolicy::kDropNewest) {
    ++lost_;
    return nullptr;
  } else {
    lost_ += UnseenIn(*chunks_.front());
    seen_ = 0;
    next = std::move(chunks_.front());
    chunks_.pop_front();
    next->size.store(0, std::memory_order_relaxed);
  }
  chunks_.push_back(std::move(next));
  tail_ = chunks_.back().get();
  return tail_;
}

void ThreadBuffer::Collect(absl::FunctionRef<void(absl::Span<const Event>)> take) {
  absl::MutexLock lock(&mutex_);
  while (!chunks_.empty()) {
    const Chunk& chunk = *chunks_.front();
    const uint32_t size = chunk.size.load(std::memory_order_acquire);
    if (size > seen_) take(absl::MakeConstSpan(chunk.events + seen_, size - seen_));
    seen_ = size;
    if (chunks_.size() == 1) break;  // The owner still writes into the last one.
    chunks_.pop_front();
    seen_ = 0;
    budget_->Return();
  }
}

int64_t ThreadBuffer::NumUnseen() const {
  absl::MutexLock lock(&mutex_);
  int64_t unseen = 0;
  for (const auto& chunk : chunks_) unseen += UnseenIn(*chunk);
  return unseen;
}

void ThreadBuffer::Discard() {
  absl::MutexLock lock(&mutex_);
  while (chunks_.size() > 1) {
    chunks_.pop_front();
    budget_->Return();
  }
  seen_ = chunks_.empty() ? 0 : chunks_.front()->size.load(std::memory_order_acquire);
  lost_ = 0;
}

int64_t ThreadBuffer::num_lost() const {
  absl::MutexLock lock(&mutex_);
  return lost_;
}

}  // namespace weft::profiler::internal
