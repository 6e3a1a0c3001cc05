// Reductions. Axes are an attribute at first (until opset 12 for ReduceSum, 17 for the others),
// then an optional input whose value must be known.
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

struct ReduceArgs {
  std::vector<int64_t> axes;
  bool keepdims = true;
  // Reduces over no dims.
  bool none = false;
};

absl::StatusOr<ReduceArgs> ReadArgs(NodeContext& c) {
  ReduceArgs args;
  args.keepdims = c.Bool("keepdims", true);
  const int input_since = c.op_type() == "ReduceSum" ? 13 : 18;
  const bool noop = c.opset() >= input_since && c.Bool("noop_with_empty_axes", false);
  std::vector<int64_t> given;
  if (c.opset() < input_since) {
    given = c.Ints("axes");
  } else if (c.has_input(1)) {
    WEFT_ASSIGN_OR_RETURN(given, c.RequireConstantInts(1));
  }
  WEFT_ASSIGN_OR_RETURN(args.axes, c.Axes(given, c.rank(0)));
  args.none = noop && args.axes.empty();
  return args;
}

Value* Apply(NodeContext& c, const OpDef& op, Value* x, const ReduceArgs& args) {
  return c.Op(op, {x}, {{"dim", args.axes}, {"keepdim", args.keepdims}});
}

// Sum, product, minimum, maximum and mean of one element are the element.
template <const OpDef& op>
absl::Status Reduce(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const ReduceArgs args, ReadArgs(c));
  c.SetOutput(0, args.none ? c.in(0) : Apply(c, op, c.in(0), args));
  return c.status();
}

// Minimum and maximum of bools (since opset 20) are "all" and "any".
template <const OpDef& op, const OpDef& bool_op>
absl::Status ReduceOrdered(NodeContext& c) {
  return c.dtype(0) == DType::kBool ? Reduce<bool_op>(c) : Reduce<op>(c);
}

// `single` computes the reduction of one element.
template <const OpDef& op, const OpDef& single>
absl::Status ReduceWith(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const ReduceArgs args, ReadArgs(c));
  c.SetOutput(0, args.none ? c.Op(single, {c.in(0)}) : Apply(c, op, c.in(0), args));
  return c.status();
}

absl::Status ReduceSumSquare(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const ReduceArgs args, ReadArgs(c));
  Value* x = c.in(0);
  c.SetOutput(0, args.none ? c.Op(ops::mul, {x, x}) : Apply(c, ops::reduce_sum_square, x, args));
  return c.status();
}

template <const OpDef& op>
absl::Status ArgReduce(NodeContext& c) {
  const bool keepdims = c.Bool("keepdims", true);
  const bool last = c.Bool("select_last_index", false);
  WEFT_ASSIGN_OR_RETURN(const int axis, c.Axis(c.Int("axis", 0), c.rank(0)));
  c.SetOutput(
      0, c.Op(op, {c.in(0)}, {{"dim", axis}, {"keepdim", keepdims}, {"select_last_index", last}}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"ArgMax", {1, 11, 12, 13}, ArgReduce<ops::argmax>},
    {"ArgMin", {1, 11, 12, 13}, ArgReduce<ops::argmin>},
    {"ReduceL1", {1, 11, 13, 18}, ReduceWith<ops::reduce_l1, ops::abs>},
    {"ReduceL2", {1, 11, 13, 18}, ReduceWith<ops::reduce_l2, ops::abs>},
    {"ReduceLogSum", {1, 11, 13, 18}, ReduceWith<ops::reduce_log_sum, ops::log>},
    {"ReduceLogSumExp", {1, 11, 13, 18}, Reduce<ops::logsumexp>},
    {"ReduceMax", {1, 11, 12, 13, 18, 20}, ReduceOrdered<ops::amax, ops::any>},
    {"ReduceMean", {1, 11, 13, 18}, Reduce<ops::mean>},
    {"ReduceMin", {1, 11, 12, 13, 18, 20}, ReduceOrdered<ops::amin, ops::all>},
    {"ReduceProd", {1, 11, 13, 18}, Reduce<ops::prod>},
    {"ReduceSum", {1, 11, 13}, Reduce<ops::sum>},
    {"ReduceSumSquare", {1, 11, 13, 18}, ReduceSumSquare},
};

}  // namespace

absl::Span<const OnnxOp> ReduceTable() { return kTable; }

}  // namespace weft::onnx_import
