// Normalization.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

constexpr double kEpsilon = 1e-5;

// --- With given statistics ----------------------------------------------------

absl::Status RefuseTraining(NodeContext& c) {
  bool training = c.Bool("training_mode", false);
  // In version 6 training is the default.
  if (c.opset() < 7) training = !c.Bool("is_test", false);
  for (int i = 1; i < c.num_outputs(); ++i) training |= c.wants_output(i);
  if (!training) return absl::OkStatus();
  return c.Unsupported("training mode is not supported: only given statistics are");
}

// Statistics for each element of [C, D1, ...].
Value* NormalizeElements(NodeContext& c, double eps) {
  Value* rstd = c.Op(ops::rsqrt, {WithScalar(c, ops::add, c.in(4), eps)});
  Value* y = c.Op(ops::sub, {c.in(0), c.in(3)});
  y = c.Op(ops::mul, {y, c.Op(ops::mul, {rstd, c.in(1)})});
  return c.Op(ops::add, {y, c.in(2)});
}

absl::Status BatchNormalization(NodeContext& c) {
  const double eps = c.Float("epsilon", kEpsilon);
  c.Ignore({"momentum"});
  WEFT_RETURN_IF_ERROR(RefuseTraining(c));
  if (c.opset() < 9 && !c.Bool("spatial", true)) {
    c.SetOutput(0, NormalizeElements(c, eps));
    return c.status();
  }
  const Type type = c.type(0);
  Value* x = c.in(0);
  // An input [N] has one channel.
  if (c.ok() && type.rank() == 1) {
    x = Reshape(c, x, {type.dim(0), SymInt(1)});
  }
  Value* y = c.Op(ops::batch_norm, {x, c.in(1), c.in(2), c.in(3), c.in(4)}, {{"eps", eps}});
  c.SetOutput(0, Reshape(c, y, Dims(c.in(0))));
  return c.status();
}

// --- With statistics of groups of channels ------------------------------------

// The dtype of computations: f32 at least.
DType WideType(DType dtype) { return DTypeBits(dtype) < 32 ? DType::kF32 : dtype; }

// group_norm for an unknown number of channels.
Value* NormalizePlanes(NodeContext& c, double eps) {
  const Type type = c.type(0);
  const DType wide = WideType(type.dtype());
  std::vector<int64_t> dims;
  for (int i = 2; i < type.rank(); ++i) dims.push_back(i);
  Value* x = Convert(c, c.in(0), wide);
  Value* d = c.Op(ops::sub, {x, ops::BuildMean(c, x, dims, true)});
  Value* variance = ops::BuildMean(c, c.Op(ops::mul, {d, d}), dims, true);
  Value* rstd = c.Op(ops::rsqrt, {WithScalar(c, ops::add, variance, eps)});
  Value* y = c.Op(ops::mul, {d, rstd});
  const auto parameter = [&](int i) {
    return AlongDim(c, Convert(c, c.in(i), wide), 1, type.rank());
  };
  y = c.Op(ops::mul, {y, parameter(1)});
  y = c.Op(ops::add, {y, parameter(2)});
  return Convert(c, y, type.dtype());
}

absl::Status InstanceNormalization(NodeContext& c) {
  const double eps = c.Float("epsilon", kEpsilon);
  const Type type = c.type(0);
  if (c.ok() && type.rank() < 3) {
    return c.Fail(absl::StrCat("the input must be [N, C, ...], not ", type.ToString()));
  }
  WEFT_RETURN_IF_ERROR(c.status());
  if (!type.dim(1).is_constant()) {
    c.SetOutput(0, NormalizePlanes(c, eps));
    return c.status();
  }
  c.SetOutput(0, c.Op(ops::group_norm, {c.in(0), c.in(1), c.in(2)},
                      {{"num_groups", type.dim(1)}, {"eps", eps}}));
  return c.status();
}

// Repeats the element of each group for each of its channels.
Value* RepeatForChannels(NodeContext& c, Value* v, int64_t groups, SymInt channels) {
  const SymInt n = FloorDiv(channels, groups);
  v = Reshape(c, v, {SymInt(groups), SymInt(1)});
  v = Expand(c, v, {SymInt(groups), n});
  return Reshape(c, v, {channels});
}

// The op computes in f32 at least, as stash_type requires.
absl::Status GroupNormalization(NodeContext& c) {
  const double eps = c.Float("epsilon", kEpsilon);
  const int64_t groups = c.RequiredInt("num_groups");
  if (c.opset() >= 21) c.Ignore({"stash_type"});
  const Type type = c.type(0);
  Value* scale = c.in(1);
  Value* bias = c.in(2);
  WEFT_RETURN_IF_ERROR(c.status());
  if (type.rank() < 2 || groups < 1) {
    return c.Fail(absl::StrCat(type.ToString(), " has no ", groups, " groups of channels"));
  }
  if (c.opset() < 21) {
    scale = RepeatForChannels(c, scale, groups, type.dim(1));
    bias = RepeatForChannels(c, bias, groups, type.dim(1));
  }
  c.SetOutput(0, ops::BuildGroupNorm(c, c.in(0), scale, bias, groups, eps));
  return c.status();
}

// --- With statistics of the last dims -----------------------------------------

// True if the op can apply `v` itself: it is absent, or has these dims and this dtype.
bool IsParameter(const Value* v, DType dtype, absl::Span<const SymInt> dims) {
  return v == nullptr || (v->type().dtype() == dtype && v->type().dims() == dims);
}

