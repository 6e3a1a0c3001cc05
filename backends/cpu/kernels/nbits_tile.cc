// Products of f32 rows with weights of 4 or 8 bits; compiled once for each instruction set.
//
// Lanes are columns. A number of kBits bits becomes a float without a shift and without a
// conversion: its bits are put into the mantissa of a power of two that is large enough, from which
// the same power of two plus the zero point is subtracted, both without rounding.
#include "backends/cpu/kernels/nbits_tile.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES / 4)));

// Numbers of half a word, which are all within a mantissa.
template <int kBits>
constexpr int kHalf = 16 / kBits;
template <int kBits>
constexpr int kPerWord = 32 / kBits;

// The bits of number i of half a word, and those of 2^23 / 2^(kBits i), of which they count the
// units.
template <int kBits>
inline Ints MaskOf(int i) {
  return Ints{} + (((1 << kBits) - 1) << (kBits * i));
}
template <int kBits>
inline Ints PowerOf(int i) {
  return Ints{} + ((127 + 23 - kBits * i) << 23);
}

// One group of a block.
struct Group {
  const uint8_t* zeros = nullptr;
  const float* scales = nullptr;
  const uint8_t* words = nullptr;
};

inline Ints LoadWord(const uint8_t* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

// The zero points as `Number` subtracts them.
template <int kBits>
struct Zeros {
  explicit Zeros(const uint8_t* from) {
    Bytes bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    const Ints wide = __builtin_convertvector(bytes, Ints);
    for (int i = 0; i < kHalf<kBits>; ++i) {
      at[i] = (Vec)(PowerOf<kBits>(i) | (wide << (kBits * i)));
    }
  }
  Vec at[kHalf<kBits>];
};

// Number i of the low half of each word, less the zero point.
template <int kBits>
inline Vec Number(Ints words, int i, const Zeros<kBits>& zeros) {
  return (Vec)((words & MaskOf<kBits>(i)) | PowerOf<kBits>(i)) - zeros.at[i];
}

// The scale of a group, which its numbers or their sums are multiplied by, and what is added.
template <bool kFloats>
struct Scales {
  Scales(const NbitsFormat&, const Group& group) : of_sum(LoadVec(group.scales)) {}
  Vec operator()(Vec number) const { return number; }
  Vec of_sum;
};
template <>
struct Scales<true> {
  Scales(const NbitsFormat& f, const Group& group) {
    const Vec scale = LoadVec(group.scales), zero = LoadVec(group.scales + kLanes);
    const bool adds = f.zeros == NbitsZeros::kOffsets;
    factor = adds ? scale : Splat(1.0f);
    addend = adds ? zero : -zero;
    of_sum = adds ? Splat(1.0f) : scale;
  }
  Vec operator()(Vec number) const { return Fma(number, factor, addend); }
  Vec factor, addend, of_sum;
};

// Walks over the groups of a block.
class Groups {
 public:
  Groups(const NbitsFormat& f, const uint8_t* block)
      : group_bytes_((f.heads + f.words) * kLanes * 4), zero_step_(f.zero_step) {
    group_.zeros = block;
    group_.scales = reinterpret_cast<const float*>(block + f.zero_bytes);
    group_.words = block + f.zero_bytes + f.heads * kLanes * 4;
  }
  Group At(int64_t g) const {
    Group group = group_;
    group.zeros += g * zero_step_;
    group.scales += g * (group_bytes_ / 4);
    group.words += g * group_bytes_;
    return group;
  }

 private:
  const int64_t group_bytes_;
  const int64_t zero_step_;
  Group group_;
};

// --- A few rows ----------------------------------------------------------------------

// Sums of a row that are independent of one another, so that a sum does not wait for the last one.
template <int kBits, int kRows>
constexpr int kChains = kRows == 1 ? 4 : 2;

constexpr int64_t kAhead = 3584;  // Bytes between a word that is read and the one prefetched.

// The sums of one group, before the scale of sums.
template <int kBits, int kRows, bool kFloats>
inline void SumGroup(const Group& group, const Scales<kFloats>& scales, int64_t words,
                     const float* x, int64_t x_row, Vec (&sums)[kRows]) {
  constexpr int chains = kChains<kBits, kRows>;
  const Zeros<kBits> zeros(group.zeros);
  Vec acc[kRows][chains] = {};
  const uint8_t* from = group.words;
  for (int64_t w = 0; w < words; ++w) {
    __builtin_prefetch(from + kAhead);
    Ints word = LoadWord(from);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < kHalf<kBits>; ++i) {
        const Vec number = scales(Number<kBits>(word, i, zeros));
        const int k = half * kHalf<kBits> + i;
        for (int r = 0; r < kRows; ++r) {
          acc[r][k % chains] = Fma(Splat(x[r * x_row + k]), number, acc[r][k % chains]);
        }
      }
      word = word >> 16;
    }
    from += kLanes * 4;
    x += kPerWord<kBits>;
  }
  for (int r = 0; r < kRows; ++r) {
    sums[r] = acc[r][0] + acc[r][1];
    if constexpr (chains == 4) sums[r] = sums[r] + (acc[r][2] + acc[r][3]);
  }
}

