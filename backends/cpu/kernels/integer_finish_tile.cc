// Finds what finishes sums (integer_finish.h); compiled for AVX2 and AVX-512. Forms with VNNI use
// these, because no product of bytes is in them.
#include "backends/cpu/kernels/integer_finish_row.h"
#include "backends/cpu/kernels/unit_finish_row.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

void CopySums(const IntegerFinish&, const FinishRows& rows) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    __builtin_memcpy(rows.to + i * rows.to_row, rows.sums + i * rows.sums_row,
                     rows.columns * sizeof(int32_t));
  }
}

template <IntegerResult kResult>
FinishFn FindFinishTo(IntegerResult addend) {
  switch (addend) {
    case IntegerResult::kF32:
      return Finisher<kResult, IntegerResult::kF32>::Run;
    case IntegerResult::kU8:
      return Finisher<kResult, IntegerResult::kU8>::Run;
    case IntegerResult::kI8:
      return Finisher<kResult, IntegerResult::kI8>::Run;
    default:
      return Finisher<kResult, IntegerResult::kI32>::Run;
  }
}

// For all of them.
FinishFn FindAnyFinish(const IntegerFinish& f) {
  switch (f.result) {
    case IntegerResult::kF32:
      return FindFinishTo<IntegerResult::kF32>(f.addend_kind);
    case IntegerResult::kU8:
      return FindFinishTo<IntegerResult::kU8>(f.addend_kind);
    case IntegerResult::kI8:
      return FindFinishTo<IntegerResult::kI8>(f.addend_kind);
    default:
      return CopySums;
  }
}

template <IntegerResult kResult, int kMiddles>
FinishFn FindUnitFinishFor(IntegerResult addend) {
  switch (addend) {
    case IntegerResult::kF32:
      // Floats may be too large to become integers at once.
      if constexpr (kResult == IntegerResult::kF32) {
        return UnitFinisher<kResult, IntegerResult::kF32, kMiddles>::Run;
      }
      return Finisher<kResult, IntegerResult::kF32>::Run;
    case IntegerResult::kU8:
      return UnitFinisher<kResult, IntegerResult::kU8, kMiddles>::Run;
    case IntegerResult::kI8:
      return UnitFinisher<kResult, IntegerResult::kI8, kMiddles>::Run;
    default:
      return UnitFinisher<kResult, IntegerResult::kI32, kMiddles>::Run;
  }
}

template <int kMiddles>
FinishFn FindUnitFinishTo(const IntegerFinish& f) {
  switch (f.result) {
    case IntegerResult::kU8:
      return FindUnitFinishFor<IntegerResult::kU8, kMiddles>(f.addend_kind);
    case IntegerResult::kI8:
      return FindUnitFinishFor<IntegerResult::kI8, kMiddles>(f.addend_kind);
    default:
      return FindUnitFinishFor<IntegerResult::kF32, kMiddles>(f.addend_kind);
  }
}

}  // namespace

FinishFn TheFinish(const IntegerFinish& f) {
  static_assert(kMaxMiddles == 2);
  if (!f.unit.fits) return FindAnyFinish(f);
  return f.middles == 0   ? FindUnitFinishTo<0>(f)
         : f.middles == 1 ? FindUnitFinishTo<1>(f)
                          : FindUnitFinishTo<2>(f);
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
FinishFn FindAvx512Finish(const IntegerFinish& f) { return avx512::TheFinish(f); }
#else
FinishFn FindAvx2Finish(const IntegerFinish& f) { return avx2::TheFinish(f); }
#endif

}  // namespace weft::cpu
