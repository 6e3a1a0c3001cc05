// The two ops that every graph uses: constants and the return.
#include "graph/ir/builtin_ops.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/tensor/type.h"

namespace weft::ops {
namespace {

// Always fails: the builder and the parser have the tensor and set the type themselves.
absl::StatusOr<Types> InferConstant(const OpArgs& args) {
  return absl::InvalidArgumentError("a constant's type comes from the constant store");
}

absl::StatusOr<Types> InferReturn(const OpArgs& args) { return Types(); }

}  // namespace

const OpDef constant("constant", OpSpec("constant(int id) -> Tensor",
                                        "A tensor of the module's constant store.")
                                     .Flops(PerResult{0})
                                     .Infer(InferConstant)
                                     .Map(Absent{"it has no operands"}));

const OpDef return_("return", OpSpec("return(Tensor[] outputs) -> ()",
                                     "Ends a graph; its operands are the outputs.")
                                  .Traits(kTerminator)
                                  .Flops(PerResult{0})
                                  .Infer(InferReturn));

}  // namespace weft::ops
