// FlexAttention of ai.onnx.preview: attention whose scores and probabilities pass through graphs
// of the model. Without these graphs it becomes scaled_dot_product_attention; with them, the
// matmuls, the softmax and the nodes of the graphs in between.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

absl::Status CheckInputs(NodeContext& c) {
  for (int i : {0, 1, 2}) {
    const Type type = c.type(i);
    WEFT_RETURN_IF_ERROR(c.status());
    if (type.rank() != 4 || !IsFloat(type.dtype())) {
      return c.Fail(
          absl::StrCat(c.InputText(i), " must be floats of rank 4, not ", type.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ReadScale(NodeContext& c) {
  if (c.HasAttr("scale")) {
    const double scale = c.Float("scale", 1);
    if (scale >= 0) return scale;
    return c.Fail("scale must not be negative");
  }
  const SymInt size = c.type(0).dim(3);
  if (size.is_constant() && size.value() > 0) {
    return 1 / std::sqrt(static_cast<double>(size.value()));
  }
  return c.Unsupported("the size of heads must be known when compiling, or scale be given");
}

// The dtype of scores and probabilities: f32, or f64 for f64, unless the attribute names another.
absl::StatusOr<DType> ReadPrecision(NodeContext& c) {
  const DType usual = c.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  const DType dtype = c.Dtype("softmax_precision", usual);
  WEFT_RETURN_IF_ERROR(c.status());
  if (IsFloat(dtype)) return dtype;
  return c.Fail("softmax_precision must be a float type");
}

// Applies the graph of attribute `name`, if there is one, to `v`. The type stays.
absl::StatusOr<Value*> Modify(NodeContext& c, const char* name, Value* v) {
  if (v == nullptr || !c.HasAttr(name)) return v;
  const ::onnx::GraphProto* graph = c.Graph(name);
  if (graph == nullptr) return c.status();
  auto outputs = c.importer()->ImportInPlace(c.scope(), *graph, {v});
  if (!outputs.ok()) return Annotate(outputs.status(), name);
  if (outputs->size() != 1) {
    return c.Fail(absl::StrCat(name, " has ", outputs->size(), " outputs instead of one"));
  }
  Value* result = (*outputs)[0];
  if (result->type() == v->type()) return result;
  return c.Fail(
      absl::StrCat(name, " makes ", result->type().ToString(), " of ", v->type().ToString()));
}

absl::StatusOr<Value*> AttendThroughGraphs(NodeContext& c, double scale, DType precision) {
  const SymInt heads = c.type(0).dim(1);
  const double root = std::sqrt(scale);
  Value* q = WithScalar(c, ops::mul, c.in(0), root);
  Value* k = Permute(c, RepeatHeads(c, c.in(1), heads), {0, 1, 3, 2});
  Value* scores = c.Op(ops::matmul, {q, WithScalar(c, ops::mul, k, root)});
  WEFT_ASSIGN_OR_RETURN(scores, Modify(c, "score_mod", Convert(c, scores, precision)));
  Value* p = ops::BuildSoftmax(c, scores, -1);
  WEFT_ASSIGN_OR_RETURN(p, Modify(c, "prob_mod", p));
  Value* v = Convert(c, RepeatHeads(c, c.in(2), heads), precision);
  return Convert(c, c.Op(ops::matmul, {p, v}), c.dtype(2));
}

absl::Status FlexAttention(NodeContext& c) {
  WEFT_RETURN_IF_ERROR(CheckInputs(c));
  WEFT_ASSIGN_OR_RETURN(const double scale, ReadScale(c));
  WEFT_ASSIGN_OR_RETURN(const DType precision, ReadPrecision(c));
  const DType dtype = c.dtype(0);
  // The fused op computes in f32 at least.
  const bool same = precision == (dtype == DType::kF64 ? DType::kF64 : DType::kF32);
  Value* y = nullptr;
  if (same && !c.HasAttr("score_mod") && !c.HasAttr("prob_mod")) {
    y = c.Op(ops::scaled_dot_product_attention, {c.in(0), c.in(1), c.in(2), nullptr},
             {{"scale", scale}, {"enable_gqa", c.type(0).dim(1) != c.type(1).dim(1)}});
  } else {
    WEFT_ASSIGN_OR_RETURN(y, AttendThroughGraphs(c, scale, precision));
  }
  c.SetOutput(0, y);
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"FlexAttention", {1}, FlexAttention, "ai.onnx.preview"},
};

}  // namespace

absl::Span<const OnnxOp> FlexAttentionTable() { return kTable; }

}  // namespace weft::onnx_import
