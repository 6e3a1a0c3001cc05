// Sizes as the elements of a tensor.
#include "graph/ir/op_symbolic_eval.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const auto values = attrs.Syms("values");
  const auto size = attrs.Syms("size");
  const DType dtype = attrs.Dtype("dtype");
  if (dtype != DType::kI32 && dtype != DType::kI64) {
    return Invalid("dtype must be i32 or i64, got ", DTypeName(dtype));
  }
  if (!Product(size).Is(static_cast<int64_t>(values.size()))) {
    return Invalid(values.size(), " values do not fill size ", ToString(size));
  }
  return Types{Type::Tensor(dtype, size)};
}

// A literal once all values are constants.
Folded Fold(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const auto values = AllConstant(attrs.Syms("values"));
  if (!values) return {};
  return HostTensor::FromInts(attrs.Dtype("dtype"), attrs.Ints("size"), *values);
}

absl::Status Eval(EvalContext& c) {
  Write(c.attrs().Ints("values"), &c.out(0));
  return absl::OkStatus();
}

bool SymbolicEval(SymbolicEvalContext& c) {
  const auto values = c.attrs().Syms("values");
  c.out().assign(values.begin(), values.end());
  return true;
}

}  // namespace

WEFT_DEFINE_OP(sym_constant,
               OpSpec("sym_constant(SymInt[] values, int[] size, ScalarType dtype=i64) -> "
                      "Tensor",
                      "A tensor of the given size whose elements, in row-major order, are "
                      "symbolic integers: what shape arithmetic of an imported model "
                      "becomes where a tensor of sizes is needed. ONNX: Shape.")
                   .Infer(Infer)
                   .Fold(Fold)
                   .Eval(Eval)
                   .SymbolicEval(SymbolicEval)
                   .Map(Absent{"it has no operands"})
                   .Flops(PerResult{0})
                   .Samples(R"(
sym_constant(values=[s0, 2, s0*4 + 1], size=[3])
sym_constant(values=[s0], size=[], dtype=i32)
sym_constant(values=[1, 2, 3, 4], size=[2, 2])
sym_constant(values=[], size=[0])
sym_constant(values=[1, 2], size=[3]) ! "2 values do not fill size [3]"
sym_constant(values=[1], size=[1], dtype=f32) ! "dtype must be i32 or i64"
)"));

}  // namespace weft::ops
