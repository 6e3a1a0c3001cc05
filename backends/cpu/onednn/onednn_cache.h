// A cache of primitive descriptors by what they are made from. Making one searches implementations
// and blockings, and a network has many equal layers; oneDNN's own cache has only primitives.
#ifndef WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_CACHE_H_
#define WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_CACHE_H_

#include <omp.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "backends/cpu/onednn/onednn_internal.h"

namespace weft::cpu {

// Everything that determines a descriptor, as bytes.
class DnnKey {
 public:
  DnnKey() { Add(omp_get_max_threads()); }
  DnnKey& Add(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  DnnKey& Add(const std::vector<int64_t>& values) {
    Add(static_cast<int64_t>(values.size()));
    for (int64_t v : values) Add(v);
    return *this;
  }
  // The description must be zero in its unused bytes.
  DnnKey& Add(const DnnDesc& desc) {
    bytes_.append(reinterpret_cast<const char*>(&desc.data), sizeof desc.data);
    return *this;
  }
  DnnKey& Add(const DnnPostOp& op) {
    const float numbers[] = {op.alpha, op.beta};
    bytes_.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
    Add(static_cast<int64_t>(op.function)).Add(static_cast<int64_t>(op.operand.dtype));
    return Add(op.operand.dims).Add(op.operand.strides);
  }
  DnnKey& Add(const std::vector<DnnPostOp>& ops) {
    for (const DnnPostOp& op : ops) Add(op);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// One cache per process. `make` may throw; failures are not cached.
template <typename PD, typename Fn>
PD CachedDescriptor(const DnnKey& key, Fn make) {
  constexpr size_t kMost = 4096;
  static absl::Mutex& mutex = *new absl::Mutex;
  static auto& made = *new absl::flat_hash_map<std::string, PD>;
  {
    absl::MutexLock lock(&mutex);
    const auto it = made.find(key.bytes());
    if (it != made.end()) return it->second;
  }
  PD pd = make();
  absl::MutexLock lock(&mutex);
  if (made.size() >= kMost) made.clear();
  made.emplace(key.bytes(), pd);
  return pd;
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_CACHE_H_
