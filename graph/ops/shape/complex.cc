// Complex numbers viewed as pairs of real ones, and the reverse.
#include <cstring>

#include "graph/ir/node.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

struct Pair {
  DType complex;
  DType real;
};
constexpr Pair kPairs[] = {
    {DType::kC32, DType::kF16}, {DType::kC64, DType::kF32}, {DType::kC128, DType::kF64}};

absl::StatusOr<Types> InferReal(const OpArgs& args) {
  const Type self = args.type(0);
  for (const Pair& pair : kPairs) {
    if (pair.complex != self.dtype()) continue;
    std::vector<SymInt> dims(self.dims().begin(), self.dims().end());
    dims.push_back(2);
    return Types{Type::Tensor(pair.real, dims)};
  }
  return Invalid("self must have a complex dtype, got ", self.ToString());
}

absl::StatusOr<Types> InferComplex(const OpArgs& args) {
  const Type self = args.type(0);
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  const int last = self.rank() - 1;
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, self.dim(last), 2, "the last dim"));
  for (const Pair& pair : kPairs) {
    if (pair.real != self.dtype()) continue;
    return Types{Type::Tensor(pair.complex, self.dims().first(last))};
  }
  return Invalid("self must be f16, f32 or f64, got ", self.ToString());
}

// The other op's operand.
template <const OpDef* inverse>
Folded FoldInverse(const OpArgs& args) {
  Value* self = args.operand(0);
  if (self->IsResultOf(*inverse)) return self->node()->operand(0);
  return {};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor self = c.in(0).Contiguous();
  if (self.numel() == 0) return absl::OkStatus();
  std::memcpy(c.out(0).raw(), self.raw(), static_cast<size_t>(self.bytes()));
  return absl::OkStatus();
}

}  // namespace

extern const OpDef view_as_complex;

WEFT_DEFINE_OP(view_as_real,
               OpSpec("view_as_real(Tensor self) -> Tensor",
                      "Real and imaginary parts along a new last dim of size "
                      "2. ATen: aten::view_as_real.")
                   .Infer(InferReal)
                   .Fold(FoldInverse<&view_as_complex>)
                   .Eval(Eval)
                   .Map(Absent{"an element is a part of a complex number, or has two"})
                   .Flops(PerResult{0})
                   .Samples(R"(
view_as_real(c64[2, 3])
view_as_real(c128[])
view_as_real(c32[4])
view_as_real(c64[0, 2])
view_as_real(f32[2]) ! "a complex dtype"
)"));

WEFT_DEFINE_OP(view_as_complex,
               OpSpec("view_as_complex(Tensor self) -> Tensor",
                      "Complex numbers whose parts stand along the last dim, "
                      "of size 2. ATen: aten::view_as_complex.")
                   .Infer(InferComplex)
                   .Fold(FoldInverse<&view_as_real>)
                   .Eval(Eval)
                   .Map(Absent{"an element is a part of a complex number, or has two"})
                   .Flops(PerResult{0})
                   .Samples(R"(
view_as_complex(f32[3, 2])
view_as_complex(f64[2])
view_as_complex(f16[2, 3, 2])
view_as_complex(f32[0, 2])
view_as_complex(f32[3]) ! "the last dim"
view_as_complex(i32[2]) ! "f16, f32 or f64"
view_as_complex(f32[]) ! "rank"
)"));

}  // namespace weft::ops
