#include "backends/cuda/routines/convolution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/routines/convolution_choice.h"
#include "backends/cuda/routines/convolution_unit.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "lowering/plan_constants.h"

namespace weft::cuda {
namespace {

// Groups of fewer filters are computed one element at a time.
constexpr int64_t kFewColumns = 16;
constexpr int64_t kMaxDepthwiseTaps = 7;
// Sizes and positions within a dim are computed in 32 bits.
constexpr int64_t kMaxPosition = int64_t{1} << 29;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// --- Sizes -------------------------------------------------------------------------------

std::vector<int64_t> ValuesOf(absl::Span<const SymInt> numbers) {
  std::vector<int64_t> values;
  for (const SymInt s : numbers) values.push_back(s.value());
  return values;
}

// The rows of y and of the epilogue's operands: images and points.
void SetRows(const RunView& y, const EpilogueCode& epilogue, ConvolutionSizes* sizes,
             std::vector<ConvolutionOperand>* operands) {
  std::vector<Dim> dims;
  for (int d = 0; d < y.rank(); ++d) {
    if (d == 1) continue;
    dims.push_back({y.dims[d], {y.strides[d]}});
    for (const EpilogueOperand& o : epilogue.operands) dims.back().strides.push_back(o.strides[d]);
  }
  dims = Join(dims);
  if (dims.empty()) dims.push_back({1, std::vector<int64_t>(epilogue.operands.size() + 1)});
  sizes->row_rank = static_cast<int64_t>(dims.size());
  sizes->y_column = y.strides[1];
  for (const EpilogueOperand& o : epilogue.operands) {
    operands->emplace_back();
    operands->back().column = o.strides[1];
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes->row_dims[d] = dims[d].size;
    sizes->y[d] = dims[d].strides[0];
    for (size_t o = 0; o < operands->size(); ++o) {
      (*operands)[o].row[d] = dims[d].strides[o + 1];
    }
  }
}

absl::StatusOr<ConvolutionSizes> SizesOf(const Attrs& attrs, const RunView& x, const RunView& w,
                                         const RunView& y) {
  ConvolutionSizes sizes;
  const bool transposed = attrs.Bool("transposed");
  const std::vector<int64_t> stride = ValuesOf(attrs.Syms("stride"));
  const std::vector<int64_t> padding = ValuesOf(attrs.Syms("padding"));
  const std::vector<int64_t> dilation = ValuesOf(attrs.Syms("dilation"));
  const int n = y.rank() - 2;
  for (int i = 0; i < n; ++i) {
    const int d = kMaxConvolutionDims - n + i;
    sizes.in[d] = x.dims[2 + i];
    sizes.out[d] = y.dims[2 + i];
    sizes.taps[d] = w.dims[2 + i];
    sizes.stride[d] = stride[i];
    sizes.before[d] = padding[i];
    sizes.dilation[d] = dilation[i];
    sizes.x[d] = x.strides[2 + i];
    sizes.w[d] = w.strides[2 + i];
    for (const int64_t size : {sizes.in[d], sizes.out[d] * stride[i], sizes.taps[d] * dilation[i],
                               std::abs(padding[i])}) {
      if (size > kMaxPosition) return absl::UnimplementedError("a convolution of so large dims");
    }
  }
  sizes.groups = attrs.Sym("groups").value();
  sizes.rows = y.dims[0] * sizes.out[0] * sizes.out[1] * sizes.out[2];
  sizes.columns = y.dims[1] / sizes.groups;
  sizes.channels = x.dims[1] / sizes.groups;
  sizes.x_image = x.strides[0];
  sizes.x_channel = x.strides[1];
  sizes.w_column = w.strides[transposed ? 1 : 0];
  sizes.w_channel = w.strides[transposed ? 0 : 1];
  sizes.w_group = w.strides[0] * (w.dims[0] / sizes.groups);
  return sizes;
}

// True if all elements of the view lie at offsets of less than 31 bits, also those of windows that
// are outside of it.
bool IsNarrow(const RunView& view) {
  int64_t reach = 0;
  for (int d = 0; d < view.rank(); ++d) reach += std::abs(view.strides[d]) * view.dims[d];
  return reach < (int64_t{1} << 30);
}

// True if neighbouring channels of x can be read in aligned groups. Memory begins at multiples of
// 16 bytes.
bool HasChannelGroups(const RunView& x, int64_t channels, int64_t group) {
  bool even = x.strides[1] == 1 && channels % group == 0 && x.offset % group == 0;
  for (int d = 0; d < x.rank(); ++d) {
    even = even && (d == 1 || x.dims[d] == 1 || x.strides[d] % group == 0);
  }
  return even;
}

// True if neighbouring columns at these strides lie in aligned groups. `columns`: of a run of them.
bool HasColumnGroups(const ConvolutionSizes& sizes, const int64_t* row, int64_t column,
                     int64_t offset, int64_t columns, int64_t group) {
  bool even = column == 1 && columns % group == 0 && offset % group == 0;
  for (int64_t d = 0; d < sizes.row_rank; ++d) {
    even = even && (sizes.row_dims[d] == 1 || row[d] % group == 0);
  }
  return even;
}

// --- Code --------------------------------------------------------------------------------

// Launches of kernels in their order.
class ConvolutionCode : public RoutineCode {
 public:
  ConvolutionCode(CudaDevice& device, const StepRequest& request)
      : RoutineCode(device, request, "convolution") {}