template <int kBits, int kRows, bool kFloats>
void RunBlock(const NbitsFormat& f, const NbitsRows& p, const uint8_t* block, int64_t column) {
  constexpr int64_t per = kPerWord<kBits>;
  const Groups groups(f, block);
  Vec total[kRows];
  for (int r = 0; r < kRows; ++r) total[r] = p.bias == nullptr ? Vec{} : LoadVec(p.bias + column);
  for (int64_t g = 0; g < f.groups; ++g) {
    const Group group = groups.At(g);
    const int64_t weights = Least(f.group, f.depth - g * f.group);
    Vec sums[kRows];
    const Scales<kFloats> scales(f, group);
    SumGroup<kBits, kRows, kFloats>(group, scales, (weights + per - 1) / per, p.x + g * p.x_group,
                                    p.x_row, sums);
    for (int r = 0; r < kRows; ++r) total[r] = Fma(sums[r], scales.of_sum, total[r]);
  }
  const int64_t columns = Least(kLanes, p.columns - column);
  for (int r = 0; r < kRows; ++r) {
    __builtin_memcpy(p.y + r * p.y_row + column, &total[r], columns * sizeof(float));
  }
}

// The same for one row and two neighbouring blocks, which share its elements.
template <int kBits, bool kFloats>
void RunTwoBlocks(const NbitsFormat& f, const NbitsRows& p, const uint8_t* block, int64_t column) {
  constexpr int kBlocks = 2;
  constexpr int kParts = 2;  // Sums of a block that are independent of one another.
  constexpr int64_t per = kPerWord<kBits>;
  const Groups groups[kBlocks] = {{f, block}, {f, block + f.block_bytes}};
  Vec total[kBlocks];
  for (int b = 0; b < kBlocks; ++b) {
    total[b] = p.bias == nullptr ? Vec{} : LoadVec(p.bias + column + b * kLanes);
  }
  Zeros<kBits> zeros[kBlocks] = {Zeros<kBits>(groups[0].At(0).zeros),
                                 Zeros<kBits>(groups[1].At(0).zeros)};
  for (int64_t g = 0; g < f.groups; ++g) {
    const Group group[kBlocks] = {groups[0].At(g), groups[1].At(g)};
    const int64_t words = (Least(f.group, f.depth - g * f.group) + per - 1) / per;
    if (f.zero_step != 0) {
      for (int b = 0; b < kBlocks; ++b) zeros[b] = Zeros<kBits>(group[b].zeros);
    }
    const Scales<kFloats> scales[kBlocks] = {{f, group[0]}, {f, group[1]}};
    Vec acc[kBlocks][kParts] = {};
    const float* x = p.x + g * p.x_group;
    for (int64_t w = 0; w < words; ++w, x += per) {
      Ints word[kBlocks];
      for (int b = 0; b < kBlocks; ++b) {
        const uint8_t* const from = group[b].words + w * kLanes * 4;
        __builtin_prefetch(from + kAhead);
        word[b] = LoadWord(from);
      }
      for (int k = 0; k < per; ++k) {
        const Vec with = Splat(x[k]);
        for (int b = 0; b < kBlocks; ++b) {
          if (k == kHalf<kBits>) word[b] = word[b] >> 16;
          const Vec number = scales[b](Number<kBits>(word[b], k % kHalf<kBits>, zeros[b]));
          acc[b][k % kParts] = Fma(with, number, acc[b][k % kParts]);
        }
      }
    }
    for (int b = 0; b < kBlocks; ++b) {
      total[b] = Fma(acc[b][0] + acc[b][1], scales[b].of_sum, total[b]);
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t columns = Least(kLanes, p.columns - column - b * kLanes);
    __builtin_memcpy(p.y + column + b * kLanes, &total[b], columns * sizeof(float));
  }
}

template <int kBits, int kRows, bool kFloats>
void RunBlocks(const NbitsFormat& f, const NbitsRows& p) {
  const uint8_t* block = p.block;
  int64_t column = 0;
  if constexpr (kRows == 1) {
    for (; column + kLanes < p.columns; column += 2 * kLanes, block += 2 * f.block_bytes) {
      RunTwoBlocks<kBits, kFloats>(f, p, block, column);
    }
  }
  for (; column < p.columns; column += kLanes) {
    RunBlock<kBits, kRows, kFloats>(f, p, block, column);
    block += f.block_bytes;
  }
}

template <int kBits>
void RunBits(const NbitsFormat& f, const NbitsRows& p) {
  if (f.zeros != NbitsZeros::kNumbers) return RunBlocks<kBits, 1, true>(f, p);
  switch (p.rows) {
    case 1:
      return RunBlocks<kBits, 1, false>(f, p);
    case 2:
      return RunBlocks<kBits, 2, false>(f, p);
    case 3:
      return RunBlocks<kBits, 3, false>(f, p);
    default:
      return RunBlocks<kBits, 4, false>(f, p);
  }
}

void Run(const NbitsFormat& f, const NbitsRows& p) {
  return f.bits == 4 ? RunBits<4>(f, p) : RunBits<8>(f, p);
}

// --- Many rows -----------------------------------------------------------------------

// Weights of one group: `count` of them from the first one of `words` on.
template <int kBits, bool kFloats>
void UnpackGroup(const Group& group, const Scales<kFloats>& scales, const uint8_t* words,
                 int64_t count, int64_t width, float* out) {
  constexpr int64_t per = kPerWord<kBits>;
  const Zeros<kBits> zeros(group.zeros);
  for (; count > 0; count -= per) {
    Ints word = LoadWord(words);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < kHalf<kBits>; ++i) {
        const int k = half * kHalf<kBits> + i;
        const Vec number = scales(Number<kBits>(word, i, zeros));
        if (k < count) StoreVec(out + k * width, number * scales.of_sum);
      }
      word = word >> 16;
    }
    words += kLanes * 4;
    out += per * width;
  }
}

