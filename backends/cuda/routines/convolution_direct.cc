#include "backends/cuda/routines/convolution_direct.h"

#include <cstdint>
#include <string>

#include "base/status_macros.h"

namespace weft::cuda {
namespace {

constexpr int64_t kMaxDepthwiseTaps = 7;

}  // namespace

bool SetDepthwise(ConvolutionMaking* making, ConvolutionForm* form) {
  const RunView& x = making->request.args[0];
  ConvolutionSizes& sizes = making->sizes;
  const int64_t group = DepthwiseGroup(x.dtype);
  form->wide = true;
  if (making->transposed || sizes.groups == 1 || sizes.channels != 1 || sizes.columns != 1 ||
      sizes.in[0] != 1 || sizes.taps[0] != 1 || sizes.out[0] != 1 || sizes.dilation[2] != 1 ||
      sizes.taps[2] > kMaxDepthwiseTaps || sizes.stride[2] > 2 ||
      !HasChannelGroups(x, sizes.groups, group)) {
    return false;
  }
  SetColumnGroups(sizes.groups, group, making);
  sizes.depth = sizes.taps[1] * sizes.taps[2];
  sizes.width = sizes.groups;
  return true;
}

absl::Status AddDepthwise(const ConvolutionMaking& making, const ConvolutionForm& form,
                          ConvolutionCode* code) {
  const ConvolutionSizes& sizes = making.sizes;
  ConvolutionSizes packing = sizes;
  packing.groups = 1;
  packing.columns = sizes.groups;
  packing.w_column = sizes.w_group;
  const std::string text = DepthwiseConvolutionUnit(
      form, static_cast<int>(sizes.taps[2]), static_cast<int>(sizes.stride[2]), making.end());
  WEFT_RETURN_IF_ERROR(FindUnits(making, {PackUnit(form), text}));
  WEFT_RETURN_IF_ERROR(AddPack(making, form, packing, code));
  const int64_t runs = (sizes.out[2] + kDepthwisePoints - 1) / kDepthwisePoints;
  const int64_t threads =
      sizes.rows / sizes.out[2] * runs * (sizes.groups / DepthwiseGroup(form.operands.left));
  return AddKernel(making, text, "weft_convolution", GridOfElements(making, threads), code,
                   [&](PreparedLaunch* launch) {
                     AddOperand(making.request, 0, launch);
                     code->AddPacked(launch);
                     AddEndAndZeros(making, launch);
                   });
}

absl::Status AddDirect(const ConvolutionMaking& making, ConvolutionForm form,
                       ConvolutionCode* code) {
  form.transposed = making.transposed;
  return AddKernel(making, DirectConvolutionUnit(form, making.end()), "weft_convolution",
                   GridOfElements(making, making.request.results[0].numel()), code,
                   [&](PreparedLaunch* launch) {
                     AddOperand(making.request, 0, launch);
                     AddOperand(making.request, 1, launch);
                     AddEndAndZeros(making, launch);
                   });
}

}  // namespace weft::cuda
