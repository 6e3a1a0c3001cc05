// How scales and zero points of quantized tensors line up with the elements.
//
// quantize_linear, dequantize_linear and fake_quantize have operands (self, scale,
// zero_point) and the attributes `axis`, `block_size` and `block_shape`. A scale is for
// the whole tensor when it is a scalar or a vector of one element, for a slice along
// `axis` when it is another vector, for blocks of `block_size` elements along `axis` when
// block_size is not 0, and for blocks of `block_shape`, which has a size for each dim,
// when that is not empty; -1 there is the whole dim. The last block of a dim may be cut.
// Scales of blocks have the rank of self.
#ifndef WEFT_GRAPH_OPS_QUANT_SCALES_H_
#define WEFT_GRAPH_OPS_QUANT_SCALES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {
class Attrs;
class Builder;
class EvalContext;
class Value;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// The sizes of blocks by dim, -1 for the whole dim; empty when there are none. The
// attributes are verified.
std::vector<int64_t> BlocksOf(const Attrs& attrs, int rank);

// The attributes themselves, for a tensor of `rank`.
absl::Status VerifyBlocks(const Attrs& attrs, int rank);

// The number of blocks of a dim.
SymInt BlockCount(SymInt size, int64_t block);

// An integer of at most 32 bits or a float of at most 8 that has a zero, so not f8e8m0.
bool IsQuantizedDType(DType dtype);

// Ranks, sizes and dtypes of scale, a float or f8e8m0, and of zero_point, which must have
// `zero_point` as dtype.
absl::Status VerifyScales(const OpArgs& args, DType zero_point);

// `v`, operand 1 or 2, brought to dims that broadcast to operand 0's.
Value* BroadcastScale(Builder& b, const OpArgs& args, Value* v);

// For each element of operand 0, by row-major index, the index of its scale.
class ScaleIndex {
 public:
  explicit ScaleIndex(const EvalContext& c);
  int64_t operator()(int64_t i) const {
    int64_t k = 0;
    for (const Dim& d : dims_) k += i / d.inner % d.size / d.block * d.stride;
    return k;
  }

 private:
  // A dim along which scales differ.
  struct Dim {
    int64_t inner;   // Elements after it.
    int64_t size;    // Elements along it.
    int64_t block;   // Elements along it that share a scale.
    int64_t stride;  // Distance of scales along it.
  };
  std::vector<Dim> dims_;
};

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_QUANT_SCALES_H_
