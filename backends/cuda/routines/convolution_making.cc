#include "backends/cuda/routines/convolution_making.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "backends/cuda/routines/joined_dims.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"

namespace weft::cuda {
namespace {

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

// True if neighbouring columns at these strides lie in aligned groups. `columns`: of a run of them.
bool HasColumnGroups(const ConvolutionSizes& sizes, const int64_t* row, int64_t column,
                     int64_t offset, int64_t columns, int64_t group) {
  bool even = column == 1 && columns % group == 0 && offset % group == 0;
  for (int64_t d = 0; d < sizes.row_rank; ++d) {
    even = even && (sizes.row_dims[d] == 1 || row[d] % group == 0);
  }
  return even;
}

// The argument that is the bias of `convolution`; -1: none. Arguments of the epilogue follow.
int BiasOf(const StepRequest& request) {
  size_t own = request.args.size();
  for (const Epilogue& e : request.step.epilogue) {
    if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
  }
  return own > 2 && request.args[2].present() ? 2 : -1;
}

// Finds the zero points of convolution_integer, which weights have for each slice of their dim 0.
void SetZeros(const StepRequest& request, ConvolutionMaking* making) {
  if (request.args[2].present()) making->x_zero = 2;
  if (!request.args[3].present()) return;
  making->w_zero = 3;
  if (request.args[3].numel() == 1) return;
  (making->transposed ? making->sizes.zero_channel : making->sizes.zero_column) = 1;
}

std::string SizesText(const ConvolutionMaking& making) {
  std::string bytes = BytesOf(making.sizes);
  for (const ConvolutionOperand& operand : making.operands) bytes += BytesOf(operand);
  return bytes + BytesOf(ConvolutionOperand());
}

// The address of the weights if they are constant, else null.
const char* ConstantWeights(const StepRequest& request) {
  const RunView& w = request.args[1];
  const char* buffer = request.constants[w.buffer];
  return buffer == nullptr ? nullptr : buffer + w.offset * (DTypeBits(w.dtype) / 8);
}

}  // namespace

absl::StatusOr<ConvolutionMaking> DescribeConvolution(const RoutineContext& context,
                                                      const StepRequest& request) {
  const RunView& y = request.results[0];
  const bool bytes = request.step.op->name() == "convolution_integer";
  const Attrs attrs(request.step.schema, request.attrs);
  ConvolutionMaking making{context, request, {}, {}, {}};
  making.transposed = attrs.Bool("transposed");
  if (!bytes) making.bias = BiasOf(request);
  WEFT_ASSIGN_OR_RETURN(making.epilogue, MakeEpilogue(request, 1));
  WEFT_ASSIGN_OR_RETURN(making.sizes, SizesOf(attrs, request.args[0], request.args[1], y));
  if (making.bias >= 0) {
    making.sizes.has_bias = 1;
    making.sizes.bias = request.args[making.bias].strides[0];
  }
  if (bytes) SetZeros(request, &making);
  SetRows(y, making.epilogue, &making.sizes, &making.operands);
  return making;
}

// Memory begins at multiples of 16 bytes.
bool HasChannelGroups(const RunView& x, int64_t channels, int64_t group) {
  bool even = x.strides[1] == 1 && channels % group == 0 && x.offset % group == 0;
  for (int d = 0; d < x.rank(); ++d) {
    even = even && (d == 1 || x.dims[d] == 1 || x.strides[d] % group == 0);
  }
  return even;
}

void SetColumnGroups(int64_t columns, int64_t group, ConvolutionMaking* making) {
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

void AddEnd(const ConvolutionMaking& making, PreparedLaunch* launch) {
  AddOperand(making.request, making.bias, launch);
  AddOperand(making.request, static_cast<int>(making.request.args.size()), launch);
  making.epilogue.AddOperands(making.request, launch);
}

void AddEndAndZeros(const ConvolutionMaking& making, PreparedLaunch* launch) {
  AddEnd(making, launch);
  if (!making.bytes()) return;
  AddOperand(making.request, making.x_zero, launch);
  AddOperand(making.request, making.w_zero, launch);
}

absl::Status AddKernel(const ConvolutionMaking& making, const std::string& text, const char* name,
                       const LaunchShape& shape, ConvolutionCode* code,
                       absl::FunctionRef<void(PreparedLaunch*)> add) {
  if (shape.blocks == 0) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const auto module, making.context.units.Find(text));
  return code->AddKernel(module, name, shape, add, SizesText(making));
}

LaunchShape GridOfElements(const ConvolutionMaking& making, int64_t elements) {
  return GridOfElements(elements, making.context.device.multiprocessors());
}

absl::Status FindUnits(const ConvolutionMaking& making, const std::vector<std::string>& texts) {
  absl::Status status;
  for (const std::string& text : texts) status.Update(making.context.units.Find(text).status());
  return status;
}

std::string PackUnit(const ConvolutionForm& form) {
  return ConvolutionPackUnit(form.operands.right, form.kind != ConvolutionKind::kPlain,
                             form.channels_first);
}

absl::Status AddPack(const ConvolutionMaking& making, const ConvolutionForm& form,
                     const ConvolutionSizes& sizes, ConvolutionCode* code) {
  const std::string text = PackUnit(form);
  const int64_t elements = sizes.groups * sizes.depth * sizes.width;
  const int64_t bytes = elements * (DTypeBits(form.operands.left) / 8);
  const LaunchShape shape = GridOfElements(making, elements);
  const char* constant = ConstantWeights(making.request);
  if (constant == nullptr) {
    code->ReservePacked(bytes);
    ConvolutionMaking pack = making;
    pack.sizes = sizes;
    return AddKernel(pack, text, "weft_convolution_pack", shape, code, [&](PreparedLaunch* launch) {
      AddOperand(making.request, 1, launch);
      code->AddPacked(launch);
    });
  }
  // The sizes that the kernel reads.
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

}  // namespace weft::cuda
