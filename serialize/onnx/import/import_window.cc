#include "serialize/onnx/import/import_window.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::onnx_import {

absl::StatusOr<std::vector<int64_t>> ListAttr(NodeContext& c, absl::string_view name, size_t n,
                                              int64_t fill) {
  std::vector<int64_t> values = c.Ints(name);
  if (values.empty()) values.assign(n, fill);
  if (values.size() == n) return values;
  return c.Fail(
      absl::StrCat("attribute \"", name, "\" has ", values.size(), " entries instead of ", n));
}

absl::StatusOr<AutoPad> ReadAutoPad(NodeContext& c) {
  const std::string name = c.Str("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "VALID") return AutoPad::kValid;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  return c.Fail(absl::StrCat("unknown auto_pad \"", name, "\""));
}

namespace {

// The number of windows is the size divided by the stride, rounded up.
std::vector<SymInt> SamePadding(absl::Span<const SymInt> in, const Window& w) {
  const size_t n = in.size();
  std::vector<SymInt> padding(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const SymInt extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    const SymInt out = CeilDiv(in[i], w.stride[i]);
    const SymInt total = Max((out - 1) * w.stride[i] + extent - in[i], 0);
    const SymInt less = FloorDiv(total, 2);
    const SymInt more = total - less;
    const bool upper = w.auto_pad == AutoPad::kSameUpper;
    padding[i] = upper ? less : more;
    padding[n + i] = upper ? more : less;
  }
  return padding;
}

// Limits values so that sums and products of them do not overflow.
absl::Status CheckInt32(NodeContext& c, absl::string_view name, absl::Span<const int64_t> values,
                        int64_t least) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (int64_t v : values) {
    if (v >= least && v <= kMost) continue;
    return c.Fail(absl::StrCat("attribute \"", name, "\" has the entry ", v, ", which is not in [",
                               least, ", ", kMost, "]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> PositiveInts(NodeContext& c, absl::string_view name) {
  std::vector<int64_t> values = c.Ints(name);
  WEFT_RETURN_IF_ERROR(CheckInt32(c, name, values, 1));
  return values;
}

absl::StatusOr<Window> ReadWindow(NodeContext& c, absl::Span<const SymInt> in,
                                  std::vector<SymInt> kernel) {
  const size_t n = in.size();
  Window w;
  w.kernel = std::move(kernel);
  if (w.kernel.size() != n) {
    return c.Fail(absl::StrCat("the kernel has ", w.kernel.size(), " dims, but the input ", n,
                               " spatial ones"));
  }
  WEFT_ASSIGN_OR_RETURN(w.stride, ListAttr(c, "strides", n, 1));
  WEFT_ASSIGN_OR_RETURN(w.dilation, ListAttr(c, "dilations", n, 1));
  WEFT_RETURN_IF_ERROR(CheckInt32(c, "strides", w.stride, 1));
  WEFT_RETURN_IF_ERROR(CheckInt32(c, "dilations", w.dilation, 1));
  WEFT_ASSIGN_OR_RETURN(w.auto_pad, ReadAutoPad(c));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ListAttr(c, "pads", 2 * n, 0));
  // Negative pads crop.
  WEFT_RETURN_IF_ERROR(CheckInt32(c, "pads", pads, std::numeric_limits<int32_t>::min()));
  switch (w.auto_pad) {
    case AutoPad::kNotSet:
      w.padding = ToSymInts(pads);
      break;
    case AutoPad::kValid:
      w.padding.assign(2 * n, 0);
      break;
    default:
      w.padding = SamePadding(in, w);
  }
  return w;
}

absl::StatusOr<std::vector<SymInt>> SpatialDims(NodeContext& c, Value* v) {
  const Type type = TypeOf(v);
  WEFT_RETURN_IF_ERROR(c.status());
  if (type.rank() < 3) {
    return c.Fail(absl::StrCat("the input must be [N, C, spatial...], not ", type.ToString()));
  }
  return std::vector<SymInt>(type.dims().begin() + 2, type.dims().end());
}

}  // namespace weft::onnx_import
