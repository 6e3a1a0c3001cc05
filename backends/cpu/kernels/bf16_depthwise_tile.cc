// Depthwise convolutions of bf16: the elements of two taps are interleaved within eights of
// channels, and multiplied by weights that are interleaved in the same way.
#include "backends/cpu/kernels/bf16_depthwise_tile.h"

#include "backends/cpu/kernels/bf16_vectors.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int64_t kPairElements = 2 * kBf16DepthwiseBlock;  // Weights of a pair of taps.
constexpr int kHalves = 2;

// Channel of the block whose sum is lane `lane` of the first or the second vector.
constexpr int64_t ChannelOf(int half, int64_t lane) { return lane / 4 * 8 + half * 4 + lane % 4; }

// The pairs of a window of three by three, whose weights stay in registers.
constexpr int kUsualPairs = 5;

struct Sums {
  Vec half[kHalves];
};

inline void AddPair(__m512i a, __m512i b, const __m512i* weights, Sums* sums) {
  sums->half[0] = AddPairs(sums->half[0], _mm512_unpacklo_epi16(a, b), weights[0]);
  sums->half[1] = AddPairs(sums->half[1], _mm512_unpackhi_epi16(a, b), weights[1]);
}

class Block {
 public:
  Block(const Bf16DepthwisePanel& panel, int64_t index)
      : p_(panel),
        first_(index * kBf16DepthwiseBlock),
        pairs_((panel.taps + 1) / 2),
        weights_(panel.weights + index * pairs_ * kPairElements),
        bias_{{LoadVec(panel.bias + first_), LoadVec(panel.bias + first_ + kLanes)}},
        least_(Splat(panel.least)),
        most_(Splat(panel.most)) {
    const int64_t channels = Least(kBf16DepthwiseBlock, panel.channels - first_);
    lanes_ = static_cast<__mmask32>((uint64_t{1} << channels) - 1);
  }

  void Run() const {
    if (p_.taps == 2 * kUsualPairs - 1) return RunUsual();
    const auto* weights = reinterpret_cast<const __m512i*>(weights_);
    for (int64_t row = 0; row < p_.rows; ++row) {
      const uint16_t* const* taps = p_.pointers + row * p_.taps;
      Sums sums = bias_;
      for (int64_t k = 0; k < pairs_; ++k) {
        const bool both = 2 * k + 1 < p_.taps;
        const __m512i pair[] = {_mm512_loadu_si512(weights + 2 * k),
                                _mm512_loadu_si512(weights + 2 * k + 1)};
        AddPair(Load(taps[2 * k]), both ? Load(taps[2 * k + 1]) : __m512i{}, pair, &sums);
      }
      Store(sums, row);
    }
  }

 private:
  void RunUsual() const {
    __m512i weights[2 * kUsualPairs];
#pragma GCC unroll 10
    for (int k = 0; k < 2 * kUsualPairs; ++k) {
      weights[k] = _mm512_loadu_si512(weights_ + k * kBf16DepthwiseBlock);
    }
    constexpr int kTaps = 2 * kUsualPairs - 1;
    for (int64_t row = 0; row < p_.rows; ++row) {
      const uint16_t* const* taps = p_.pointers + row * kTaps;
      Sums sums = bias_;
#pragma GCC unroll 5
      for (int k = 0; k < kUsualPairs; ++k) {
        const bool both = k + 1 < kUsualPairs;
        AddPair(Load(taps[2 * k]), both ? Load(taps[2 * k + 1]) : __m512i{}, weights + 2 * k,
                &sums);
      }
      Store(sums, row);
    }
  }

  __m512i Load(const uint16_t* tap) const { return _mm512_maskz_loadu_epi16(lanes_, tap + first_); }

  void Store(Sums sums, int64_t row) const {
#pragma GCC unroll 2
    for (Vec& v : sums.half) v = Clamped(v, least_, most_);
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh((__m512)sums.half[1], (__m512)sums.half[0]);
    const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i results = _mm512_maskz_permutexvar_epi64(0xff, order, halves);
    uint16_t* const y = p_.y + row * p_.y_row + first_;
    // A store without a mask is faster.
    if (lanes_ == 0xffffffff) {
      _mm512_storeu_si512(y, results);
    } else {
      _mm512_mask_storeu_epi16(y, lanes_, results);
    }
  }

  const Bf16DepthwisePanel& p_;
  const int64_t first_;
  const int64_t pairs_;
  const uint16_t* const weights_;
  const Sums bias_;
  const Vec least_;
  const Vec most_;
  __mmask32 lanes_ = 0;
};

void FindPointers(const Bf16DepthwisePanel& p) {
  for (int64_t i = 0; i < p.rows * p.taps; ++i) {
    p.pointers[i] = p.offsets[i] < 0 ? p.zeros : p.x + p.offsets[i];
  }
}

void Run(const Bf16DepthwisePanel& p) {
  FindPointers(p);
  for (int64_t b = 0; b * kBf16DepthwiseBlock < p.channels; ++b) Block(p, b).Run();
}

void RunMaximum(const Bf16DepthwisePanel& p) {
  FindPointers(p);
  for (int64_t row = 0; row < p.rows; ++row) {
    const uint16_t* const* taps = p.pointers + row * p.taps;
    for (int64_t c = 0; c < p.channels; c += kLanes) {
      const __mmask16 lanes = FirstLanes(p.channels - c);
      const auto load = [&](int64_t t) {
        return Widened(_mm256_maskz_loadu_epi16(lanes, taps[t] + c));
      };
      Vec top = load(0);
      for (int64_t t = 1; t < p.taps; ++t) {
        const Vec v = load(t);
        top = (v > top) | (v != v) ? v : top;
      }
      _mm256_mask_storeu_epi16(p.y + row * p.y_row + c, lanes, Narrowed(top));
    }
  }
}

void Pack(const Bf16DepthwisePack& p) {
  uint16_t* to = p.to;
  for (int64_t first = 0; first < p.channels; first += kBf16DepthwiseBlock) {
    for (int64_t tap = 0; tap < p.taps; tap += 2) {
      for (int64_t i = 0; i < kPairElements; ++i) {
        const int64_t sum = i / 2;
        const int64_t c = first + ChannelOf(static_cast<int>(sum / kLanes), sum % kLanes);
        const int64_t t = tap + i % 2;
        *to++ = c < p.channels && t < p.taps ? p.from[t * p.channels + c] : uint16_t{0};
      }
    }
  }
}

void PackBias(const uint16_t* bias, int64_t channels, float* to) {
  for (int64_t first = 0; first < channels; first += kBf16DepthwiseBlock) {
    for (int64_t sum = 0; sum < kBf16DepthwiseBlock; ++sum) {
      const int64_t c = first + ChannelOf(static_cast<int>(sum / kLanes), sum % kLanes);
      to[first + sum] = c < channels ? BF16ToFloat(bias[c]) : 0.0f;
    }
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA

const Bf16DepthwiseTable& Avx512Bf16Depthwise() {
  using namespace avx512;  // NOLINT: what this file has compiled.
  static const Bf16DepthwiseTable table = {Run, RunMaximum, Pack, PackBias};
  return table;
}

}  // namespace weft::cpu
