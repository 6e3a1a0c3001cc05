#include "examples/models/weights.h"

#include <vector>

#include "base/hash.h"
#include "graph/tensor/tensor.h"

namespace weft::models {
namespace {

// Steele, Lea and Flood's SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += kGoldenRatio64;
    return MixBits(state_);
  }

 private:
  uint64_t state_;
};

// A signed number of 24 bits: exact as a float.
int32_t Signed24(uint32_t bits) { return static_cast<int32_t>(bits) >> 8; }

// Uniform around 0. The multiplication rounds once, and no addition could be contracted with it.
void FillSymmetric(float bound, Random random, float* out, int64_t n) {
  const float scale = bound / (1 << 23);
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const uint64_t bits = random.Next();
    out[i] = static_cast<float>(Signed24(static_cast<uint32_t>(bits))) * scale;
    out[i + 1] = static_cast<float>(Signed24(static_cast<uint32_t>(bits >> 32))) * scale;
  }
  if (i < n) {
    const auto bits = static_cast<uint32_t>(random.Next());
    out[i] = static_cast<float>(Signed24(bits)) * scale;
  }
}

}  // namespace

uint64_t SeedOf(uint64_t seed, absl::string_view name) {
  return Random(Fnv1a(name, kFnv1aBasis ^ seed)).Next();
}

HostTensor UniformTensor(absl::Span<const int64_t> dims, double low, double high, uint64_t seed) {
  HostTensor tensor(DType::kF32, dims);
  float* out = tensor.data<float>();
  Random random(seed);
  if (low == -high) {
    FillSymmetric(static_cast<float>(high), random, out, tensor.numel());
    return tensor;
  }
  // 24 bits times the bits of a float: exact in double.
  const auto width = static_cast<double>(static_cast<float>(high - low));
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double unit = static_cast<double>(random.Next() >> 40) / (1 << 24);
    out[i] = static_cast<float>(low + width * unit);
  }
  return tensor;
}

HostTensor IntegerTensor(DType dtype, absl::Span<const int64_t> dims, int64_t low, int64_t high,
                         uint64_t seed) {
  HostTensor tensor(dtype, dims);
  Random random(seed);
  std::vector<int64_t> values(tensor.numel());
  const auto count = static_cast<uint64_t>(high - low);
  for (int64_t& value : values) {
    value = low + static_cast<int64_t>(random.Next() % count);
  }
  tensor.WriteInts(values);
  return tensor;
}

}  // namespace weft::models
