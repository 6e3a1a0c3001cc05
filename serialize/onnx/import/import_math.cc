// Matmuls, the softmax family, and cumulative sums.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

absl::Status MatMul(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::matmul, {c.in(0), c.in(1)}));
  return c.status();
}

Value* Scaled(NodeContext& c, Value* v, double factor) {
  if (factor == 1 || v == nullptr) return v;
  // Integer matrices are scaled by the integer part of the factor, as in ONNX Runtime.
  return c.Op(ops::mul, {v, ScalarLike(c, v, factor)});
}

// alpha * A' * B' + beta * C. The common case is ATen's linear.
absl::Status Gemm(NodeContext& c) {
  const double alpha = c.Float("alpha", 1);
  const double beta = c.Float("beta", 1);
  const bool trans_a = c.Bool("transA", false);
  const bool trans_b = c.Bool("transB", false);
  if (c.opset() < 7) c.Ignore({"broadcast"});
  Value* a = c.in(0);
  Value* b = c.in(1);
  WEFT_RETURN_IF_ERROR(c.status());
  if (c.rank(0) != 2 || c.rank(1) != 2) {
    return c.Fail(absl::StrCat("A and B must be matrices, not ", c.type(0).ToString(), " and ",
                               c.type(1).ToString()));
  }
  const std::vector<int64_t> swap = {1, 0};
  if (trans_a) a = Permute(c, a, swap);
  Value* bias = beta == 0 ? nullptr : c.opt(2);
  const bool vector_bias =
      bias == nullptr ||
      (bias->type().rank() == 1 && bias->type().dim(0) == c.type(1).dim(trans_b ? 0 : 1));
  if (trans_b && alpha == 1 && beta == 1 && vector_bias && IsFloat(c.dtype(0))) {
    c.SetOutput(0, c.Op(ops::linear, {a, b, bias}));
    return c.status();
  }
  if (trans_b) b = Permute(c, b, swap);
  Value* y = Scaled(c, c.Op(ops::matmul, {a, b}), alpha);
  if (bias != nullptr) y = c.Op(ops::add, {y, Scaled(c, bias, beta)});
  c.SetOutput(0, y);
  return c.status();
}

// Before opset 13 the input is treated as a matrix [dims before axis, other dims]; since then
// `axis` is one dim.
template <const OpDef& op>
absl::Status Softmax(NodeContext& c) {
  const bool flattens = c.opset() < 13;
  Value* x = c.in(0);
  WEFT_ASSIGN_OR_RETURN(const int axis,
                        c.Axis(c.Int("axis", flattens ? 1 : -1), c.rank(0), flattens));
  if (!flattens || axis == c.rank(0) - 1) {
    c.SetOutput(0, c.Op(op, {x}, {{"dim", axis}}));
    return c.status();
  }
  const std::vector<SymInt> dims = Dims(x);
  const auto split = absl::MakeConstSpan(dims);
  Value* matrix = Reshape(c, x, {Product(split.subspan(0, axis)), Product(split.subspan(axis))});
  c.SetOutput(0, Reshape(c, c.Op(op, {matrix}, {{"dim", 1}}), dims));
  return c.status();
}

template <const OpDef& op>
absl::Status Cumulative(NodeContext& c) {
  const bool exclusive = c.Bool("exclusive", false);
  const bool reverse = c.Bool("reverse", false);
  WEFT_ASSIGN_OR_RETURN(const int64_t given, c.RequireConstantInt(1));
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(given, c.rank(0)));
  c.SetOutput(0,
              c.Op(op, {c.in(0)}, {{"dim", axis}, {"exclusive", exclusive}, {"reverse", reverse}}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"CumProd", {26}, Cumulative<ops::cumprod>},
    {"CumSum", {11, 14}, Cumulative<ops::cumsum>},
    {"Gemm", {6, 7, 9, 11, 13}, Gemm},
    {"Hardmax", {1, 11, 13}, Softmax<ops::hardmax>},
    {"LogSoftmax", {1, 11, 13}, Softmax<ops::log_softmax>},
    {"MatMul", {1, 9, 13}, MatMul},
    {"Softmax", {1, 11, 13}, Softmax<ops::softmax>},
};

}  // namespace

absl::Span<const OnnxOp> MathTable() { return kTable; }

}  // namespace weft::onnx_import
