// squash(x, limit) = x / (1 + |x| / limit). Its decomposition is the body of a kernel: it is fused
// with the ops around it, for every target.
#include "squash.h"

#include "weft/graph/ops/ops.h"
#include "weft/graph/ops/support/op.h"
#include "weft/graph/ops/support/pointwise.h"

namespace {

std::vector<weft::Value*> Decompose(weft::Builder& b, const weft::OpArgs& args) {
  weft::ops::Pointwise p(b, args.type(0).dtype());
  weft::Value* x = p.Wide(args.operand(0));
  weft::Value* parts = p.Div(p.Abs(x), args.attrs().Float("limit"));
  return {p.Done(p.Div(x, p.Add(parts, 1)))};
}

}  // namespace

WEFT_DEFINE_OP(squash, weft::OpSpec("squash(Tensor self, float limit=1.0) -> Tensor",
                                    "self / (1 + |self| / limit), of floats.")
                           .Traits(weft::kPointwise)
                           .Infer(weft::ops::InferUnaryFloat)
                           .Decompose(Decompose));