template <int kBits, bool kFloats>
void UnpackBits(const NbitsFormat& f, const NbitsUnpack& u) {
  const int64_t width = u.vectors * kLanes;
  for (int v = 0; v < u.vectors; ++v) {
    const Groups groups(f, u.block + v * f.block_bytes);
    for (int64_t k = u.from; k < u.to;) {
      const int64_t inside = k % f.group;
      const int64_t count = Least(f.group - inside, u.to - k);
      const Group group = groups.At(k / f.group);
      UnpackGroup<kBits>(group, Scales<kFloats>(f, group),
                         group.words + inside / kPerWord<kBits> * kLanes * 4, count, width,
                         u.out + (k - u.from) * width + v * kLanes);
      k += count;
    }
  }
}

void Unpack(const NbitsFormat& f, const NbitsUnpack& u) {
  if (f.zeros == NbitsZeros::kNumbers) {
    return f.bits == 4 ? UnpackBits<4, false>(f, u) : UnpackBits<8, false>(f, u);
  }
  return f.bits == 4 ? UnpackBits<4, true>(f, u) : UnpackBits<8, true>(f, u);
}

}  // namespace

const NbitsTable& TheNbits() {
  static const NbitsTable table = {Run, Unpack, kLanes};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const NbitsTable& Avx512Nbits() { return avx512::TheNbits(); }
#else
const NbitsTable& Avx2Nbits() { return avx2::TheNbits(); }
#endif

}  // namespace weft::cpu
