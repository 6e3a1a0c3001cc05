// Helpers for matrices in the last two dims.
#ifndef WEFT_SERIALIZE_PT2_ATEN_MATRIX_PARTS_H_
#define WEFT_SERIALIZE_PT2_ATEN_MATRIX_PARTS_H_

#include "serialize/pt2/build.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::pt2 {

inline SymInt RowsOf(const Value* v) { return DimOf(v, RankOf(v) - 2); }
inline SymInt ColumnsOf(const Value* v) { return DimOf(v, RankOf(v) - 1); }

inline Value* Transposed(AtenCall& c, Value* v) {
  const int rank = RankOf(v);
  if (rank < 2) return c.Fail("a matrix has too few dims");
  return Permute(c, v, MoveDim(rank, rank - 1, rank - 2));
}

// The matrix argument, "A" or "self".
inline Value* MatrixOf(AtenCall& c) { return c.T(c.schema().Find("A") >= 0 ? "A" : "self"); }

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_MATRIX_PARTS_H_