  // Scratch memory for weights that each launch packs, and for sums of parts.
  void ReservePacked(int64_t bytes) {
    packed_bytes_ = bytes;
    packed_begin_ = ReserveScratch(bytes);
  }
  void ReserveSums(int64_t bytes) {
    sums_bytes_ = bytes;
    sums_begin_ = ReserveScratch(bytes);
  }
  // Weights that were packed before.
  void SetPacked(std::shared_ptr<DeviceMemory> packed) { packed_ = std::move(packed); }

  void AddPacked(PreparedLaunch* launch) const {
    if (packed_ != nullptr) {
      launch->AddFixed(packed_->data(), packed_->size());
    } else {
      launch->AddScratch(packed_bytes_, packed_begin_);
    }
  }
  void AddSums(PreparedLaunch* launch) const { launch->AddScratch(sums_bytes_, sums_begin_); }

 private:
  std::shared_ptr<DeviceMemory> packed_;
  int64_t packed_bytes_ = 0, packed_begin_ = 0;
  int64_t sums_bytes_ = 0, sums_begin_ = 0;
};

// A step that is made.
struct Making {
  const RoutineContext& context;
  const StepRequest& request;
  EpilogueCode epilogue;
  ConvolutionSizes sizes;
  std::vector<ConvolutionOperand> operands;  // Of the epilogue.
  ConvolutionEpilogue end() const {
    return {epilogue.text, static_cast<int>(epilogue.operands.size())};
  }
  // Numbers of arguments; -1: absent.
  int bias = -1;
  int x_zero = -1, w_zero = -1;  // Zero points.
  bool transposed = false;

