#include "tests/support/tensor_compare.h"

#include <cmath>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "graph/ir/attr.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

std::string Describe(const HostTensor& t) { return t.valid() ? t.type().ToString() : "no tensor"; }

// The tensors as flat lists of parts: complex ones as pairs of floats.
std::vector<double> Parts(const HostTensor& t) {
  if (!IsComplex(t.dtype())) return t.ReadDoubles();
  const HostTensor dense = t.Contiguous();
  const DType part = t.dtype() == DType::kC32   ? DType::kF16
                     : t.dtype() == DType::kC64 ? DType::kF32
                                                : DType::kF64;
  const int64_t element = dense.numel() == 0 ? 0 : dense.offset() * 2;
  return HostTensor::View(dense.buffer(), part, {dense.numel() * 2}, {}, element)->ReadDoubles();
}

std::string FirstDifference(const HostTensor& got, const HostTensor& want,
                            absl::FunctionRef<bool(double, double)> same) {
  const std::vector<double> a = Parts(got);
  const std::vector<double> b = Parts(want);
  int64_t count = 0;
  std::string first;
  for (size_t i = 0; i < a.size(); ++i) {
    if (same(a[i], b[i])) continue;
    if (count++ == 0) {
      first = absl::StrCat("element ", i, " is ", FloatToString(a[i]), ", wanted ",
                           FloatToString(b[i]));
    }
  }
  if (count == 0) return "";
  return absl::StrCat(first, " (", count, " of ", a.size(), " in ", Describe(got), ")");
}

bool SameShape(const HostTensor& got, const HostTensor& want) {
  return got.valid() == want.valid() &&
         (!got.valid() || (got.dtype() == want.dtype() && got.dims() == want.dims()));
}

}  // namespace

Tolerance ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return {1e-12, 1e-12};
    case DType::kF32:
    case DType::kC64:
      return {1e-5, 1e-6};
    case DType::kF16:
    case DType::kC32:
      return {1e-2, 1e-3};
    case DType::kBF16:
      return {4e-2, 1e-2};
    case DType::kF8E4M3:
    case DType::kF8E4M3FNUZ:
      return {0.3, 0.05};
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return {0.6, 0.1};
    case DType::kF4E2M1:
    case DType::kF8E8M0:
      return {1, 0.5};  // A step of the format.
    default:
      return {};
  }
}

std::string Difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance) {
  if (!SameShape(got, want)) {
    return absl::StrCat("got ", Describe(got), ", wanted ", Describe(want));
  }
  if (!got.valid()) return "";
  if (!IsFloat(got.dtype()) && !IsComplex(got.dtype())) {
    return got.BitEqual(want) ? "" : ExactDifference(got, want);
  }
  return FirstDifference(got, want, [&](double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return true;
    return std::isfinite(a) && std::isfinite(b) &&
           std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
  });
}

std::string ExactDifference(const HostTensor& got, const HostTensor& want) {
  if (!SameShape(got, want)) return Difference(got, want, {});
  if (!got.valid() || got.BitEqual(want)) return "";
  if (!IsFloat(got.dtype()) && !IsComplex(got.dtype())) {
    const std::vector<int64_t> a = got.ReadInts();
    const std::vector<int64_t> b = want.ReadInts();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) {
        return absl::StrCat("element ", i, " is ", a[i], ", wanted ", b[i], " in ", Describe(got));
      }
    }
    return "";
  }
  return FirstDifference(got, want, [](double a, double b) {
    return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
  });
}

}  // namespace weft
