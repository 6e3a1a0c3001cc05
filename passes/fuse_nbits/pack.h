// The constants of matmul_nbits, packed from those of dequantize_linear.
#ifndef WEFT_PASSES_FUSE_NBITS_PACK_H_
#define WEFT_PASSES_FUSE_NBITS_PACK_H_

#include "absl/status/statusor.h"
#include "graph/tensor/tensor.h"
#include "passes/fuse_nbits/decision.h"

namespace weft {

// The numbers and zero points, unless these are floats, have 4 bits, or would fit in them. Numbers
// of f4e2m1 are twice its values, with half the scales.
bool FitsFourBits(const NbitsWeights& weights);

struct NbitsConstants {
  HostTensor weight;
  HostTensor scale;
  HostTensor zero_point;  // Packed numbers, or floats; invalid: all are the middle of the range.
};

// Signed numbers and zero points are moved up by the middle of the range, which keeps their
// differences; those with float zero points or offsets have no signs. An error if there is not
// enough memory.
absl::StatusOr<NbitsConstants> PackNbits(const NbitsProduct& product);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_NBITS_PACK_H_
