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

struct Sums {
  Vec half[kHalves];
};

inline void AddPair(__m512i a, __m512i b, const __m512i* weights, Sums* sums) {
  sums->half[0] = AddPairs(sums->half[0], _mm512_unpacklo_epi16(a, b), weights[0]);
  sums->half[1] = AddPairs(sums->half[1], _mm512_unpackhi_epi16(a, b), weights[1]);
}

struct Clamp {
  Vec least, most;
};

inline __mmask32 LanesOf(int64_t channels) {
  return static_cast<__mmask32>((uint64_t{1} << Least(kBf16DepthwiseBlock, channels)) - 1);
}

// Stores without a mask are faster.
inline void StoreLanes(__m512i results, __mmask32 lanes, uint16_t* y) {
  if (lanes == LanesOf(kBf16DepthwiseBlock)) {
    _mm512_storeu_si512(y, results);
  } else if (lanes == LanesOf(kLanes)) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(results));
  } else {
    _mm512_mask_storeu_epi16(y, lanes, results);
  }
}

inline void StoreChannels(Sums sums, const Clamp& clamp, __mmask32 lanes, uint16_t* y) {
#pragma GCC unroll 2
  for (Vec& v : sums.half) v = Clamped(v, clamp.least, clamp.most);
  StoreLanes(NarrowedEights({sums.half[0], sums.half[1]}), lanes, y);
}

class Block {
 public:
  Block(const Bf16DepthwisePanel& panel, int64_t index)
      : p_(panel),
        first_(index * kBf16DepthwiseBlock),
        pairs_((panel.taps + 1) / 2),
        weights_(panel.weights + index * pairs_ * kPairElements),
        bias_{{LoadVec(panel.bias + first_), LoadVec(panel.bias + first_ + kLanes)}},
        clamp_{Splat(panel.least), Splat(panel.most)},
        lanes_(LanesOf(panel.channels - first_)) {}

  void Run() const {
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
  __m512i Load(const uint16_t* tap) const { return _mm512_maskz_loadu_epi16(lanes_, tap + first_); }

  void Store(const Sums& sums, int64_t row) const {
    StoreChannels(sums, clamp_, lanes_, p_.y + row * p_.y_row + first_);
  }

  const Bf16DepthwisePanel& p_;
  const int64_t first_;
  const int64_t pairs_;
  const uint16_t* const weights_;
  const Sums bias_;
  const Clamp clamp_;
  const __mmask32 lanes_;
};

// --- Lines -------------------------------------------------------------------------------

// The points of a column, of which windows side by side share most, are interleaved once: those of
// the first two lines, and that of the third with zeros.
constexpr int kSize = Bf16DepthwiseLine::kSize;
constexpr int kVectorsOfColumn = 2 * kHalves;

struct Column {
  __m512i pairs[kVectorsOfColumn];
};

// A block of channels of a line. Functions have their own copy, which the compiler knows not to be
// written by the results.
struct LineBlock {
  Bf16DepthwiseLine line;
  __mmask32 lanes;

  __m512i Load(int k, int64_t at) const {
    return _mm512_maskz_loadu_epi16(lanes, line.x[k] + at * line.step[k] + line.first);
  }

  Column ColumnAt(int64_t at) const {
    const __m512i none = {};
    if (at < 0 || at >= line.width) return {{none, none, none, none}};
    const __m512i a = Load(0, at), b = Load(1, at), c = Load(2, at);
    return {{_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b),
             _mm512_unpacklo_epi16(c, none), _mm512_unpackhi_epi16(c, none)}};
  }
};

