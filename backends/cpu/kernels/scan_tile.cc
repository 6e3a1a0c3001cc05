// Running sums and products of lines; compiled once for each instruction set.
#include "backends/cpu/kernels/scan_tile.h"

#include <type_traits>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

// Elements of a line of narrow floats that are converted at once.
constexpr int64_t kTileElements = 256;

template <typename T>
using Wide = std::conditional_t<std::is_floating_point<T>::value, double, uint64_t>;

// Combined with any number, it gives that one: also with -0.
template <typename T, bool product>
constexpr Wide<T> kNeutral = product                            ? Wide<T>(1)
                             : std::is_floating_point<T>::value ? static_cast<Wide<T>>(-0.0)
                                                                : Wide<T>(0);

template <typename T, bool product>
inline Wide<T> Combined(Wide<T> so_far, T v) {
  return product ? so_far * static_cast<Wide<T>>(v) : so_far + static_cast<Wide<T>>(v);
}

// The element of a line that is combined first, and the elements that are. An exclusive scan is one
// of the elements but the last, whose results lie one element further on, behind the neutral one.
inline int64_t FirstOf(const ScanPanel& p) { return p.reverse ? p.size - 1 : 0; }
inline int64_t StepOf(const ScanPanel& p) { return p.reverse ? -1 : 1; }
inline int64_t CountOf(const ScanPanel& p) { return p.exclusive ? p.size - 1 : p.size; }
inline int64_t ShiftOf(const ScanPanel& p) { return p.exclusive ? StepOf(p) : 0; }

// `v` or the f32 beside it whose last bit is set: rounded once more, it gives what `v` does.
inline float RoundToOdd(double v) {
  const auto f = static_cast<float>(v);
  uint32_t bits;
  __builtin_memcpy(&bits, &f, sizeof bits);
  const auto differs = static_cast<uint32_t>(static_cast<double>(f) < v) |
                       static_cast<uint32_t>(static_cast<double>(f) > v);
  const bool grows = __builtin_fabs(static_cast<double>(f)) < __builtin_fabs(v);
  bits += (differs & ~bits & 1u) * (grows ? 1u : ~0u);
  float odd;
  __builtin_memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// --- Lines one behind the other ---------------------------------------------------------------

// `count` elements of each of n lines, from the first one on, or backwards.
template <typename T, typename Result, bool product, int n>
inline void ScanPart(const T* x, int64_t x_line, Result* y, int64_t y_line, int64_t count,
                     int64_t step, Wide<T>* all) {
  Wide<T> so_far[n];
  for (int j = 0; j < n; ++j) so_far[j] = all[j];
  for (int64_t k = 0; k < count; ++k) {
    for (int j = 0; j < n; ++j) {
      so_far[j] = Combined<T, product>(so_far[j], x[j * x_line + k * step]);
      y[j * y_line + k * step] = static_cast<Result>(so_far[j]);
    }
  }
  for (int j = 0; j < n; ++j) all[j] = so_far[j];
}

template <typename T, bool product, int n>
void ScanApart(const ScanPanel& p) {
  Wide<T> all[n];
  for (int j = 0; j < n; ++j) all[j] = kNeutral<T, product>;
  T* const y = static_cast<T*>(p.y) + FirstOf(p);
  for (int j = 0; p.exclusive && j < n; ++j) y[j * p.size] = T(product);
  ScanPart<T, T, product, n>(static_cast<const T*>(p.x) + FirstOf(p), p.size, y + ShiftOf(p),
                             p.size, CountOf(p), StepOf(p), all);
}

// Narrow floats, a part of the lines at a time.
template <bool product, int n>
void ScanNarrowApart(const ScanPanel& p) {
  constexpr int64_t kTile = kTileElements;
  float tile[n * kTile];
  double sums[n * kTile];
  double all[n];
  for (int j = 0; j < n; ++j) all[j] = kNeutral<float, product>;
  const auto* x = static_cast<const uint16_t*>(p.x);
  auto* y = static_cast<uint16_t*>(p.y);
  tile[0] = product;
  for (int j = 0; p.exclusive && j < n; ++j) p.store(y + j * p.size + FirstOf(p), tile, 1, 1);
  const int64_t total = CountOf(p);
  for (int64_t done = 0; done < total; done += kTile) {
    const int64_t count = total - done < kTile ? total - done : kTile;
    const int64_t begin = p.reverse ? p.size - done - count : done;
    const int64_t first = p.reverse ? count - 1 : 0;
    for (int j = 0; j < n; ++j) p.load(tile + j * kTile, x + j * p.size + begin, 1, count);
    ScanPart<float, double, product, n>(tile + first, kTile, sums + first, kTile, count, StepOf(p),
                                        all);
    for (int j = 0; j < n; ++j) {
      for (int64_t i = j * kTile; i < j * kTile + count; ++i) tile[i] = RoundToOdd(sums[i]);
      p.store(y + j * p.size + begin + ShiftOf(p), tile + j * kTile, 1, count);
    }
  }
}

// --- Lines side by side -----------------------------------------------------------------------

// A row of them.
template <typename T, typename Result, bool product>
inline void ScanRow(const T* x, int64_t lines, Wide<T>* all, Result* y) {
  for (int64_t j = 0; j < lines; ++j) {
    all[j] = Combined<T, product>(all[j], x[j]);
    y[j] = static_cast<Result>(all[j]);
  }
}

template <typename T, bool product>
void ScanBeside(const ScanPanel& p) {
  Wide<T> all[kScanBeside];
  for (Wide<T>& so_far : all) so_far = kNeutral<T, product>;
  T* const y = static_cast<T*>(p.y);
  for (int64_t j = 0; p.exclusive && j < p.lines; ++j) y[FirstOf(p) * p.step + j] = T(product);
  const int64_t count = CountOf(p);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = FirstOf(p) + k * StepOf(p);
    ScanRow<T, T, product>(static_cast<const T*>(p.x) + row * p.step, p.lines, all,
                           y + (row + ShiftOf(p)) * p.step);
  }
}

