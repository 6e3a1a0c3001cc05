// What is known of constant weights by their keys.
#ifndef WEFT_BACKENDS_CPU_ONEDNN_WEIGHT_FACTS_H_
#define WEFT_BACKENDS_CPU_ONEDNN_WEIGHT_FACTS_H_

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/kernels/integer_range.h"

namespace weft::cpu {

class WeightFacts {
 public:
  // DnnWeights::PartKey.
  int64_t PartKey(int64_t key, int64_t at) {
    constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
    const auto next = kFirst + static_cast<int64_t>(part_keys_.size());
    return part_keys_.try_emplace({key, at}, next).first->second;
  }

  // DnnWeights::Range.
  std::pair<int32_t, int32_t> Range(int64_t key, const void* data, int64_t elements) {
    const auto [it, made] = ranges_.try_emplace(key);
    if (made) {
      it->second = {0, 0};
      RangeOfI32(static_cast<const int32_t*>(data), elements, &it->second.first,
                 &it->second.second);
    }
    return it->second;
  }

 private:
  absl::flat_hash_map<int64_t, std::pair<int32_t, int32_t>> ranges_;
  // Keys of parts, distinct from all other keys.
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> part_keys_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_ONEDNN_WEIGHT_FACTS_H_
