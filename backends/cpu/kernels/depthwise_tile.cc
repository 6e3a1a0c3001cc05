// Depthwise convolutions of bytes; compiled once for each instruction set.
#include "backends/cpu/kernels/depthwise_tile.h"

#include "backends/cpu/kernels/integer_finish_row.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int64_t kBlock = 2 * kLanes;
constexpr int kUsualTaps = 9;
// Elements of a vector of weights: two taps for each of kLanes channels.
constexpr int64_t kPairs = 2 * kLanes;

#if defined(__AVX512F__)
using Words = __m512i;
template <bool kSigned>
inline Words Widen(const uint8_t* from) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return kSigned ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}
inline Words LoadWords(const int16_t* from) { return _mm512_loadu_si512(from); }
inline Words LowPairs(Words a, Words b) { return _mm512_unpacklo_epi16(a, b); }
inline Words HighPairs(Words a, Words b) { return _mm512_unpackhi_epi16(a, b); }
inline Words AddPairs(Words sum, Words x, Words w) {
#if defined(__AVX512VNNI__)
  return _mm512_dpwssd_epi32(sum, x, w);
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
#endif
}
#else
using Words = __m256i;
template <bool kSigned>
inline Words Widen(const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}
inline Words LoadWords(const int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline Words LowPairs(Words a, Words b) { return _mm256_unpacklo_epi16(a, b); }
inline Words HighPairs(Words a, Words b) { return _mm256_unpackhi_epi16(a, b); }
inline Words AddPairs(Words sum, Words x, Words w) {
#if defined(__AVXVNNI__)
  return _mm256_dpwssd_avx_epi32(sum, x, w);
#else
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
#endif
}
#endif

// The first channel of the block that is the next at `channel`.
constexpr int64_t BlockAt(int64_t channel, int64_t channels) {
  return channel + kBlock <= channels || channels < kBlock ? channel : channels - kBlock;
}

// The channel of lane `lane` of vector `half`: pairs are made within 128 bits.
constexpr int64_t ChannelOf(int64_t half, int64_t lane) {
  return lane / 4 * 8 + half * 4 + lane % 4;
}

// Indices into two such vectors that bring channels [first, first + kLanes) into order.
inline Ints InOrder(int first) {
  Ints from;
  for (int k = 0; k < kLanes; ++k) {
    const int channel = first + k;
    from[k] = channel / 4 % 2 * kLanes + channel / 8 * 4 + channel % 4;
  }
  return from;
}

// `kWhole`: all bytes of the block can be read; otherwise `left` of them.
template <bool kSigned, bool kWhole>
inline Words LoadTap(const uint8_t* from, int64_t left) {
  if (kWhole) return Widen<kSigned>(from);
  alignas(64) uint8_t whole[kBlock] = {};
  __builtin_memcpy(whole, from, left);
  return Widen<kSigned>(whole);
}

// kTaps: how many there are, if that is known.
template <bool kSigned, bool kWhole, int kTaps = 0>
inline void SumBlock(const DepthwisePanel& p, int64_t channel, const int16_t* weights,
                     int32_t* sums) {
  const int64_t left = p.channels - channel;
  const int64_t taps = kTaps > 0 ? kTaps : p.taps;
  Words low = {};
  Words high = {};
  for (int64_t t = 0; t < taps; t += 2) {
    const Words a = LoadTap<kSigned, kWhole>(p.pointers[t] + channel, left);
    const Words b = LoadTap<kSigned, kWhole>(p.pointers[t + 1] + channel, left);
    low = AddPairs(low, LowPairs(a, b), LoadWords(weights));
    high = AddPairs(high, HighPairs(a, b), LoadWords(weights + kPairs));
    weights += 2 * kPairs;
  }
  for (int v = 0; v < 2; ++v) {
    Ints start;
    __builtin_memcpy(&start, p.start + channel + v * kLanes, sizeof start);
    const Ints sum = __builtin_shuffle((Ints)low, (Ints)high, InOrder(v * kLanes)) + start;
    __builtin_memcpy(sums + channel + v * kLanes, &sum, sizeof sum);
  }
}

template <bool kSigned, int kTaps = 0>
inline void SumRow(const DepthwisePanel& p, int32_t* sums) {
  const int64_t block_weights = (p.taps + 1) / 2 * 2 * kPairs;
  const int16_t* weights = p.weights;
  if (p.channels < kBlock) return SumBlock<kSigned, false>(p, 0, weights, sums);
  for (int64_t channel = 0; channel < p.channels; channel += kBlock) {
    SumBlock<kSigned, true, kTaps>(p, BlockAt(channel, p.channels), weights, sums);
    weights += block_weights;
  }
}

void FindTaps(const DepthwisePanel& p, int64_t row) {
  for (int64_t t = 0; t < p.taps; ++t) {
    const int64_t offset = p.offsets[row * p.taps + t];
    p.pointers[t] = offset < 0 ? p.padding : p.x + offset;
  }
  // With a weight of 0.
  if (p.taps % 2 != 0) p.pointers[p.taps] = p.padding;
}

void Run(const DepthwisePanel& p) {
  const FinishFn finish = FindFinish(p.finish);
  FinishRows done;
  done.sums = p.sums;
  done.sums_row = Up(p.channels, kBlock);
  done.columns = p.channels;
  done.addend = static_cast<const uint8_t*>(p.finish.addend);
  done.addend_row = p.y_row * BytesOf(p.finish.addend_kind);
  done.to = static_cast<uint8_t*>(p.y);
  done.to_row = p.y_row * BytesOf(p.finish.result);
  for (int64_t row = 0; row < p.rows; row += done.rows) {
    done.rows = Least(kDepthwiseRows, p.rows - row);
    for (int64_t i = 0; i < done.rows; ++i) {
      FindTaps(p, row + i);
      int32_t* sums = p.sums + i * done.sums_row;
      if (p.is_signed) {
        SumRow<true>(p, sums);
      } else if (p.taps == kUsualTaps) {
        SumRow<false, kUsualTaps>(p, sums);
      } else {
        SumRow<false>(p, sums);
      }
    }
    finish(p.finish, done);
    done.addend += done.rows * done.addend_row;
    done.to += done.rows * done.to_row;
  }
}

void Pack(const DepthwisePack& pack) {
  int16_t* to = pack.to;
  for (int64_t block = 0; block < pack.channels; block += kBlock) {
    for (int64_t t = 0; t < pack.taps; t += 2) {
      for (int64_t at = 0; at < 2 * kPairs; ++at) {
        const int64_t channel =
            BlockAt(block, pack.channels) + ChannelOf(at / kPairs, at % kPairs / 2);
        const int64_t tap = t + at % 2;
        const bool is_there = channel < pack.channels && tap < pack.taps;
        *to++ = is_there ? pack.from[tap * pack.channels + channel] : int16_t{0};
      }
    }
  }
}

}  // namespace

const DepthwiseTable& TheDepthwise() {
  static const DepthwiseTable table = {Run, Pack, kBlock};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512VNNI__)
const DepthwiseTable& Avx512VnniDepthwise() { return avx512_vnni::TheDepthwise(); }
#elif defined(__AVX512F__)
const DepthwiseTable& Avx512Depthwise() { return avx512::TheDepthwise(); }
#elif defined(__AVXVNNI__)
const DepthwiseTable& Avx2VnniDepthwise() { return avx2_vnni::TheDepthwise(); }
#else
const DepthwiseTable& Avx2Depthwise() { return avx2::TheDepthwise(); }
#endif

}  // namespace weft::cpu
