// CUDA C++ for convolutions.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_UNIT_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "backends/cuda/routines/zero_sums_text.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxConvolutionDims = 3;

// The last parameter of the kernels, with a ConvolutionOperand for each operand of the epilogue
// behind it and one more; the text declares the same struct. Strides are in elements.
// Spatial dims stand last; absent ones have size 1.
//
// A convolution is a product of matrices for each group: its rows are the points of the result, its
// columns the filters of the group, and its depth the taps and channels.
struct ConvolutionSizes {
  int64_t rows = 1, columns = 1, groups = 1;
  int64_t channels = 1;  // Of a group.
  int64_t out[3] = {1, 1, 1}, in[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, before[3] = {}, dilation[3] = {1, 1, 1};
  int64_t x_image = 0, x_channel = 0, x[3] = {};
  int64_t w_group = 0, w_column = 0, w_channel = 0, w[3] = {};
  // The rows of y, in dims that were joined.
  int64_t row_rank = 0, row_dims[4] = {}, y[4] = {};
  int64_t y_column = 0;
  int64_t y_groups = 0;  // Neighbouring columns of y can be written in aligned groups.
  int64_t has_bias = 0, bias = 0;
  // Strides of the weights' zero points, for columns of all groups and for channels.
  int64_t zero_column = 0, zero_channel = 0;
  // Packed weights: matrices of `depth` by `width` for each group, padded with zeros.
  int64_t depth = 0, width = 0;
  // Parts of the depth, in steps of the tile's.
  int64_t parts = 1, part_steps = 0;
};

// Strides of an operand of the epilogue.
struct ConvolutionOperand {
  int64_t row[4] = {}, column = 0;
  int64_t groups = 0;  // Neighbouring columns can be read in aligned groups.
};

// Rows and columns that a block computes, and what it reads of the depth at once.
struct ConvolutionTile {
  int rows = 0, columns = 0, depth = 0, stages = 0;
  int warps_down = 0, warps_across = 0;
  int blocks = 1;  // Of a multiprocessor, at least.
  int piece = 2;   // Elements of the depth that a thread holds of each row; not for tensor cores.

  int threads() const { return 32 * warps_down * warps_across; }
  // Dynamic shared memory of a kernel of the kind kWgmma.
  int shared_bytes() const;
};

enum class ConvolutionKind : uint8_t {
  kPlain,   // For elements of 32 and 64 bits.
  kTensor,  // mma.sync, for elements of 16 and 8 bits.
  kWgmma,   // For 16 bits, from compute capability 9.0 on; needs channel_groups.
};

struct ConvolutionForm {
  ProductOperands operands;  // The input and the weights.
  ConvolutionKind kind = ConvolutionKind::kPlain;
  ConvolutionTile tile;
  // Threads read groups of neighbouring channels; else single elements of neighbouring points.
  bool channel_groups = false;
  // The depth counts channels before taps.
  bool channels_first = false;
  bool transposed = false;
  int dims = 3;         // Spatial dims that are not all of size 1.
  bool points = false;  // Windows have one element, which is always inside.
  bool wide = false;    // Offsets of 64 bits.
};

// Elements of an aligned group of 16 bytes.
inline int ConvolutionGroup(DType dtype) { return static_cast<int>(128 / DTypeBits(dtype)); }

// Channels that a thread of the depthwise kernel computes.
inline int DepthwiseGroup(DType dtype) { return std::min(ConvolutionGroup(dtype), 8); }

// The text of epilogue.h, and its number of operands.
struct ConvolutionEpilogue {
  std::string text;
  int operands = 0;
};

// A unit with the kernels
//   weft_convolution(x, packed, sums, bias, y, operands of the epilogue, zero points of x and of
//   the
//     weights, ConvolutionSizes): sums over a part of the depth; with one part they go to y, else
//     to `sums`, [parts, groups, rows, columns].
//   weft_convolution_sum(sums, bias, y, operands, ConvolutionSizes): y of several parts, added in
//     their order.
// Sums of floats are in f64 for f64 and in f32 for the others; those of integers wrap. The bias is
// added to them, and what the epilogue makes of that is stored. Only kernels of integers of 8 bits
// have parameters for zero points; padding stands for that of x. weft_convolution's tiles of tensor
// cores take zero points of the weights by column alone.
std::string ConvolutionUnit(const ConvolutionForm& form, const ConvolutionEpilogue& epilogue);

// A unit with the kernel weft_convolution_pack(w, packed, ConvolutionSizes): matrices of the depth
// by the width, or transposed.
std::string ConvolutionPackUnit(DType dtype, bool transposed, bool channels_first);

// A unit with the kernel weft_convolution(x, w, bias, y, operands, zero points, ConvolutionSizes),
// in which a thread computes one element.
std::string DirectConvolutionUnit(const ConvolutionForm& form, const ConvolutionEpilogue& epilogue);

// Points along the last dim that a thread computes.
inline constexpr int kDepthwisePoints = 4;
// A unit with the kernel weft_convolution(x, packed, bias, y, operands, zero points,
// ConvolutionSizes), for one filter for each channel, channels in groups of DepthwiseGroup, and two
// dims. The packed weights are a matrix of the taps by the channels. `taps` and `stride`: of the
// last dim, whose dilation is 1.
std::string DepthwiseConvolutionUnit(const ConvolutionForm& form, int taps, int stride,
                                     const ConvolutionEpilogue& epilogue);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_UNIT_H_
