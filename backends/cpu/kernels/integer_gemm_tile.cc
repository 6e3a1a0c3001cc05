// Matmuls of u8 rows with packed i8 weights; compiled once for each instruction set.
//
// A block of rows and a panel of columns have their sums in registers while all weights of the
// panel pass, which the next block of rows finds in L1 or L2: bytes are few enough for that.
#include "backends/cpu/kernels/integer_gemm_tile.h"

#include "backends/cpu/kernels/gemm_blocks.h"
#include "backends/cpu/kernels/integer_finish_row.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
using Bytes = __m512i;
inline Bytes LoadBytes(const void* from) { return _mm512_loadu_si512(from); }
inline Bytes SplatGroup(int32_t group) { return _mm512_set1_epi32(group); }
inline Bytes AddProducts(Bytes sum, Bytes x, Bytes w) {
#if defined(__AVX512VNNI__)
  return _mm512_dpbusd_epi32(sum, x, w);
#else
  const Bytes pairs = _mm512_maddubs_epi16(x, w);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
#else
using Bytes = __m256i;
inline Bytes LoadBytes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline Bytes SplatGroup(int32_t group) { return _mm256_set1_epi32(group); }
inline Bytes AddProducts(Bytes sum, Bytes x, Bytes w) {
#if defined(__AVXVNNI__)
  return _mm256_dpbusd_avx_epi32(sum, x, w);
#else
  const Bytes pairs = _mm256_maddubs_epi16(x, w);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr bool kSaturates = false;
#else
constexpr bool kSaturates = true;
#endif
static_assert(kVectors <= kMaxIntegerVectors);
constexpr int64_t kVectorBytes = kLanes * kIntegerGroup;
constexpr int kMaxRows = kAccumulators;
// Floats of a block of results.
constexpr int64_t kTileFloats = kAccumulators * kLanes;

inline Bytes GroupAt(const uint8_t* row, int64_t at) {
  int32_t group;
  __builtin_memcpy(&group, row + at, sizeof group);
  return SplatGroup(group);
}

// The rows of one tap.
struct TapRows {
  const uint8_t* rows[kMaxRows];
};

template <int kM, int kN>
inline void SumTap(const TapRows& tap, const int8_t* weights, int64_t bytes, Bytes (&acc)[kM][kN]) {
  for (int64_t at = 0; at < bytes; at += kIntegerGroup) {
    Bytes w[kN];
    for (int j = 0; j < kN; ++j) w[j] = LoadBytes(weights + j * kVectorBytes);
    for (int i = 0; i < kM; ++i) {
      const Bytes x = GroupAt(tap.rows[i], at);
      for (int j = 0; j < kN; ++j) acc[i][j] = AddProducts(acc[i][j], x, w[j]);
    }
    weights += kN * kVectorBytes;
  }
}

template <int kM, int kN>
inline void SumExcess(const TapRows& tap, int64_t index, const IntegerExcess* excess,
                      Bytes (&acc)[kM][kN]) {
  for (int j = 0; j < kN; ++j) {
    const IntegerExcess& e = excess[j];
    for (int64_t k = e.first[index]; k < e.first[index + 1]; ++k) {
      const Bytes w = LoadBytes(e.weights + k * kVectorBytes);
      for (int i = 0; i < kM; ++i) {
        acc[i][j] = AddProducts(acc[i][j], GroupAt(tap.rows[i], e.offsets[k]), w);
      }
    }
  }
}

// Sums of rows [row, row + kM) in `tile`, kN vectors a row.
template <int kM, int kN>
struct Block {
  static void Run(const IntegerPanel& p, int64_t row, int32_t* tile) {
    Bytes acc[kM][kN];
    for (int j = 0; j < kN; ++j) {
      const Bytes start = LoadBytes(p.start + j * kLanes);
      for (int i = 0; i < kM; ++i) acc[i][j] = start;
    }
    const int64_t bytes = Up(p.depth, kIntegerGroup);
    const int8_t* weights = p.weights;
    for (int64_t t = 0; t < p.taps; ++t) {
      TapRows tap;
      for (int i = 0; i < kM; ++i) {
        const int64_t offset = p.offsets[(row + i) * p.taps + t];
        tap.rows[i] = offset < 0 ? p.padding : p.x + offset;
      }
      SumTap<kM, kN>(tap, weights, bytes, acc);
      if constexpr (kSaturates) SumExcess<kM, kN>(tap, t, p.excess, acc);
      weights += bytes * kN * kLanes;
    }
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN; ++j) {
        __builtin_memcpy(tile + (i * kN + j) * kLanes, &acc[i][j], kVectorBytes);
      }
    }
  }
};

class Panel {
 public:
  explicit Panel(const IntegerPanel& panel)
      : p_(panel), finish_(FindFinish(panel.finish)), width_(panel.vectors * kLanes) {}

  void Run() const {
    const int64_t block = RowsFor(p_.vectors);
    alignas(64) int32_t tile[kTileFloats];
    for (int64_t row = 0; row < p_.rows; row += block) {
      const int64_t rows = Least(block, p_.rows - row);
      FindBlock<Block>(rows, p_.vectors)(p_, row, tile);
      Finish(row, rows, tile);
    }
  }

 private:
  void Finish(int64_t row, int64_t rows, const int32_t* tile) const {
    FinishRows finish;
    finish.sums = tile;
    finish.sums_row = width_;
    finish.rows = rows;
    finish.columns = p_.columns;
    finish.addend_row = p_.y_row * BytesOf(p_.finish.addend_kind);
    finish.addend = static_cast<const uint8_t*>(p_.finish.addend) + row * finish.addend_row;
    finish.to_row = p_.y_row * BytesOf(p_.finish.result);
    finish.to = static_cast<uint8_t*>(p_.y) + row * finish.to_row;
    finish_(p_.finish, finish);
  }

  const IntegerPanel& p_;
  const FinishFn finish_;
  const int64_t width_;
};

void Run(const IntegerPanel& panel) { Panel(panel).Run(); }

}  // namespace

const IntegerGemmTable& TheIntegerGemm() {
  static const IntegerGemmTable table = {Run, kLanes, kVectors, kSaturates};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512VNNI__)
const IntegerGemmTable& Avx512VnniIntegerGemm() { return avx512_vnni::TheIntegerGemm(); }
#elif defined(__AVX512F__)
const IntegerGemmTable& Avx512IntegerGemm() { return avx512::TheIntegerGemm(); }
#elif defined(__AVXVNNI__)
const IntegerGemmTable& Avx2VnniIntegerGemm() { return avx2_vnni::TheIntegerGemm(); }
#else
const IntegerGemmTable& Avx2IntegerGemm() { return avx2::TheIntegerGemm(); }
#endif

}  // namespace weft::cpu
