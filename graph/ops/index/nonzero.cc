// Positions of the elements that are not zero.
#include <algorithm>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  const Type self = args.type(0);
  const int64_t most = args.symbols->RangeOf(self.numel()).max;
  return Types{Type::Tensor(DType::kI64, {FreshSize(args, 0, most), self.rank()})};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int rank = self.rank();
  const int64_t line = rank == 0 ? 1 : self.dim(rank - 1);
  const absl::Span<const int64_t> outer = self.dims().first(rank == 0 ? 0 : rank - 1);
  return VisitDomain(self.dtype(), [&](auto zero) {
    const auto x = Read<decltype(zero)>(self);
    const int64_t found =
        std::count_if(x.begin(), x.end(), [](auto element) { return element != 0; });
    std::vector<int64_t> rows;
    rows.reserve(found * rank);
    auto at = x.begin();
    ForEachIndex(outer, [&](absl::Span<const int64_t> index) {
      for (int64_t k = 0; k < line; ++k) {
        if (*at++ == 0 || rank == 0) continue;
        rows.insert(rows.end(), index.begin(), index.end());
        rows.push_back(k);
      }
    });
    c.set_out(0, HostTensor::FromInts(DType::kI64, {found, rank}, rows));
    return absl::OkStatus();
  });
}

}  // namespace

WEFT_DEFINE_OP(nonzero, OpSpec("nonzero(Tensor self) -> Tensor",
                               "i64[u, rank]: the index of each element that is not "
                               "zero (NaN is not), in row-major order. "
                               "ATen: aten::nonzero; ONNX: NonZero gives its transpose.")
                            .Traits(kDataDependent)
                            .Infer(Infer)
                            .Eval(Eval)
                            .Flops(PerResult{0})
                            .Samples(R"(
nonzero(f32[2, 3]{0, 1, 0, -2, 0, 3})
nonzero(bool[4])
nonzero(i64[2, 2, 2]{0..1})
nonzero(u64[]{3})
nonzero(f16[]{0})
nonzero(i8[0, 3])
nonzero(c64[2]) ! "a real dtype"
)"));

}  // namespace weft::ops
