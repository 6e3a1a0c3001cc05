#include "backends/plugin/step_code.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/runtime/host_memory.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"

namespace weft::plugin {
namespace {

// Turns Unimplemented into Internal: the executor would evaluate such a step with the reference,
// which has only ops.
absl::Status Final(absl::Status status) {
  return absl::IsUnimplemented(status) ? absl::InternalError(status.message()) : status;
}

// A range of the device's memory and its copy on the host.
struct Staged {
  char* begin = nullptr;
  int64_t bytes = 0;
  bool written = false;
  std::shared_ptr<HostBuffer> copy;

  char* Host(const void* address) const {
    return reinterpret_cast<char*>(copy->data()) + (static_cast<const char*>(address) - begin);
  }
};

// The piece for a range; arguments and results in one buffer share a piece.
Staged& PieceFor(char* begin, int64_t bytes, std::vector<Staged>* pieces) {
  const auto same = std::find_if(pieces->begin(), pieces->end(), [&](const Staged& piece) {
    return piece.begin == begin && piece.bytes == bytes;
  });
  if (same != pieces->end()) return *same;
  pieces->push_back({begin, bytes, false, nullptr});
  return pieces->back();
}

}  // namespace

absl::Status DeviceCode::Launch(const LaunchMemory& memory) {
  const absl::Status status = device_.Launch(code_.code, memory.all, memory.scratch, label_);
  return routine_.empty() ? Final(status) : status;
}

absl::Status StagedCode::Launch(const LaunchMemory& memory) {
  if (!device_.host_visible()) return Final(Run(memory.all));
  WEFT_RETURN_IF_ERROR(Final(device_.Wait()));
  return Final(kernel_->Run(memory.all));
}

absl::Status StagedCode::Run(absl::Span<void* const> memory) {
  std::vector<Staged> pieces;
  const auto begin = [&](size_t i) { return static_cast<char*>(memory[i]) - extents_[i].before; };
  for (size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] == nullptr || extents_[i].bytes() == 0) continue;
    Staged& piece = PieceFor(begin(i), extents_[i].bytes(), &pieces);
    piece.written = piece.written || i >= num_args_;
  }
  for (Staged& piece : pieces) {
    piece.copy = AllocateAligned(piece.bytes, profiler::MemoryCategory::kTemporary);
    if (piece.copy == nullptr) {
      return absl::ResourceExhaustedError("no memory for copies of the device's memory");
    }
    WEFT_RETURN_IF_ERROR(device_.CopyOut(piece.copy->data(), piece.begin, piece.bytes));
  }
  static char nothing[64] = {};
  std::vector<void*> host;
  for (size_t i = 0; i < memory.size(); ++i) {
    const bool there = memory[i] != nullptr && extents_[i].bytes() > 0;
    host.push_back(there ? PieceFor(begin(i), extents_[i].bytes(), &pieces).Host(memory[i])
                         : nothing);
  }
  WEFT_RETURN_IF_ERROR(kernel_->Run(host));
  for (const Staged& piece : pieces) {
    if (!piece.written) continue;
    WEFT_RETURN_IF_ERROR(device_.CopyIn(piece.begin, piece.copy->data(), piece.bytes));
  }
  return absl::OkStatus();
}

}  // namespace weft::plugin
