#include "backends/cuda/device/prepared_launch.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"

namespace weft::cuda {

void PreparedLaunch::BeginStruct() {
  AddWords(0);
  in_struct_ = true;
}

void PreparedLaunch::AddWords(size_t count) {
  if (!in_struct_) {
    begins_.push_back(words_.size());
    parameters_.push_back(nullptr);
  }
  words_.resize(words_.size() + count);
}

void PreparedLaunch::AddOperand(int operand, int64_t begin, const Extent& extent) {
  AddWords(1);
  operands_.emplace_back();
  if (operand < 0) return;
  pointers_.push_back({operand, begin, extent, words_.size() - 1, operands_.size() - 1});
}

void PreparedLaunch::AddScratch(int64_t bytes, int64_t begin) {
  AddWords(1);
  operands_.emplace_back();
  pointers_.push_back(
      {kScratch, begin, {-begin, begin + bytes}, words_.size() - 1, operands_.size() - 1});
}

void PreparedLaunch::AddFixed(const char* address, int64_t bytes) {
  AddValue(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
  operands_.push_back(RangeOf(address, {0, bytes}));
}

void PreparedLaunch::AddValue(int64_t value) {
  AddWords(1);
  words_.back() = static_cast<uint64_t>(value);
}

void PreparedLaunch::AddStruct(absl::string_view bytes) {
  const size_t first = words_.size();
  AddWords((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(&words_[first], bytes.data(), bytes.size());
}

bool PreparedLaunch::TakesScratch(int64_t begin, int64_t bytes) const {
  return std::any_of(pointers_.begin(), pointers_.end(), [&](const Pointer& p) {
    return p.operand == kScratch && p.begin < begin + bytes && begin < p.extent.after;
  });
}

absl::Status PreparedLaunch::Submit(CudaDevice& device, const LaunchMemory& memory,
                                    const std::string& label) {
  for (const Pointer& pointer : pointers_) {
    const bool scratch = pointer.operand == kScratch;
    const auto* first =
        scratch ? memory.scratch : static_cast<const char*>(memory.all[pointer.operand]);
    const bool written = scratch || static_cast<size_t>(pointer.operand) >= memory.args.size();
    const char* const address = first == nullptr ? nullptr : first + pointer.begin;
    words_[pointer.word] = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
    operands_[pointer.range] = RangeOf(first, pointer.extent, written);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i] = &words_[begins_[i]];
  return device.Launch(function_, shape_, absl::MakeSpan(parameters_), operands_, label);
}

}  // namespace weft::cuda
