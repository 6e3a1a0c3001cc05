// Losses.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

Value* NllLoss(NodeContext& c, Value* log_prob) {
  AttrValue ignore_index;
  if (c.HasAttr("ignore_index")) ignore_index = c.Int("ignore_index", 0);
  return c.Op(ops::nll_loss, {log_prob, c.in(1), c.opt(2)},
              {{"reduction", c.Str("reduction", "mean")}, {"ignore_index", ignore_index}});
}

absl::Status NegativeLogLikelihoodLoss(NodeContext& c) {
  c.SetOutput(0, NllLoss(c, c.in(0)));
  return c.status();
}

absl::Status SoftmaxCrossEntropyLoss(NodeContext& c) {
  Value* log_prob = ops::BuildLogSoftmax(c, c.in(0), 1);
  c.SetOutput(0, NllLoss(c, log_prob));
  c.SetOutput(1, log_prob);
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"NegativeLogLikelihoodLoss", {12, 13, 22}, NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", {12, 13}, SoftmaxCrossEntropyLoss},
};

}  // namespace

absl::Span<const OnnxOp> LossTable() { return kTable; }

}  // namespace weft::onnx_import