// The results of the block of channels that begins with the first of the line.
template <int kStride>
void RunBlock(const Bf16DepthwiseLine& line) {
  constexpr int kKept = kSize - kStride;  // Columns that the next window reads too.
  const LineBlock block = {line, LanesOf(line.end - line.first)};
  __m512i weights[kSize][kVectorsOfColumn];
  const uint16_t* from = line.weights + line.first * kSize * 4;
#pragma GCC unroll 3
  for (int k = 0; k < kSize; ++k) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectorsOfColumn; ++j, from += kBf16DepthwiseBlock) {
      weights[k][j] = _mm512_loadu_si512(from);
    }
  }
  const Sums bias = {{LoadVec(line.bias + line.first), LoadVec(line.bias + line.first + kLanes)}};
  const Clamp clamp = {Splat(line.least), Splat(line.most)};
  const int64_t results = line.results;
  const int64_t y_row = line.y_row;
  uint16_t* y = line.y + line.first;
  int64_t next = -line.before;  // The point of the next column.
  Column columns[kSize];
#pragma GCC unroll 3
  for (int k = 0; k < kKept; ++k) columns[k] = block.ColumnAt(next++);
  for (int64_t i = 0; i < results; ++i, y += y_row) {
#pragma GCC unroll 3
    for (int k = kKept; k < kSize; ++k) columns[k] = block.ColumnAt(next++);
    Sums sums = bias;
#pragma GCC unroll 3
    for (int k = 0; k < kSize; ++k) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectorsOfColumn; ++j) {
        Vec& sum = sums.half[j % kHalves];
        sum = AddPairs(sum, columns[k].pairs[j], weights[k][j]);
      }
    }
    StoreChannels(sums, clamp, block.lanes, y);
#pragma GCC unroll 3
    for (int k = 0; k < kKept; ++k) columns[k] = columns[k + kStride];
  }
}

void RunLine(const Bf16DepthwiseLine& line) {
  Bf16DepthwiseLine part = line;
  for (; part.first < part.end; part.first += kBf16DepthwiseBlock) {
    line.stride == 1 ? RunBlock<1>(part) : RunBlock<2>(part);
  }
}

// --- All windows -------------------------------------------------------------------------

void FindPointers(const Bf16DepthwisePanel& p) {
  for (int64_t i = 0; i < p.rows * p.taps; ++i) {
    p.pointers[i] = p.offsets[i] < 0 ? p.zeros : p.x + p.offsets[i];
  }
}

void Run(const Bf16DepthwisePanel& p) {
  FindPointers(p);
  for (int64_t b = 0; b * kBf16DepthwiseBlock < p.channels; ++b) Block(p, b).Run();
}

// Integers without a sign that are ordered as numbers are; NaNs are the largest, -infinity is 0.
constexpr int16_t kKeyOfLowest = static_cast<int16_t>(0x807f);
inline __m512i FlipNegative(__m512i bits) {
  const __m512i signs = _mm512_srai_epi16(bits, 15);
  return _mm512_xor_si512(bits, _mm512_and_si512(signs, _mm512_set1_epi16(0x7fff)));
}
inline __m512i KeysOf(__m512i numbers) {
  return _mm512_sub_epi16(FlipNegative(numbers), _mm512_set1_epi16(kKeyOfLowest));
}
inline __m512i NumbersOf(__m512i keys) {
  return FlipNegative(_mm512_add_epi16(keys, _mm512_set1_epi16(kKeyOfLowest)));
}

void RunMaximum(const Bf16DepthwisePanel& p) {
  FindPointers(p);
  for (int64_t row = 0; row < p.rows; ++row) {
    const uint16_t* const* taps = p.pointers + row * p.taps;
    for (int64_t c = 0; c < p.channels; c += kBf16DepthwiseBlock) {
      const __mmask32 lanes = LanesOf(p.channels - c);
      __m512i top = {};
      for (int64_t t = 0; t < p.taps; ++t) {
        top = _mm512_max_epu16(top, KeysOf(_mm512_maskz_loadu_epi16(lanes, taps[t] + c)));
      }
      StoreLanes(NumbersOf(top), lanes, p.y + row * p.y_row + c);
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
  static const Bf16DepthwiseTable table = {Run, RunLine, RunMaximum, Pack, PackBias};
  return table;
}

}  // namespace weft::cpu
