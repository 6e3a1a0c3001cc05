#include "graph/ops/support/update.h"

#include <numeric>

#include "graph/ir/op_args.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/tensor/tensor.h"

namespace weft::ops {
namespace {

template <typename T>
T Combine(const std::string& reduce, T a, T b) {
  if (reduce == "add") return WrapAdd(a, b);
  if (reduce == "mul") return WrapMul(a, b);
  if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
  if (reduce == "max") return a < b ? b : a;
  return b < a ? b : a;
}

}  // namespace

absl::Status CheckReduce(const OpArgs& args) {
  const std::string& reduce = args.attrs().Str("reduce");
  if (reduce == "none") return absl::OkStatus();
  if (reduce == "add" || reduce == "mul" || reduce == "max" || reduce == "min") {
    return CheckReal(args, 0);
  }
  return Invalid("unknown reduce \"", reduce, "\"");
}

absl::Status Update(const HostTensor& self, const HostTensor& src,
                    const std::vector<int64_t>& target, const std::string& reduce,
                    HostTensor* out) {
  if (reduce == "none") {
    std::vector<int64_t> same(self.numel());
    std::iota(same.begin(), same.end(), 0);
    Gather(self, same, out);
    Scatter(src, target, out);
    return absl::OkStatus();
  }
  return VisitDomain(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y = Read<T>(self);
    const std::vector<T> x = Read<T>(src);
    for (size_t i = 0; i < target.size(); ++i) {
      if (target[i] < 0) continue;
      T& v = y[target[i]];
      v = Combine(reduce, v, x[i]);
      if (self.dtype() == DType::kBool) v = v != 0;
    }
    Write(y, out);
    return absl::OkStatus();
  });
}

}  // namespace weft::ops