  bool bytes() const { return DTypeBits(request.args[0].dtype) == 8; }
};

// The bias, the result, and what the epilogue reads.
void AddEnd(const Making& making, PreparedLaunch* launch) {
  AddOperand(making.request, making.bias, launch);
  AddOperand(making.request, static_cast<int>(making.request.args.size()), launch);
  making.epilogue.AddOperands(making.request, launch);
}

// The same, and the zero points.
void AddEndAndZeros(const Making& making, PreparedLaunch* launch) {
  AddEnd(making, launch);
  if (!making.bytes()) return;
  AddOperand(making.request, making.x_zero, launch);
  AddOperand(making.request, making.w_zero, launch);
}

// Sets which groups of columns a kernel can access at once. `columns`: of a run of them.
void SetColumnGroups(int64_t columns, int64_t group, Making* making) {
  ConvolutionSizes& sizes = making->sizes;
  const StepRequest& request = making->request;
  sizes.y_groups =
      HasColumnGroups(sizes, sizes.y, sizes.y_column, request.results[0].offset, columns, group);
  for (size_t o = 0; o < making->operands.size(); ++o) {
    ConvolutionOperand& operand = making->operands[o];
    const EpilogueOperand& from = making->epilogue.operands[o];
    operand.groups = HasColumnGroups(sizes, operand.row, operand.column,
                                     request.args[from.arg].offset + from.begin, columns, group);
  }
}

std::string SizesText(const Making& making) {
  std::string bytes = BytesOf(making.sizes);
  for (const ConvolutionOperand& operand : making.operands) bytes += BytesOf(operand);
  return bytes + BytesOf(ConvolutionOperand());
}

// Adds a launch of a kernel whose parameters `add` adds, but for the sizes.
template <typename AddParameters>
absl::Status AddKernel(const Making& making, const std::string& text, const char* name,
                       const LaunchShape& shape, ConvolutionCode* code, AddParameters add) {
  if (shape.blocks == 0) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const auto module, making.context.units.Find(text));
  return code->AddKernel(module, name, shape, add, SizesText(making));
}

LaunchShape GridOfElements(const Making& making, int64_t elements) {
  return cuda::GridOfElements(elements, making.context.device.multiprocessors());
}

// The address of the weights if they are constant, else null.
const char* ConstantWeights(const StepRequest& request) {
  const RunView& w = request.args[1];
  const char* buffer = request.constants[w.buffer];
  return buffer == nullptr ? nullptr : buffer + w.offset * (DTypeBits(w.dtype) / 8);
}

// Compiles the units, at once if units are collected.
absl::Status FindUnits(const Making& making, const std::vector<std::string>& texts) {
  absl::Status status;
  for (const std::string& text : texts) status.Update(making.context.units.Find(text).status());
  return status;
}

std::string PackUnit(const ConvolutionForm& form) {
  return ConvolutionPackUnit(form.operands.right, form.kind != ConvolutionKind::kPlain,
                             form.channels_first);
}

// Packs constant weights now, and others in each launch. `sizes` describes the packed matrices.
absl::Status AddPack(const Making& making, const ConvolutionForm& form,
                     const ConvolutionSizes& sizes, ConvolutionCode* code) {
  const std::string text = PackUnit(form);
  const int64_t elements = sizes.groups * sizes.depth * sizes.width;
  const int64_t bytes = elements * (DTypeBits(form.operands.left) / 8);
  const LaunchShape shape = GridOfElements(making, elements);
  const char* constant = ConstantWeights(making.request);
  if (constant == nullptr) {
    code->ReservePacked(bytes);
    Making pack = making;
    pack.sizes = sizes;
    return AddKernel(pack, text, "weft_convolution_pack", shape, code, [&](PreparedLaunch* launch) {
      AddOperand(making.request, 1, launch);
      code->AddPacked(launch);
    });
  }
  // What the kernel reads of the sizes.
  ConvolutionSizes packing;
  packing.columns = sizes.columns;
  packing.groups = sizes.groups;
  packing.channels = sizes.channels;
  packing.w_group = sizes.w_group;
  packing.w_column = sizes.w_column;
  packing.w_channel = sizes.w_channel;
  packing.depth = sizes.depth;
  packing.width = sizes.width;
  std::copy_n(sizes.taps, 3, packing.taps);
  std::copy_n(sizes.w, 3, packing.w);
  const std::string key = absl::StrCat(
      absl::Hex(reinterpret_cast<uintptr_t>(constant)), " ", DTypeName(form.operands.left), " ",
      form.kind != ConvolutionKind::kPlain, form.channels_first, BytesOf(packing));
  WEFT_ASSIGN_OR_RETURN(
      auto packed, making.context.packed.Find(key, bytes, [&](char* to) -> absl::Status {
        WEFT_ASSIGN_OR_RETURN(const auto module, making.context.units.Find(text));
        WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find("weft_convolution_pack"));
        const char* addresses[] = {constant, to};
        ConvolutionOperand none;
        std::string all = BytesOf(packing) + BytesOf(none);
        void* parameters[] = {&addresses[0], &addresses[1], &all[0]};
        const OperandRange ranges[] = {
            RangeOf(constant, ExtentOf(making.request, making.request.args[1]), false),
            RangeOf(to, {0, bytes})};
        return making.context.device.Launch(function, shape, parameters, ranges,
                                            "the weights of a convolution");
      }));
  code->SetPacked(std::move(packed));
  return absl::OkStatus();
}

