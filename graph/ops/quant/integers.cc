#include "graph/ops/quant/integers.h"

#include <vector>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/infer.h"

namespace weft::ops {
namespace {

constexpr int kZeroPoints = 2;

bool IsOne(Type type) { return type.rank() == 0 || (type.rank() == 1 && type.dim(0).Is(1)); }

absl::Status CheckBytes(const OpArgs& args, int i) {
  const DType dtype = args.type(i).dtype();
  if (dtype == DType::kI8 || dtype == DType::kU8) return absl::OkStatus();
  return Invalid("operand ", i, " must be of i8 or u8, got ", DTypeName(dtype));
}

}  // namespace

absl::Status VerifyIntegers(const OpArgs& args, SymInt channels) {
  for (int i = 0; i < kZeroPoints; ++i) {
    WEFT_RETURN_IF_ERROR(CheckBytes(args, i));
    WEFT_RETURN_IF_ERROR(CheckDType(args, kZeroPoints + i, args.type(i).dtype()));
  }
  if (args.has(2) && !IsOne(args.type(2))) {
    return Invalid("the first operand must have one zero point, got ", args.type(2).ToString());
  }
  if (!args.has(3) || IsOne(args.type(3))) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckRank(args, 3, 1));
  return CheckEqualSizes(args, args.type(3).dim(0), channels, "zero points and channels");
}

OpArgs WithoutZeroPoints(const OpArgs& args) {
  OpArgs two = args;
  if (!two.operands.empty()) two.operands = two.operands.first(kZeroPoints);
  two.types = two.types.first(kZeroPoints);
  return two;
}

Value* Centered(Builder& b, const OpArgs& args, int i, int channel_dim) {
  Value* wide = Convert(b, args.operand(i), DType::kI32);
  const int point = kZeroPoints + i;
  if (!args.has(point)) return wide;
  std::vector<SymInt> size;
  if (!IsOne(args.type(point))) {
    size.assign(args.type(i).rank() - channel_dim, SymInt(1));
    size[0] = args.type(point).dim(0);
  }
  Value* zero = Reshape(b, Convert(b, args.operand(point), DType::kI32), size);
  return b.Op(sub, {wide, zero});
}

}  // namespace weft::ops
