#include "backends/cuda/device/index_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft::cuda {

absl::StatusOr<const char*> IndexFlags::Find(const std::string& label) {
  if (flags_ == nullptr) {
    constexpr int64_t kBytes = kMax * sizeof(int32_t);
    constexpr auto kCategory = profiler::MemoryCategory::kTemporary;
    if (copy_ == nullptr) copy_ = device_.AllocateHost(kBytes, kCategory);
    if (copy_ == nullptr) return absl::ResourceExhaustedError("no memory for flags");
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> flags, device_.Allocate(kBytes, kCategory));
    WEFT_RETURN_IF_ERROR(device_.Fill(flags->data(), 0, kBytes));
    flags_ = std::move(flags);
  }
  // Code is made again for each assignment of the sizes; a step keeps its flag.
  const auto known = std::find(labels_.begin(), labels_.end(), label);
  size_t flag = static_cast<size_t>(known - labels_.begin());
  if (known == labels_.end()) {
    flag = std::min(flag, kMax - 1);
    if (flag == labels_.size()) labels_.push_back(label);
  }
  return flags_->data() + flag * sizeof(int32_t);
}

absl::Status IndexFlags::Submit() {
  const auto bytes = static_cast<int64_t>(labels_.size() * sizeof(int32_t));
  if (bytes == 0) return absl::OkStatus();
  return device_.CopyOutLater(copy_->data(), flags_->data(), bytes);
}

absl::Status IndexFlags::Check() {
  if (empty()) return absl::OkStatus();
  const auto* const flags = reinterpret_cast<const int32_t*>(copy_->data());
  const auto* const end = flags + labels_.size();
  const auto* const set = std::find_if(flags, end, [](int32_t f) { return f != 0; });
  if (set == end) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(Clear());
  return absl::OutOfRangeError(absl::StrCat(labels_[set - flags], ": an index is out of bounds"));
}

absl::Status IndexFlags::Clear() {
  if (flags_ != nullptr) WEFT_RETURN_IF_ERROR(device_.Fill(flags_->data(), 0, flags_->size()));
  return device_.Wait();
}

}  // namespace weft::cuda