absl::StatusOr<std::vector<SymInt>> NormalizedShape(NodeContext& c) {
  const Type type = c.type(0);
  WEFT_RETURN_IF_ERROR(c.status());
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), type.rank()));
  return std::vector<SymInt>(type.dims().begin() + axis, type.dims().end());
}

// Statistics are in f32 or f64, whatever stash_type is; it would matter only for dtypes below f32.
absl::Status LayerNormalization(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, NormalizedShape(c));
  // Some exporters write 0 for the input's own type.
  const DType stash =
      c.Int("stash_type", 1) == 0 ? WideType(c.dtype(0)) : c.Dtype("stash_type", DType::kF32);
  const DType dtype = c.dtype(0);
  Value* scale = c.in(1);
  Value* bias = c.opt(2);
  const bool inside = IsParameter(scale, dtype, shape) && IsParameter(bias, dtype, shape);
  const std::vector<Value*> results = c.b().Ops(
      ops::native_layer_norm, {c.in(0), inside ? scale : nullptr, inside ? bias : nullptr},
      {{"normalized_shape", shape}, {"eps", c.Float("epsilon", kEpsilon)}});
  WEFT_RETURN_IF_ERROR(c.status());
  Value* y = results[0];
  if (!inside) {
    y = c.Op(ops::mul, {y, Convert(c, scale, dtype)});
    if (bias != nullptr) {
      y = c.Op(ops::add, {y, Convert(c, bias, dtype)});
    }
  }
  c.SetOutput(0, y);
  for (int i : {1, 2}) {
    if (c.wants_output(i)) c.SetOutput(i, Convert(c, results[i], stash));
  }
  return c.status();
}

absl::Status RmsNormalization(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, NormalizedShape(c));
  c.Ignore({"stash_type"});
  Value* scale = c.in(1);
  const bool inside = IsParameter(scale, c.dtype(0), shape);
  Value* y = c.Op(ops::rms_norm, {c.in(0), inside ? scale : nullptr},
                  {{"normalized_shape", shape}, {"eps", c.Float("epsilon", kEpsilon)}});
  // The result has the dtype of the scale.
  if (!inside) {
    y = c.Op(ops::mul, {Convert(c, y, TypeOf(scale).dtype()), scale});
  }
  c.SetOutput(0, y);
  return c.status();
}

// --- Others -----------------------------------------------------------------

absl::Status Lrn(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::local_response_norm, {c.in(0)},
                      {{"size", c.RequiredInt("size")},
                       {"alpha", c.Float("alpha", 1e-4)},
                       {"beta", c.Float("beta", 0.75)},
                       {"k", c.Float("bias", 1)}}));
  return c.status();
}

absl::Status MeanVarianceNormalization(NodeContext& c) {
  const Type type = c.type(0);
  std::vector<int64_t> axes = c.Ints("axes");
  if (axes.empty()) {
    // The default axes, as far as the input has them.
    for (int64_t axis : {0, 2, 3}) {
      if (axis < type.rank()) axes.push_back(axis);
    }
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, c.Axes(axes, type.rank()));
  constexpr double kNotZero = 1e-9;
  Value* x = Convert(c, c.in(0), WideType(type.dtype()));
  Value* d = c.Op(ops::sub, {x, ops::BuildMean(c, x, dims, true)});
  Value* variance = ops::BuildMean(c, c.Op(ops::mul, {d, d}), dims, true);
  Value* deviation = WithScalar(c, ops::add, c.Op(ops::sqrt, {variance}), kNotZero);
  Value* y = c.Op(ops::div, {d, deviation});
  c.SetOutput(0, Convert(c, y, type.dtype()));
  return c.status();
}

// Zeros stay zeros.
absl::Status LpNormalization(NodeContext& c) {
  const int64_t p = c.Int("p", 2);
  if (p != 1 && p != 2) {
    return c.Fail(absl::StrCat("p must be 1 or 2, got ", p));
  }
  const Type type = c.type(0);
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", -1), type.rank()));
  Value* norm =
      ops::BuildDimsReduction(c, p == 1 ? ops::reduce_l1 : ops::reduce_l2, c.in(0), {axis}, true);
  Value* is_zero = WithScalar(c, ops::eq, norm, 0);
  Value* divisor = c.Op(ops::where, {is_zero, ScalarOf(c, type.dtype(), 1), norm});
  c.SetOutput(0, c.Op(ops::div, {c.in(0), divisor}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"BatchNormalization", {6, 7, 9, 14, 15}, BatchNormalization},
    {"GroupNormalization", {18, 21}, GroupNormalization},
    {"InstanceNormalization", {6, 22}, InstanceNormalization},
    {"LRN", {1, 13}, Lrn},
    // Exporters wrote it before opset 17, and ONNX Runtime accepted it.
    {"LayerNormalization", {1, 17}, LayerNormalization},
    {"LpNormalization", {1, 22}, LpNormalization},
    {"MeanVarianceNormalization", {9, 13}, MeanVarianceNormalization},
    {"RMSNormalization", {23}, RmsNormalization},
    // ONNX Runtime wrote this before version 23.
    {"SimplifiedLayerNormalization", {1}, RmsNormalization},
};

}  // namespace

absl::Span<const OnnxOp> NormTable() { return kTable; }

}  // namespace weft::onnx_import
