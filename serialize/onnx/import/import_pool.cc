// Pooling over windows, over whole planes, and its inverse.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/import_window.h"

namespace weft::onnx_import {
namespace {

// --- Windows ----------------------------------------------------------------

// A pool's attributes in the form of the ops.
struct Pool {
  std::vector<int64_t> kernel;
  Window window;
  // Padding that the pool op applies.
  std::vector<int64_t> padding;
  bool ceil_mode = false;
  // The window's padding must be applied before the pool, because its sizes are symbolic or larger
  // than the kernel's.
  bool pad_first = false;
};

bool PoolCanPad(const Pool& pool) {
  const size_t n = pool.kernel.size();
  for (size_t i = 0; i < 2 * n; ++i) {
    const SymInt p = pool.window.padding[i];
    const int64_t most = (pool.kernel[i % n] - 1) * pool.window.dilation[i % n];
    if (!p.is_constant() || p.value() < 0 || p.value() > most) return false;
  }
  return true;
}

absl::StatusOr<Pool> ReadPool(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> in, SpatialDims(c, c.in(0)));
  Pool pool;
  WEFT_ASSIGN_OR_RETURN(pool.kernel, PositiveInts(c, "kernel_shape"));
  WEFT_ASSIGN_OR_RETURN(pool.window, ReadWindow(c, in, ToSymInts(pool.kernel)));
  // ceil_mode has no effect on the sizes of auto_pad.
  pool.ceil_mode = c.Bool("ceil_mode", false) && pool.window.auto_pad == AutoPad::kNotSet;
  pool.padding.assign(2 * pool.kernel.size(), 0);
  pool.pad_first = !PoolCanPad(pool);
  if (!pool.pad_first) {
    pool.padding = *AllConstant(pool.window.padding);
  } else if (pool.ceil_mode) {
    return c.Unsupported(
        absl::StrCat("pads ", ToString(pool.window.padding), " with ceil_mode are not supported"));
  }
  return pool;
}

// Pads the last dims.
Value* PadSpatial(NodeContext& c, Value* v, absl::Span<const SymInt> padding, Value* fill) {
  if (v == nullptr) return nullptr;
  const int n = static_cast<int>(padding.size()) / 2;
  std::vector<SymInt> pad;
  for (int side : {0, 1}) {
    pad.insert(pad.end(), v->type().rank() - n, SymInt(0));
    pad.insert(pad.end(), padding.begin() + side * n, padding.begin() + (side + 1) * n);
  }
  return ops::BuildPad(c, v, fill, pad);
}

// The least value of a dtype.
Value* Lowest(NodeContext& c, DType dtype) {
  if (IsInt(dtype)) {
    return c.b().Constant(HostTensor::ScalarInt(dtype, IntMin(dtype)));
  }
  return ScalarOf(c, dtype, -std::numeric_limits<double>::infinity());
}

// --- MaxPool ----------------------------------------------------------------

Value* IntScalar(NodeContext& c, SymInt value) { return SymTensor(c, {value}, {}); }

// Converts indices of a row-major plane with sizes `dims` to column-major ones.
Value* ColumnMajor(NodeContext& c, Value* index, absl::Span<const SymInt> dims) {
  Value* rest = index;
  Value* sum = nullptr;
  for (size_t i = dims.size(); i-- > 0;) {
    Value* size = IntScalar(c, dims[i]);
    Value* at = i == 0 ? rest : c.Op(ops::remainder, {rest, size});
    if (i > 0) {
      rest = ops::BuildDiv(c, rest, size, "floor");
    }
    Value* scaled = c.Op(ops::mul, {at, IntScalar(c, Product(dims.first(i)))});
    sum = sum == nullptr ? scaled : c.Op(ops::add, {sum, scaled});
  }
  return sum;
}

// Converts indices in the planes of a tensor with sizes `dims` to indices in the whole tensor.
Value* FromPlanes(NodeContext& c, Value* index, absl::Span<const SymInt> dims) {
  const SymInt planes = dims[0] * dims[1];
  if (planes.Is(1)) return index;
  std::vector<SymInt> size(dims.size(), SymInt(1));
  size[0] = dims[0];
  size[1] = dims[1];
  Value* plane = Iota(c, planes);
  Value* start = c.Op(ops::mul, {Reshape(c, plane, size), IntScalar(c, Product(dims.subspan(2)))});
  return c.Op(ops::add, {index, start});
}

absl::Status MaxPool(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Pool pool, ReadPool(c));
  const bool column_major = c.Bool("storage_order", false);
  const Type type = c.type(0);
  Value* x = c.in(0);
  if (pool.pad_first) {
    if (c.wants_output(1)) {
      return c.Unsupported(absl::StrCat("output Indices with pads ", ToString(pool.window.padding),
                                        " is not supported"));
    }
    x = PadSpatial(c, x, pool.window.padding, Lowest(c, type.dtype()));
  }
  const std::vector<Value*> results =
      ops::BuildMaxPool(c.b(), x, pool.kernel, pool.window.stride, pool.padding,
                        pool.window.dilation, pool.ceil_mode);
  WEFT_RETURN_IF_ERROR(c.status());
  c.SetOutput(0, results[0]);
  if (!c.wants_output(1)) return c.status();
  Value* index = results[1];
  if (column_major) index = ColumnMajor(c, index, type.dims().subspan(2));
  c.SetOutput(1, FromPlanes(c, index, type.dims()));
  return c.status();
}

// --- AveragePool, LpPool ----------------------------------------------------

