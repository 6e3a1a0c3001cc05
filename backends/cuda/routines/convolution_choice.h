// The tiles of convolutions.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_CHOICE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_CHOICE_H_

#include <cstdint>
#include <vector>

#include "backends/cuda/routines/convolution_unit.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

// How a product is divided among blocks.
struct ConvolutionChoice {
  ConvolutionTile tile;
  int64_t parts = 1, part_steps = 0;  // Of the depth, in steps of the tile's.
};

// The choice depends on the sizes alone, so that results do not depend on the device.
ConvolutionChoice ChooseConvolution(DType dtype, ConvolutionKind kind,
                                    const ConvolutionSizes& sizes);
// All tiles that it chooses from.
std::vector<ConvolutionTile> ConvolutionTiles(DType dtype, ConvolutionKind kind);

int64_t CountBlocks(const ConvolutionTile& tile, const ConvolutionSizes& sizes);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_CHOICE_H_
