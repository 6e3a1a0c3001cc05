#include "backends/cuda/routines/convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/routines/convolution_choice.h"
#include "backends/cuda/routines/convolution_direct.h"
#include "backends/cuda/routines/convolution_making.h"
#include "backends/cuda/routines/convolution_unit.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "lowering/plan_constants.h"

namespace weft::cuda {
namespace {

// Groups of fewer filters are computed one element at a time.
constexpr int64_t kFewColumns = 16;

int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// True if all elements of the view lie at offsets of less than 31 bits, also those of windows that
// are outside of it.
bool IsNarrow(const RunView& view) {
  int64_t reach = 0;
  for (int d = 0; d < view.rank(); ++d) reach += std::abs(view.strides[d]) * view.dims[d];
  return reach < (int64_t{1} << 30);
}

absl::Status AddProduct(const ConvolutionMaking& making, const ConvolutionForm& form,
                        ConvolutionCode* code) {
  const ConvolutionSizes& sizes = making.sizes;
  const int64_t elements = sizes.groups * sizes.rows * sizes.columns;
  code->ReserveSums(sizes.parts == 1
                        ? 0
                        : elements * sizes.parts * (DTypeBits(form.operands.left) == 64 ? 8 : 4));
  const std::string text = ConvolutionUnit(form, making.end());
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(CountBlocks(form.tile, sizes));
  shape.threads = static_cast<unsigned>(form.tile.threads());
  if (form.kind == ConvolutionKind::kWgmma) {
    shape.shared_bytes = static_cast<unsigned>(form.tile.shared_bytes());
  }
  WEFT_RETURN_IF_ERROR(
      AddKernel(making, text, "weft_convolution", shape, code, [&](PreparedLaunch* launch) {
        AddOperand(making.request, 0, launch);
        code->AddPacked(launch);
        code->AddSums(launch);
        AddEndAndZeros(making, launch);
      }));
  if (sizes.parts == 1) return absl::OkStatus();
  return AddKernel(making, text, "weft_convolution_sum", GridOfElements(making, elements), code,
                   [&](PreparedLaunch* launch) {
                     code->AddSums(launch);
                     AddEnd(making, launch);
                   });
}

// What a kernel of these windows need not compute.
void SetWindows(const ConvolutionSizes& sizes, ConvolutionForm* form) {
  form->points = !form->transposed;
  form->dims = 1;
  for (int d = 0; d < kMaxConvolutionDims; ++d) {
    const bool none =
        sizes.in[d] == 1 && sizes.out[d] == 1 && sizes.taps[d] == 1 && sizes.before[d] == 0;
    if (!none) form->dims = std::max(form->dims, kMaxConvolutionDims - d);
    form->points = form->points && sizes.taps[d] == 1 && sizes.before[d] == 0 &&
                   (sizes.out[d] - 1) * sizes.stride[d] < sizes.in[d];
  }
}

ConvolutionKind KindOf(const CudaDevice& device, const ConvolutionForm& form) {
  if (DTypeBits(form.operands.left) > 16) return ConvolutionKind::kPlain;
  return device.has_wgmma() && form.channel_groups && !form.operands.bytes()
             ? ConvolutionKind::kWgmma
             : ConvolutionKind::kTensor;
}

// The product of matrices for the operands; false: there is none.
bool SetProduct(ConvolutionMaking* making, ConvolutionForm* form) {
  const StepRequest& request = making->request;
  const RunView& x = request.args[0];
  ConvolutionSizes& sizes = making->sizes;
  const bool narrow = DTypeBits(x.dtype) <= 16;
  if (narrow && !making->context.device.has_tensor_cores()) return false;
  if (sizes.groups > 1 && sizes.columns < kFewColumns) return false;
  // Zero points of channels are not those of columns.
  if (sizes.zero_channel != 0) return false;
  const int64_t taps = sizes.taps[0] * sizes.taps[1] * sizes.taps[2];
  const int64_t group = ConvolutionGroup(x.dtype);
  form->transposed = making->transposed;
  SetWindows(sizes, form);
  form->channel_groups = HasChannelGroups(x, sizes.channels, group);
  form->channels_first = x.strides[1] != 1;
  form->kind = KindOf(making->context.device, *form);
  SetColumnGroups(sizes.columns, form->kind == ConvolutionKind::kTensor ? 2 : group, making);
  // A multiple of every tile's depth.
  sizes.depth = RoundUp(sizes.channels * taps, 64);
  sizes.width = RoundUp(sizes.columns, group);
  if (sizes.depth == 0) return false;
  const ConvolutionChoice choice = ChooseConvolution(x.dtype, form->kind, sizes);
  form->tile = choice.tile;
  sizes.parts = choice.parts;
  sizes.part_steps = choice.part_steps;
  form->wide = !IsNarrow(x) || sizes.rows + form->tile.rows >= kMaxPosition;
  return sizes.groups * sizes.depth * sizes.width < kMaxPosition &&
         CountBlocks(form->tile, sizes) < kMaxPosition;
}

// True if the host knows that a weight is infinite or NaN.
bool HasWeightsNotFinite(const StepRequest& request) {
  const Buffer& buffer = request.plan.buffers[request.args[1].buffer];
  if (buffer.kind != BufferKind::kConstant || request.plan.constants == nullptr) return false;
  const auto found = request.plan.constants->by_number.find(buffer.index);
  if (found == request.plan.constants->by_number.end()) return false;
  const std::vector<double> values = found->second.tensor.ReadDoubles();
  return !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeConvolution(const RoutineContext& context,
                                                          const StepRequest& request) {
  const RunView& x = request.args[0];
  const RunView& y = request.results[0];
  const bool bytes = request.step.op->name() == "convolution_integer";
  if (!bytes && y.dtype != x.dtype) {
    return absl::UnimplementedError("the convolution kernel does not accumulate in another dtype");
  }
  // The op adds nothing where no pixel reaches; the kernels multiply a zero there.
  const Attrs attrs(request.step.schema, request.attrs);
  if (attrs.Bool("transposed") && !bytes && HasWeightsNotFinite(request)) {
    return absl::UnimplementedError("weights of a transposed convolution that are not finite");
  }
  WEFT_ASSIGN_OR_RETURN(ConvolutionMaking making, DescribeConvolution(context, request));
  auto code = std::make_unique<ConvolutionCode>(context.device, request);
  ConvolutionForm form;
  form.operands = {x.dtype, request.args[1].dtype, making.x_zero >= 0, making.w_zero >= 0};
  const ProductOperands operands = form.operands;
  const ConvolutionMaking given = making;
  if (y.numel() > 0 && SetProduct(&making, &form)) {
    WEFT_RETURN_IF_ERROR(FindUnits(making, {PackUnit(form), ConvolutionUnit(form, making.end())}));
    WEFT_RETURN_IF_ERROR(AddPack(making, form, making.sizes, code.get()));
    WEFT_RETURN_IF_ERROR(AddProduct(making, form, code.get()));
    return code;
  }
  making.sizes = given.sizes;
  form = ConvolutionForm();
  form.operands = operands;
  if (y.numel() > 0 && SetDepthwise(&making, &form)) {
    WEFT_RETURN_IF_ERROR(AddDepthwise(making, form, code.get()));
    return code;
  }
  making.sizes = given.sizes;
  making.operands = given.operands;
  form.wide = true;
  WEFT_RETURN_IF_ERROR(AddDirect(making, form, code.get()));
  return code;
}

}  // namespace weft::cuda
