// Places in memory of indices; compiled once for each instruction set.
#include "backends/cpu/kernels/place_tile.h"

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

enum class Use { kWrite, kAdd, kCheck };

template <typename Index, Use use>
bool Places(const Index* indices, int64_t stride, const IndexColumn& column, int64_t count,
            int64_t* places) {
  const auto size = static_cast<uint64_t>(column.bound);
  const auto step = static_cast<uint64_t>(column.step);
  uint64_t signs = 0;  // Both sums of an index that is within bounds have no sign.
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = indices[i * stride];
    const auto bits = static_cast<uint64_t>(index);
    signs |= (bits + size) | (size - 1 - bits);
    const auto place = static_cast<int64_t>((index < 0 ? bits + size : bits) * step);
    if (use == Use::kWrite) places[i] = place;
    if (use == Use::kAdd) places[i] += place;
  }
  return signs >> 63 != 0;
}

template <typename Index, Use use>
bool PlacesOf(const IndexColumn& column, int64_t count, int64_t* places) {
  const auto* indices = static_cast<const Index*>(column.indices);
  if (column.stride == 1) return Places<Index, use>(indices, 1, column, count, places);
  return Places<Index, use>(indices, column.stride, column, count, places);
}

template <Use use>
bool Run(const IndexColumn& column, int64_t count, int64_t* places) {
  return column.wide ? PlacesOf<int64_t, use>(column, count, places)
                     : PlacesOf<int32_t, use>(column, count, places);
}

bool Check(const IndexColumn& column, int64_t count) {
  return Run<Use::kCheck>(column, count, nullptr);
}

}  // namespace

const PlaceTable& ThePlaces() {
  static constexpr PlaceTable table = {Run<Use::kWrite>, Run<Use::kAdd>, Check};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const PlaceTable& Avx512Places() { return avx512::ThePlaces(); }
#else
const PlaceTable& Avx2Places() { return avx2::ThePlaces(); }
#endif

}  // namespace weft::cpu