template <bool product>
void ScanNarrowBeside(const ScanPanel& p) {
  double all[kScanBeside], sums[kScanBeside];
  float tile[kScanBeside];
  for (double& so_far : all) so_far = kNeutral<float, product>;
  const auto* x = static_cast<const uint16_t*>(p.x);
  auto* y = static_cast<uint16_t*>(p.y);
  for (float& first : tile) first = product;
  if (p.exclusive) p.store(y + FirstOf(p) * p.step, tile, 1, p.lines);
  const int64_t count = CountOf(p);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = FirstOf(p) + k * StepOf(p);
    p.load(tile, x + row * p.step, 1, p.lines);
    ScanRow<float, double, product>(tile, p.lines, all, sums);
    for (int64_t j = 0; j < p.lines; ++j) tile[j] = RoundToOdd(sums[j]);
    p.store(y + (row + ShiftOf(p)) * p.step, tile, 1, p.lines);
  }
}

// --- Which scan -------------------------------------------------------------------------------

template <typename T, bool product>
void Scan(const ScanPanel& p) {
  if (p.step > 1) return ScanBeside<T, product>(p);
  if (p.lines == kScanApart) return ScanApart<T, product, kScanApart>(p);
  ScanApart<T, product, 1>(p);
}

template <bool product>
void ScanOfNarrow(const ScanPanel& p) {
  if (p.step > 1) return ScanNarrowBeside<product>(p);
  if (p.lines == kScanApart) return ScanNarrowApart<product, kScanApart>(p);
  ScanNarrowApart<product, 1>(p);
}

template <bool product>
ScanFn FindScan(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return ScanOfNarrow<product>;
    case DType::kF32:
      return Scan<float, product>;
    case DType::kF64:
      return Scan<double, product>;
    case DType::kI32:
      return Scan<int32_t, product>;
    case DType::kI64:
      return Scan<int64_t, product>;
    default:
      return nullptr;
  }
}

ScanFn FindScanOf(DType dtype, bool product) {
  return product ? FindScan<true>(dtype) : FindScan<false>(dtype);
}

}  // namespace

FindScanFn TheScan() { return FindScanOf; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
FindScanFn Avx512Scan() { return avx512::TheScan(); }
#else
FindScanFn Avx2Scan() { return avx2::TheScan(); }
#endif

}  // namespace weft::cpu
