#include "graph/ops/nn/norm.h"

#include "graph/ir/op_args.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"

namespace weft::ops {

absl::Status VerifyLastDims(const OpArgs& args) {
  const auto shape = args.attrs().Syms("normalized_shape");
  const int n = static_cast<int>(shape.size());
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  if (n == 0) return Invalid("normalized_shape must not be empty");
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, n));
  for (int i = 0; i < args.size(); ++i) {
    if (!args.has(i)) continue;
    if (i > 0) WEFT_RETURN_IF_ERROR(CheckRank(args, i, n));
    for (int d = 0; d < n; ++d) {
      const SymInt have = args.type(i).dim(args.type(i).rank() - n + d);
      WEFT_RETURN_IF_ERROR(CheckEqualSizes(
          args, have, shape[d], absl::StrCat(OperandName(args, i), " and normalized_shape")));
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> LastDims(int rank, size_t count) {
  std::vector<int64_t> dims;
  for (int d = rank - static_cast<int>(count); d < rank; ++d) dims.push_back(d);
  return dims;
}

std::vector<double> ReadOr(const EvalContext& c, int i, int64_t size, double fill) {
  if (c.has(i)) return Read<double>(c.in(i));
  return std::vector<double>(size, fill);
}

}  // namespace weft::ops