Value* Average(NodeContext& c, const Pool& pool, Value* x, bool count_include_pad) {
  return ops::BuildAvgPool(c, x, pool.kernel, pool.window.stride, pool.padding,
                           pool.window.dilation, pool.ceil_mode, count_include_pad);
}

// The share of each window that lies in the input.
Value* CoveredShare(NodeContext& c, const Pool& pool, Type type) {
  std::vector<SymInt> size(type.dims().begin(), type.dims().end());
  size[0] = 1;
  size[1] = 1;
  Value* ones = Expand(c, ScalarOf(c, type.dtype(), 1), size);
  return Average(c, pool, PadSpatial(c, ones, pool.window.padding, nullptr), true);
}

}  // namespace

absl::StatusOr<Value*> PoolAverage(NodeContext& c, Value* x) {
  WEFT_ASSIGN_OR_RETURN(const Pool pool, ReadPool(c));
  const bool count_include_pad = c.Bool("count_include_pad", false);
  if (!pool.pad_first) return Average(c, pool, x, count_include_pad);
  Value* y = Average(c, pool, PadSpatial(c, x, pool.window.padding, nullptr), true);
  if (count_include_pad) return y;
  return c.Op(ops::div, {y, CoveredShare(c, pool, TypeOf(x))});
}

namespace {

absl::Status AveragePool(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(Value* const y, PoolAverage(c, c.in(0)));
  c.SetOutput(0, y);
  return c.status();
}

absl::Status LpPool(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const Pool pool, ReadPool(c));
  Value* x = c.in(0);
  if (pool.pad_first) x = PadSpatial(c, x, pool.window.padding, nullptr);
  c.SetOutput(
      0, ops::BuildLpPool(c, x, pool.kernel, pool.window.stride, pool.padding, pool.window.dilation,
                          pool.ceil_mode, static_cast<double>(c.Int("p", 2))));
  return c.status();
}

// --- Whole planes -----------------------------------------------------------

absl::StatusOr<std::vector<int64_t>> PlaneAxes(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(SpatialDims(c, c.in(0)).status());
  std::vector<int64_t> axes;
  for (int i = 2; i < c.rank(0); ++i) axes.push_back(i);
  return axes;
}

absl::Status ReducePlanes(NodeContext& c, const OpDef& op) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, PlaneAxes(c));
  c.SetOutput(0, ops::BuildDimsReduction(c, op, c.in(0), axes, true));
  return c.status();
}

absl::Status GlobalAveragePool(NodeContext& c) { return ReducePlanes(c, ops::mean); }

absl::Status GlobalMaxPool(NodeContext& c) { return ReducePlanes(c, ops::amax); }

// The p-th root of the sum of the p-th powers.
absl::Status GlobalLpPool(NodeContext& c) {
  const int64_t p = c.Int("p", 2);
  if (p == 1) return ReducePlanes(c, ops::reduce_l1);
  if (p == 2) return ReducePlanes(c, ops::reduce_l2);
  if (p < 1) return c.Fail(absl::StrCat("p must be positive, got ", p));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, PlaneAxes(c));
  Value* powers = WithScalar(c, ops::pow, c.Op(ops::abs, {c.in(0)}), p);
  Value* sums = ops::BuildSum(c, powers, axes, true);
  c.SetOutput(0, WithScalar(c, ops::pow, sums, 1.0 / p));
  return c.status();
}

// --- MaxUnpool --------------------------------------------------------------

// Indices refer to the tensor that the windows were applied to; output_shape only adds zeros at the
// ends of its dims.
absl::Status MaxUnpool(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> in, SpatialDims(c, c.in(0)));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, PositiveInts(c, "kernel_shape"));
  WEFT_ASSIGN_OR_RETURN(const Window w, ReadWindow(c, in, ToSymInts(kernel)));
  const Type type = c.type(0);
  const size_t n = in.size();
  std::vector<SymInt> size = {type.dim(0), type.dim(1)};
  for (size_t i = 0; i < n; ++i) {
    size.push_back((in[i] - 1) * w.stride[i] + w.kernel[i] - w.padding[i] - w.padding[n + i]);
  }
  Value* index = c.in(1);
  if (!(size[0] * size[1]).Is(1)) {
    const SymInt plane = Product(absl::MakeConstSpan(size).subspan(2));
    index = c.Op(ops::remainder, {index, IntScalar(c, plane)});
  }
  Value* y = ops::BuildMaxUnpool(c, c.in(0), index, size);
  if (c.has_input(2)) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, c.SizesFromTensor(2));
    if (shape.size() != n + 2) {
      return c.Fail(absl::StrCat("output_shape has ", shape.size(), " entries instead of ", n + 2));
    }
    std::vector<SymInt> padding(2 * n + 4);
    for (size_t i = 0; i < n + 2; ++i) padding[n + 2 + i] = shape[i] - size[i];
    y = PadSpatial(c, y, padding, nullptr);
  }
  c.SetOutput(0, y);
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"AveragePool", {1, 7, 10, 11, 19, 22}, AveragePool},
    {"GlobalAveragePool", {1, 22}, GlobalAveragePool},
    {"GlobalLpPool", {2, 22}, GlobalLpPool},
    {"GlobalMaxPool", {1, 22}, GlobalMaxPool},
    {"LpPool", {2, 11, 18, 22}, LpPool},
    {"MaxPool", {1, 8, 10, 11, 12, 22}, MaxPool},
    {"MaxUnpool", {9, 11, 22}, MaxUnpool},
};

}  // namespace

absl::Span<const OnnxOp> PoolTable() { return kTable; }

}  // namespace weft::onnx_import
