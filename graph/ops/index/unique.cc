// The distinct elements, or slices along a dim.
#include <algorithm>
#include <numeric>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  const Type self = args.type(0);
  const bool flat = !args.attrs().Has("dim");
  int dim = 0;
  if (!flat) {
    WEFT_ASSIGN_OR_RETURN(dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  }
  const SymInt n = flat ? self.numel() : self.dim(dim);
  const SymRange range = args.symbols->RangeOf(n);
  const SymInt found = FreshSize(args, range.min > 0 ? 1 : 0, range.max);
  std::vector<SymInt> dims = {found};
  if (!flat) {
    dims.assign(self.dims().begin(), self.dims().end());
    dims[dim] = found;
  }
  const Type counts = Type::Tensor(DType::kI64, {found});
  return Types{self.WithDims(dims), counts, Type::Tensor(DType::kI64, {n}), counts};
}

// -1, 0 or 1; NaN is above all and equals NaN.
template <typename T>
int Order(T a, T b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) - IsNan(b);
  return a < b ? -1 : a > b;
}

// Slices in the order of the result, as positions along the dim.
struct Groups {
  std::vector<int64_t> first;    // First slice of each group.
  std::vector<int64_t> counts;   // Slices in each group.
  std::vector<int64_t> inverse;  // Group of each slice.
};

template <typename T>
Groups Group(const std::vector<T>& x, const Split& split, bool sorted) {
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t n = 0; n < split.inner; ++n) {
        const int c = Order(x[split.At(o, a, n)], x[split.At(o, b, n)]);
        if (c != 0) return c;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(split.size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  // Groups in the order of their values; each begins with its first slice.
  std::vector<std::vector<int64_t>> groups;
  for (int64_t i : order) {
    if (groups.empty() || compare(groups.back()[0], i) != 0) {
      groups.push_back({});
    }
    groups.back().push_back(i);
  }
  if (!sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  }
  Groups result;
  result.inverse.resize(split.size);
  for (size_t g = 0; g < groups.size(); ++g) {
    result.first.push_back(groups[g][0]);
    result.counts.push_back(groups[g].size());
    for (int64_t i : groups[g]) result.inverse[i] = g;
  }
  return result;
}

HostTensor List(const std::vector<int64_t>& values) {
  return HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

absl::Status Eval(EvalContext& c) {
  HostTensor self = c.in(0).Contiguous();
  int dim = 0;
  if (c.attrs().Has("dim")) {
    dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  } else {
    self = self.Reshaped({self.numel()});
  }
  const Split split = SplitAt(self.dims(), dim);
  Groups groups;
  WEFT_RETURN_IF_ERROR(VisitDomain(self.dtype(), [&](auto zero) {
    groups = Group(Read<decltype(zero)>(self), split, c.attrs().Bool("sorted"));
    return absl::OkStatus();
  }));
  std::vector<int64_t> dims(self.dims().begin(), self.dims().end());
  dims[dim] = static_cast<int64_t>(groups.first.size());
  HostTensor values(self.dtype(), dims);
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  MoveElements(self, &values, [&](absl::Span<const int64_t> index) {
    return Dot(index, strides) + (groups.first[index[dim]] - index[dim]) * strides[dim];
  });
  c.set_out(0, std::move(values));
  c.set_out(1, List(groups.first));
  c.set_out(2, List(groups.inverse));
  c.set_out(3, List(groups.counts));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(unique, OpSpec("unique(Tensor self, int? dim, bool sorted=True) -> (Tensor values, "
                              "Tensor indices, Tensor inverse, Tensor counts)",
                              "The distinct elements of self, or slices along `dim`, in order or "
                              "as they come; where each first stands, which of them each element "
                              "(slice) is, and how often it comes (i64). NaN is the largest and "
                              "equals NaN. ONNX: Unique; ATen: aten::unique_dim.")
                           .Traits(kDataDependent)
                           .Infer(Infer)
                           .Eval(Eval)
                           .Flops(Absent{"the number depends on the algorithm"})
                           .Samples(R"(
unique(f32[6]{2, 1, 1, 3, 4, 3})
unique(f32[6]{2, 1, 1, 3, 4, 3}, sorted=false)
unique(i64[2, 3]{0..2})
unique(i64[4, 2]{0..1}, dim=0)
unique(u8[2, 5, 2]{0..1}, dim=-2, sorted=false)
unique(f16[5]{nan, 1, nan, -1, 1})
unique(u64[4]{7, 0, 7, 1})
unique(bool[2, 1, 2, 2], dim=3)
unique(bf16[])
unique(f32[0])
unique(i32[0, 2], dim=0)
unique(f32[2], dim=1) ! "dim 1 is out of range"
unique(c64[2]) ! "a real dtype"
)"));

}  // namespace weft::ops
