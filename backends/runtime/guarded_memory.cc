#include "backends/runtime/guarded_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/host_memory.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// A signalling NaN as a repeated pattern of 8 bytes.
uint64_t PatternOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return 0x7FF5A5A5A5A5A5A5;
    case DType::kF16:
    case DType::kC32:
      return 0x7DA57DA57DA57DA5;
    case DType::kBF16:
      return 0x7FA57FA57FA57FA5;
    case DType::kF32:
    case DType::kC64:
      return 0x7FA5A5A57FA5A5A5;
    default:
      return 0xA5A5A5A5A5A5A5A5;
  }
}

void Paint(uint64_t pattern, char* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 8) {
    std::memcpy(data + i, &pattern, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
  }
}

// Index of the first byte that Paint() did not leave there; -1 if there is none.
int64_t FirstChanged(uint64_t pattern, const char* data) {
  // Each word is like the first.
  const bool first = std::memcmp(data, &pattern, sizeof(pattern)) == 0;
  if (first && std::memcmp(data, data + 8, MemoryGuard::kZone - 8) == 0) return -1;
  char want[MemoryGuard::kZone];
  Paint(pattern, want, sizeof(want));
  return std::mismatch(want, want + sizeof(want), data).first - want;
}

// A part of a larger buffer, which it keeps alive.
class GuardedBuffer : public HostBuffer {
 public:
  GuardedBuffer(std::shared_ptr<HostBuffer> whole, int64_t bytes)
      : HostBuffer(whole->data() + MemoryGuard::kZone, bytes), whole_(std::move(whole)) {}

 private:
  const std::shared_ptr<HostBuffer> whole_;
};

}  // namespace

std::shared_ptr<HostBuffer> MemoryGuard::Allocate(int64_t bytes) {
  std::shared_ptr<HostBuffer> whole =
      AllocateAligned(bytes + 2 * kZone, profiler::MemoryCategory::kTemporary);
  return whole == nullptr ? nullptr : std::make_shared<GuardedBuffer>(std::move(whole), bytes);
}

HostTensor MemoryGuard::Copy(const HostTensor& tensor) {
  const HostTensor dense = tensor.Contiguous();
  std::shared_ptr<HostBuffer> buffer = Allocate(dense.bytes());
  if (buffer == nullptr) return HostTensor();
  if (dense.bytes() > 0) std::memcpy(buffer->data(), dense.raw(), dense.bytes());
  auto copy = HostTensor::View(std::move(buffer), dense.dtype(), dense.dims());
  return copy.ok() ? *std::move(copy) : HostTensor();
}

void MemoryGuard::Watch(std::string name, DType dtype, char* data, int64_t bytes, bool poison) {
  const uint64_t pattern = PatternOf(dtype);
  Paint(pattern, data - kZone, kZone);
  Paint(pattern, data + bytes, kZone);
  if (poison) Paint(pattern, data, bytes);
  const auto [it, first] = by_address_.try_emplace(data, watched_.size());
  const size_t before = first ? kNone : std::exchange(it->second, watched_.size());
  watched_.push_back({std::move(name), dtype, data, bytes, before});
}

// Forgets the buffer watched last at that address.
void MemoryGuard::Forget(const char* data) {
  const auto it = by_address_.find(data);
  if (it == by_address_.end()) return;
  Watched& last = watched_[it->second];
  last.data = nullptr;
  if (last.before == kNone) {
    by_address_.erase(it);
  } else {
    it->second = last.before;
  }
  while (!watched_.empty() && watched_.back().data == nullptr) watched_.pop_back();
}

void MemoryGuard::Truncate(size_t size) {
  while (watched_.size() > size) {
    if (watched_.back().data != nullptr) {
      Forget(watched_.back().data);
    } else {
      watched_.pop_back();
    }
  }
}

absl::Status MemoryGuard::Check(absl::Span<const char* const> touched) {
  if (watched_.size() <= kInTurn) return CheckAll();
  for (const char* data : touched) {
    const auto it = by_address_.find(data);
    if (it != by_address_.end()) WEFT_RETURN_IF_ERROR(CheckZones(watched_[it->second]));
  }
  for (size_t i = 0; i < kInTurn; ++i) {
    next_ = next_ + 1 < watched_.size() ? next_ + 1 : 0;
    WEFT_RETURN_IF_ERROR(Annotate(CheckZones(watched_[next_]), "in this step or one before it"));
  }
  return absl::OkStatus();
}

absl::Status MemoryGuard::CheckAll() const {
  for (const Watched& w : watched_) WEFT_RETURN_IF_ERROR(CheckZones(w));
  return absl::OkStatus();
}

absl::Status MemoryGuard::CheckZones(const Watched& w) {
  if (w.data == nullptr) return absl::OkStatus();
  const uint64_t pattern = PatternOf(w.dtype);
  const int64_t before = FirstChanged(pattern, w.data - kZone);
  if (before >= 0) {
    return absl::DataLossError(
        absl::StrCat(kZone - before, " bytes before the first of ", w.name, " a byte was written"));
  }
  const int64_t behind = FirstChanged(pattern, w.data + w.bytes);
  if (behind < 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("byte ", w.bytes + behind, " of ", w.name,
                                          " was written, which has ", w.bytes, " bytes"));
}

}  // namespace weft
