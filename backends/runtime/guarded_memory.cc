#include "backends/runtime/guarded_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/host_memory.h"
#include "base/host_buffer.h"
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
  char want[MemoryGuard::kZone];
  Paint(pattern, want, sizeof(want));
  if (std::memcmp(data, want, sizeof(want)) == 0) return -1;
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
  watched_.push_back({std::move(name), dtype, data, bytes});
}

void MemoryGuard::Forget(const char* data) {
  // Searches backwards: usually the last watched buffer is forgotten first.
  for (size_t i = watched_.size(); i-- > 0;) {
    if (watched_[i].data != data) continue;
    watched_.erase(watched_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

absl::Status MemoryGuard::Check() const {
  for (const Watched& w : watched_) {
    const uint64_t pattern = PatternOf(w.dtype);
    const int64_t before = FirstChanged(pattern, w.data - kZone);
    if (before >= 0) {
      return absl::DataLossError(absl::StrCat(kZone - before, " bytes before the first of ", w.name,
                                              " a byte was written"));
    }
    const int64_t behind = FirstChanged(pattern, w.data + w.bytes);
    if (behind >= 0) {
      return absl::DataLossError(absl::StrCat("byte ", w.bytes + behind, " of ", w.name,
                                              " was written, which has ", w.bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace weft
