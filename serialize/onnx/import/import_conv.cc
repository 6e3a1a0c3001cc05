// Convolutions of floats. Those of quantized integers are in import_quant.cc.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/import_window.h"

namespace weft::onnx_import {
namespace {

// The spatial dims of the weight, which `kernel_shape` may only repeat.
absl::StatusOr<std::vector<SymInt>> KernelOf(NodeContext& c, Value* w) {
  WEFT_ASSIGN_OR_RETURN(std::vector<SymInt> kernel, SpatialDims(c, w));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        ListAttr(c, "kernel_shape", kernel.size(), -1));
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (shape[i] == -1) continue;
    if (kernel[i].is_constant() && !kernel[i].Is(shape[i])) {
      return c.Fail(absl::StrCat("kernel_shape is not that of the weight, ", w->type().ToString()));
    }
  }
  return kernel;
}

absl::Status Conv(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(Value* const y, Convolve(c, c.in(0), c.in(1), c.opt(2)));
  c.SetOutput(0, y);
  return c.status();
}

// Padding with which the result has the sizes `want`. If a total is negative, the result is
// extended with zeros at the end instead of being cropped.
std::vector<SymInt> PaddingFor(absl::Span<const SymInt> want, absl::Span<const SymInt> in,
                               const Window& w, absl::Span<const int64_t> output_padding) {
  const size_t n = in.size();
  std::vector<SymInt> padding(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const SymInt extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    const SymInt total = (in[i] - 1) * w.stride[i] + output_padding[i] + extent - want[i];
    const SymInt positive = Max(total, 0);
    padding[i] = w.auto_pad == AutoPad::kSameUpper ? FloorDiv(positive, 2) : CeilDiv(positive, 2);
    padding[n + i] = total - padding[i];
  }
  return padding;
}

absl::StatusOr<std::vector<SymInt>> TransposedPadding(NodeContext& c, absl::Span<const SymInt> in,
                                                      const Window& w,
                                                      absl::Span<const int64_t> output_padding) {
  const size_t n = in.size();
  std::vector<int64_t> shape = c.Ints("output_shape");
  std::vector<SymInt> want;
  if (!shape.empty()) {
    // Some exporters also list batch and channels.
    if (shape.size() == n + 2) shape.erase(shape.begin(), shape.begin() + 2);
    if (shape.size() != n) {
      return c.Fail(absl::StrCat("output_shape has ", shape.size(), " entries instead of ", n));
    }
    want = ToSymInts(shape);
  } else if (w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower) {
    for (size_t i = 0; i < n; ++i) want.push_back(in[i] * w.stride[i]);
  } else {
    return w.padding;
  }
  return PaddingFor(want, in, w, output_padding);
}

absl::Status ConvTranspose(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> in, SpatialDims(c, c.in(0)));
  WEFT_ASSIGN_OR_RETURN(std::vector<SymInt> kernel, KernelOf(c, c.in(1)));
  WEFT_ASSIGN_OR_RETURN(const Window w, ReadWindow(c, in, std::move(kernel)));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding,
                        ListAttr(c, "output_padding", in.size(), 0));
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> padding,
                        TransposedPadding(c, in, w, output_padding));
  c.SetOutput(0, c.Op(ops::convolution, {c.in(0), c.in(1), c.opt(2)},
                      {{"stride", w.stride},
                       {"padding", padding},
                       {"dilation", w.dilation},
                       {"transposed", true},
                       {"output_padding", output_padding},
                       {"groups", c.Int("group", 1)}}));
  return c.status();
}

absl::Status DeformConv(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> in, SpatialDims(c, c.in(0)));
  WEFT_ASSIGN_OR_RETURN(std::vector<SymInt> kernel, KernelOf(c, c.in(1)));
  WEFT_ASSIGN_OR_RETURN(const Window w, ReadWindow(c, in, std::move(kernel)));
  c.SetOutput(0, c.Op(ops::deform_conv, {c.in(0), c.in(1), c.in(2), c.opt(4), c.opt(3)},
                      {{"stride", w.stride},
                       {"padding", w.padding},
                       {"dilation", w.dilation},
                       {"groups", c.Int("group", 1)},
                       {"offset_groups", c.Int("offset_group", 1)}}));
  return c.status();
}

// A depthwise convolution along the last dim of [N, C, length] whose input begins with past_state,
// or zeros. The new state is the end of that input.
absl::Status CausalConvWithState(NodeContext& c) {
  const Type w = c.type(1);
  if (c.ok() && (c.rank(0) != 3 || w.rank() != 3)) {
    return c.Fail(absl::StrCat("input and weight must have rank 3, got ", c.type(0).ToString(),
                               " and ", w.ToString()));
  }
  WEFT_RETURN_IF_ERROR(c.status());
  const std::string activation = c.Str("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return c.Fail(absl::StrCat("unknown activation \"", activation, "\""));
  }
  const SymInt before = w.dim(2) - 1;
  Value* x = c.has_input(3) ? ops::BuildCat(c, {c.in(3), c.in(0)}, 2)
                            : ops::BuildPad(c, c.in(0), nullptr, {0, 0, before, 0, 0, 0});
  Value* y = c.Op(ops::convolution, {x, c.in(1), c.opt(2)},
                  {{"stride", std::vector<int64_t>{1}},
                   {"padding", std::vector<int64_t>{0}},
                   {"dilation", std::vector<int64_t>{1}},
                   {"groups", c.type(0).dim(1)}});
  if (activation != "none") y = c.Op(ops::silu, {y});
  WEFT_RETURN_IF_ERROR(c.status());
  const SymInt end = x->type().dim(2);
  c.SetOutput(0, y);
  c.SetOutput(1, Slice(c, x, 2, end - before, end));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"CausalConvWithState", {27}, CausalConvWithState},
    {"Conv", {1, 11, 22}, Conv},
    {"ConvTranspose", {1, 11, 22}, ConvTranspose},
    {"DeformConv", {19, 22}, DeformConv},
};

}  // namespace

absl::StatusOr<Value*> Convolve(NodeContext& c, Value* x, Value* w, Value* bias) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> in, SpatialDims(c, x));
  WEFT_ASSIGN_OR_RETURN(std::vector<SymInt> kernel, KernelOf(c, w));
  WEFT_ASSIGN_OR_RETURN(const Window window, ReadWindow(c, in, std::move(kernel)));
  return ops::BuildConvolution(c, x, w, bias, ToSymInts(window.stride), window.padding,
                               ToSymInts(window.dilation),
                               /*transposed=*/false, /*output_padding=*/{}, c.Int("group", 1));
}

absl::Span<const OnnxOp> ConvTable() { return kTable; }

}  // namespace weft::onnx_import
