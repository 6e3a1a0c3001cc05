// Pooling over windows, and its inverse.

#include <algorithm>

#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

struct Windows {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Windows WindowsOf(const NodeExport& e) {
  return {e.attrs().Ints("kernel_size"), e.attrs().Ints("stride"), e.attrs().Ints("padding"),
          e.attrs().Ints("dilation"), e.attrs().Bool("ceil_mode")};
}

// Rounds down instead, by padding at the end as far as the last window needs;
// false when a size is not known. Only for functions to which padding is
// nothing.
bool DropCeilMode(const NodeExport& e, Windows* w) {
  const int n = static_cast<int>(w->kernel.size());
  std::vector<int64_t> ends;
  for (int i = 0; i < n; ++i) {
    const auto in = e.type().dim(2 + i).constant();
    const auto out = e.out_type().dim(2 + i).constant();
    if (!in || !out) return false;
    const int64_t extent = w->dilation[i] * (w->kernel[i] - 1) + 1;
    const int64_t last = (*out - 1) * w->stride[i] + extent;
    ends.push_back(std::max<int64_t>(last - *in - w->padding[i], 0));
  }
  std::copy(ends.begin(), ends.end(), w->padding.begin() + n);
  w->ceil_mode = false;
  return true;
}

bool IsDilated(const Windows& w) {
  return std::any_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d != 1; });
}

OnnxAttrs WindowAttrs(const Windows& w) {
  OnnxAttrs attrs = {{"kernel_shape", w.kernel}, {"pads", w.padding}, {"strides", w.stride}};
  if (w.ceil_mode) attrs.push_back({"ceil_mode", 1});
  if (IsDilated(w)) attrs.push_back({"dilations", w.dilation});
  return attrs;
}

// Elements in a plane [spatial...].
SymInt PlaneSize(absl::Span<const SymInt> dims) { return Product(dims.subspan(2)); }

// ONNX counts indices from the start of the tensor, Weft from that of the plane.
absl::Status ExportMaxPool(NodeExport& e) {
  Windows w = WindowsOf(e);
  if (w.ceil_mode) DropCeilMode(e, &w);
  const std::vector<Val> results = e.Ops("MaxPool", {e.in(0)}, WindowAttrs(w), {true, e.used(1)});
  e.SetOutput(0, results[0]);
  if (e.used(1)) {
    Val plane = e.Size(PlaneSize(e.type().dims()));
    e.SetOutput(1, e.Op("Mod", {results[1], plane}));
  }
  return absl::OkStatus();
}

absl::Status ExportAvgPool(NodeExport& e) {
  Windows w = WindowsOf(e);
  const bool with_padding = e.attrs().Bool("count_include_pad");
  if (w.ceil_mode && !with_padding) DropCeilMode(e, &w);
  if (IsDilated(w) && e.opset() < 19) {
    return e.Unsupported("with dilation needs opset 19");
  }
  OnnxAttrs attrs = WindowAttrs(w);
  if (with_padding) attrs.push_back({"count_include_pad", 1});
  e.SetOutput(0, e.Op("AveragePool", {e.in(0)}, attrs));
  return absl::OkStatus();
}

absl::Status ExportLpPool(NodeExport& e) {
  Windows w = WindowsOf(e);
  if (w.ceil_mode) DropCeilMode(e, &w);
  if ((w.ceil_mode || IsDilated(w)) && e.opset() < 18) {
    return e.Unsupported("with dilation or ceil_mode needs opset 18");
  }
  const double p = e.attrs().Float("p");
  const int64_t power = static_cast<int64_t>(p);
  if (static_cast<double>(power) != p) {
    return e.Unsupported("has no form for fractions as p");
  }
  OnnxAttrs attrs = WindowAttrs(w);
  attrs.push_back({"p", power});
  e.SetOutput(0, e.Op("LpPool", {e.in(0)}, attrs));
  return absl::OkStatus();
}

// Zeros as [N, C, plane], and the elements scattered into them.
absl::Status ExportMaxUnpool(NodeExport& e) {
  const auto size = e.attrs().Syms("size");
  const auto from = e.type().dims();
  const SymInt in[] = {from[0], from[1], PlaneSize(from)};
  const SymInt out[] = {size[0], size[1], PlaneSize(size)};
  Val zeros = e.Full(out, HostTensor::Scalar(e.dtype(), 0));
  Val indices = e.Reshape(e.in(1), from, in);
  Val values = e.Reshape(e.in(0), from, in);
  Val planes = e.Op("ScatterElements", {zeros, indices, values}, {{"axis", 2}});
  e.SetOutput(0, e.Reshape(planes, out, size));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> PoolExports() {
  static const ExportEntry kEntries[] = {
      {&ops::avg_pool, ExportAvgPool, "", "dilation needs opset 19"},
      {&ops::lp_pool, ExportLpPool, "",
       "dilation needs opset 18, as does ceil_mode on symbolic sizes; p must be "
       "an integer"},
      {&ops::max_pool, ExportMaxPool},
      {&ops::max_unpool, ExportMaxUnpool},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
