#include "graph/ir/constant_store.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"

namespace weft {
namespace {

// Larger tensors are first looked up by a sample of their bytes.
constexpr int64_t kSampledBytes = 1 << 16;

// A hash of a dense tensor's type and of a few bytes spread over its data. Different weights mostly
// differ there. The bytes are few because each may load a page of a file.
size_t SampleHash(const HostTensor& tensor) {
  constexpr int64_t kSamples = 3;
  constexpr int64_t kBytes = 256;
  const int64_t step = (tensor.bytes() - kBytes) / (kSamples - 1);
  std::string sample;
  for (int64_t i = 0; i < kSamples; ++i) {
    sample.append(reinterpret_cast<const char*>(tensor.raw()) + i * step, kBytes);
  }
  return absl::HashOf(sample, static_cast<int>(tensor.dtype()), tensor.dims());
}

}  // namespace

int ConstantStore::Add(HostTensor tensor, absl::string_view name) {
  const auto find = [&](const std::vector<int>& ids) {
    for (int id : ids) {
      if (!entries_[id].tensor.BitEqual(tensor)) continue;
      if (entries_[id].name.empty()) entries_[id].name = std::string(name);
      return id;
    }
    return -1;
  };
  std::vector<int>* same = nullptr;
  if (tensor.valid() && tensor.bytes() > kSampledBytes) {
    same = &by_fingerprint_[SampleHash(tensor.Contiguous())];
    const int id = find(*same);
    if (id >= 0) return id;
    // The sample hash finds only the first tensor with these samples; others are found by all bits.
    if (!same->empty()) same = nullptr;
  }
  if (same == nullptr) {
    same = &by_fingerprint_[tensor.Fingerprint()];
    const int id = find(*same);
    if (id >= 0) return id;
  }
  same->push_back(size());
  entries_.push_back({std::move(tensor), std::string(name)});
  return size() - 1;
}

}  // namespace weft
