// Bits seen as another dtype.
#include <cstring>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const DType from = args.type(0).dtype();
  const DType to = args.attrs().Dtype("dtype");
  if (DTypeBits(from) == DTypeBits(to)) return absl::OkStatus();
  return Invalid(DTypeName(from), " and ", DTypeName(to), " differ in their number of bits");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDType(args.attrs().Dtype("dtype"))};
}

// The dtype that self has.
Folded Fold(const OpArgs& args) {
  if (args.type(0).dtype() != args.attrs().Dtype("dtype")) return {};
  return args.operand(0);
}

absl::Status Eval(EvalContext& c) {
  const HostTensor self = c.in(0).Contiguous();
  HostTensor& out = c.out(0);
  if (self.numel() == 0) return absl::OkStatus();
  std::memcpy(out.raw(), self.raw(), static_cast<size_t>(self.bytes()));
  if (out.dtype() != DType::kBool) return absl::OkStatus();
  // The byte of a bool is 0 or 1.
  for (int64_t i = 0; i < out.numel(); ++i) out.raw()[i] = out.raw()[i] != 0;
  return absl::OkStatus();
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  if (base == nullptr || update == nullptr) return nullptr;
  return b.Op(*view.op, {update}, {{"dtype", base->type().dtype()}});
}

}  // namespace

WEFT_DEFINE_OP(bitcast, OpSpec("bitcast(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
                               "The bits of each element of self, seen as an element of "
                               "another dtype of the same size. ATen: "
                               "aten::view.dtype; ONNX: BitCast.")
                            .Traits(kPointwise)
                            .Verify(Verify)
                            .Infer(Infer)
                            .Fold(Fold)
                            .Eval(Eval)
                            .InvertView(Invert)
                            .Flops(PerResult{0})
                            .Samples(R"(
bitcast(f32[2, 3], dtype=i32)
bitcast(i32[3]{0, 1065353216, -1}, dtype=f32)
bitcast(f16[4], dtype=bf16)
bitcast(u8[2, 2]{0, 1, 128, 255}, dtype=i8)
bitcast(f64[3], dtype=u64)
bitcast(bool[3], dtype=u8)
bitcast(i4[5], dtype=u4)
bitcast(f32[], dtype=f32)
bitcast(f32[2], dtype=i64) ! "differ in their number of bits"
)"));

}  // namespace weft::ops
