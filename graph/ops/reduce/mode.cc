// The most frequent element.
#include <algorithm>
#include <numeric>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  const std::vector<SymInt> dims =
      DimsAfterReduction(self.dims(), {dim}, args.attrs().Bool("keepdim"));
  return Types{self.WithDims(dims), Type::Tensor(DType::kI64, dims)};
}

// Position of the last of the most frequent elements; of several the smallest.
// NaN is above all and equals nothing.
template <typename T>
int64_t Mode(const std::vector<T>& line) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return IsNan(line[b]) ? !IsNan(line[a]) : line[a] < line[b];
  });
  int64_t best = 0;
  int64_t most = 0;
  int64_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    ++count;
    const bool last = i + 1 == order.size();
    if (!last && line[order[i]] == line[order[i + 1]]) continue;
    if (count > most) {
      most = count;
      best = order[i];
    }
    count = 0;
  }
  return best;
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const Split split = SplitAt(self.dims(), dim);
  if (split.size == 0 && c.out(0).numel() > 0) {
    return Invalid("dim ", dim, " has no elements");
  }
  std::vector<int64_t> source(c.out(0).numel());
  std::vector<int64_t> position(source.size());
  WEFT_RETURN_IF_ERROR(VisitDomain(self.dtype(), [&](auto zero) {
    const auto x = Read<decltype(zero)>(self);
    std::vector<decltype(zero)> line(split.size);
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t n = 0; n < split.inner; ++n) {
        for (int64_t k = 0; k < split.size; ++k) line[k] = x[split.At(o, k, n)];
        const int64_t mode = Mode(line);
        position[o * split.inner + n] = mode;
        source[o * split.inner + n] = split.At(o, mode, n);
      }
    }
    return absl::OkStatus();
  }));
  Gather(self, source, &c.out(0));
  Write(position, &c.out(1));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(mode, OpSpec("mode(Tensor self, int dim=-1, bool keepdim=False) -> "
                            "(Tensor values, Tensor indices)",
                            "The most frequent element along `dim`, of several the "
                            "smallest, and where (i64) it last stands. ATen: "
                            "aten::mode.")
                         .Infer(Infer)
                         .Eval(Eval)
                         .Map(Absent{"the order of the elements decides"})
                         .Flops(Absent{"the number depends on the algorithm"})
                         .Samples(R"(
mode(i64[2, 6]{0..2})
mode(f32[4, 2]{1, 2, 1, 0, 3, 2, 0, 0}, dim=0, keepdim=true)
mode(f16[5]{1, nan, nan, 1, 0})
mode(bool[2, 5], dim=1)
mode(f32[0, 3], dim=1)
mode(f32[], dim=0) ! "out of range for a scalar"
mode(c64[2]) ! "a real dtype"
)"));

}  // namespace weft::ops