absl::Status AddProduct(const Making& making, const ConvolutionForm& form, ConvolutionCode* code) {
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
bool SetProduct(Making* making, ConvolutionForm* form) {
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

// True if the depthwise kernel computes the step.
bool SetDepthwise(Making* making, ConvolutionForm* form) {
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

absl::Status AddDepthwise(const Making& making, const ConvolutionForm& form,
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
  const int64_t runs = CeilDiv(sizes.out[2], kDepthwisePoints);
  const int64_t threads =
      sizes.rows / sizes.out[2] * runs * (sizes.groups / DepthwiseGroup(form.operands.left));
  return AddKernel(making, text, "weft_convolution", GridOfElements(making, threads), code,
                   [&](PreparedLaunch* launch) {
                     AddOperand(making.request, 0, launch);
                     code->AddPacked(launch);
                     AddEndAndZeros(making, launch);
                   });
}

absl::Status AddDirect(const Making& making, ConvolutionForm form, ConvolutionCode* code) {
  form.transposed = making.transposed;
  return AddKernel(making, DirectConvolutionUnit(form, making.end()), "weft_convolution",
                   GridOfElements(making, making.request.results[0].numel()), code,
                   [&](PreparedLaunch* launch) {
                     AddOperand(making.request, 0, launch);
                     AddOperand(making.request, 1, launch);
                     AddEndAndZeros(making, launch);
                   });
}

// Finds the zero points of convolution_integer, which weights have for each slice of their dim 0.
void SetZeros(const StepRequest& request, Making* making) {
  if (request.args[2].present()) making->x_zero = 2;
  if (!request.args[3].present()) return;
  making->w_zero = 3;
  if (request.args[3].numel() == 1) return;
  (making->transposed ? making->sizes.zero_channel : making->sizes.zero_column) = 1;
}

// The argument that is the bias of `convolution`; -1: none. Arguments of the epilogue follow.
int BiasOf(const StepRequest& request) {
  size_t own = request.args.size();
  for (const Epilogue& e : request.step.epilogue) {
    if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
  }
  return own > 2 && request.args[2].present() ? 2 : -1;
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
  const Attrs attrs(request.step.schema, request.attrs);
  Making making{context, request, {}, {}, {}};
  making.transposed = attrs.Bool("transposed");
  if (!bytes) making.bias = BiasOf(request);
  // The op adds nothing where no pixel reaches; the kernels multiply a zero there.
  if (making.transposed && !bytes && HasWeightsNotFinite(request)) {
    return absl::UnimplementedError("weights of a transposed convolution that are not finite");
  }
  WEFT_ASSIGN_OR_RETURN(making.epilogue, MakeEpilogue(request, 1));
  WEFT_ASSIGN_OR_RETURN(making.sizes, SizesOf(attrs, x, request.args[1], y));
  if (making.bias >= 0) {
    making.sizes.has_bias = 1;
    making.sizes.bias = request.args[making.bias].strides[0];
  }
  if (bytes) SetZeros(request, &making);
  SetRows(y, making.epilogue, &making.sizes, &making.operands);
  auto code = std::make_unique<ConvolutionCode>(context.device, request);
  ConvolutionForm form;
  form.operands = {x.dtype, request.args[1].dtype, making.x_zero >= 0, making.w_zero >= 0};
  const ProductOperands operands = form.operands;
  const Making given = making;
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
