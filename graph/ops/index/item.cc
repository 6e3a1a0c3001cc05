// From data to a size.
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckInt(args, 0));
  if (MayBeEqual(args, args.type(0).numel(), 1)) return absl::OkStatus();
  return Invalid("self must have one element, got ", args.type(0).ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  return Types{Type::Symbolic(FreshSize(args, IntMin(dtype), IntMax(dtype)))};
}

absl::Status Eval(EvalContext& c) {
  if (c.in(0).numel() != 1) {
    return Invalid("self must have one element, got ", c.in(0).type().ToString());
  }
  const int64_t value = c.in(0).IntAt(0);
  if (c.in(0).dtype() == DType::kU64 && value < 0) {
    return absl::OutOfRangeError("the value does not fit in 64 signed bits");
  }
  c.set_out(0, HostTensor::ScalarInt(DType::kI64, value));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(item, OpSpec("item(Tensor self) -> SymInt",
                            "The only element of self as a size: a fresh "
                            "unbacked symbol. ATen: aten::item "
                            "(aten::_local_scalar_dense).")
                         .Traits(kDataDependent)
                         .Verify(Verify)
                         .Infer(Infer)
                         .Eval(Eval)
                         .Flops(PerResult{0})
                         .Samples(R"(
item(i64[]{5})
item(i32[1, 1]{-3})
item(u8[1]{200})
item(u64[]{7})
item(i64[2]) ! "one element, got i64[2]"
item(i64[0]) ! "one element"
item(f32[]) ! "integer"
)"));

}  // namespace weft::ops
