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

}  // namespace

FinishFn TheFinish(const IntegerFinish& f) {
  if (f.result == IntegerResult::kI32) return CopySums;
  if (f.result == IntegerResult::kF32) {
    return f.unit.fits ? UnitFinisher<false>::Run : Finisher<false>::Run;
  }
  const bool unit = f.unit.fits && f.addend_kind != IntegerResult::kF32;
  return unit ? UnitFinisher<true>::Run : Finisher<true>::Run;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
FinishFn FindAvx512Finish(const IntegerFinish& f) { return avx512::TheFinish(f); }
#else
FinishFn FindAvx2Finish(const IntegerFinish& f) { return avx2::TheFinish(f); }
#endif

}  // namespace weft::cpu
