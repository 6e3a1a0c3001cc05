// Runs one of two nested graphs.
#include "graph/ir/graph.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/region.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRegions(args));
  WEFT_RETURN_IF_ERROR(CheckBool(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 0));
  const auto operands = args.types.subspan(1);
  WEFT_RETURN_IF_ERROR(CheckRegionInputs(args, 0, operands));
  WEFT_RETURN_IF_ERROR(CheckRegionInputs(args, 1, operands));
  const Graph& a = *args.regions[0];
  const Graph& b = *args.regions[1];
  if (a.num_outputs() != b.num_outputs()) {
    return Invalid("then_graph has ", a.num_outputs(), " outputs and else_graph ", b.num_outputs());
  }
  for (int i = 0; i < a.num_outputs(); ++i) {
    const Type x = a.output(i)->type();
    const Type y = b.output(i)->type();
    if (x.is_tensor() && y.is_tensor() && x.dtype() == y.dtype() && x.rank() == y.rank()) {
      continue;
    }
    return Invalid("output ", i, " is ", x.ToString(), " of then_graph and ", y.ToString(),
                   " of else_graph");
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  RegionTypes a(args, 0);
  RegionTypes b(args, 1);
  for (int i = 1; i < args.size(); ++i) {
    a.Bind(i - 1, args.type(i));
    b.Bind(i - 1, args.type(i));
  }
  ResultTypes results(args);
  Types types;
  for (int i = 0; i < a.num_outputs(); ++i) {
    types.push_back(results.Join({a.output(i), b.output(i)}));
  }
  return types;
}

absl::Status Eval(EvalContext& c) {
  std::vector<HostTensor> operands;
  for (int i = 1; i < c.num_inputs(); ++i) operands.push_back(c.in(i));
  std::vector<HostTensor> outputs;
  const int region = c.in(0).IntAt(0) != 0 ? 0 : 1;
  WEFT_RETURN_IF_ERROR(c.RunRegion(region, operands, &outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    c.set_out(static_cast<int>(i), std::move(outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(cond, OpSpec("cond(Tensor pred, Tensor[] operands, Graph then_graph, "
                            "Graph else_graph) -> Tensor[]",
                            "The outputs of then_graph on the operands if pred (a "
                            "bool scalar) is true, else those of else_graph. Sizes "
                            "in which the two differ are fresh unbacked symbols. "
                            "ONNX: If; torch.cond.")
                         .Traits(kControlFlow | kDataDependent)
                         .Verify(Verify)
                         .Infer(Infer)
                         .Eval(Eval));

}  // namespace weft::ops
