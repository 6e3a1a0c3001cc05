// A group of nodes that a backend may run as one kernel.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/region.h"

namespace weft::ops {
namespace {

constexpr absl::string_view kKinds[] = {"pointwise",   "reduction", "gemm",
                                        "convolution", "concat",    "horizontal"};

// The body must depend only on its operands.
absl::Status CheckBody(const Graph& body) {
  for (const Node* node : body.nodes()) {
    if (!node->op().is_pure()) {
      return Invalid(node->op().name(), " in body has effects");
    }
    if (node->op().has(kDataDependent)) {
      return Invalid("sizes of ", node->op().name(), " in body depend on data");
    }
  }
  for (int i = 0; i < body.num_outputs(); ++i) {
    const Type type = body.output(i)->type();
    if (!type.is_tensor()) {
      return Invalid("output ", i, " of body is ", type.ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRegions(args));
  const std::string& kind = args.attrs().Str("kind");
  if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
    return Invalid("kind is \"", kind, "\", not one of ", absl::StrJoin(kKinds, ", "));
  }
  WEFT_RETURN_IF_ERROR(CheckRegionInputs(args, 0, args.types));
  return CheckBody(*args.regions[0]);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  RegionTypes body(args, 0);
  for (int i = 0; i < args.size(); ++i) body.Bind(i, args.type(i));
  Types types;
  for (int i = 0; i < body.num_outputs(); ++i) types.push_back(body.output(i));
  return types;
}

// The nodes of the body, which are what Eval runs.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  return InlineGraph(*args.regions[0], args.operands, b.graph(), b.insertion_point());
}

absl::Status Eval(EvalContext& c) {
  std::vector<HostTensor> inputs, outputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  WEFT_RETURN_IF_ERROR(c.RunRegion(0, inputs, &outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    c.set_out(static_cast<int>(i), std::move(outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(fused, OpSpec("fused(Tensor[] inputs, str kind, Graph body) "
                             "-> Tensor[]",
                             "The outputs of body on the inputs: a group that passes "
                             "propose to run as one kernel of this kind: pointwise, "
                             "reduction, gemm, convolution, concat or horizontal. "
                             "What the kind says is a wish; who runs the group looks "
                             "at body, and runs it node by node when it cannot make "
                             "one kernel of it. Own op.")
                          .Traits(kControlFlow)
                          .Verify(Verify)
                          .Infer(Infer)
                          .Decompose(Decompose)
                          .DecomposeContract(NumericContract::kBitExact)
                          .Eval(Eval));

}  // namespace weft::ops
