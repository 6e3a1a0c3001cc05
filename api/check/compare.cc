#include "api/check/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/host_buffer.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

std::string Describe(const HostTensor& t) {
  if (!t.valid()) return "nothing";
  return absl::StrCat(DTypeName(t.dtype()), "[", absl::StrJoin(t.dims(), ", "), "]");
}

std::string Index(int64_t flat, absl::Span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]");
}

// The error of one element.
struct Distance {
  double error = 0;      // |got - want|; infinite where a NaN or an infinity differs.
  double excess = 0;     // The part beyond the tolerance.
  bool differs = false;  // The excess is not zero.
};

constexpr Distance kFar = {INFINITY, INFINITY, true};

Distance DistanceOf(double got, double want, const CompareOptions& options) {
  if (std::isnan(got) && std::isnan(want)) return {};
  if (std::isnan(got) || std::isnan(want)) return kFar;
  if (std::isinf(got) || std::isinf(want)) return got == want ? Distance() : kFar;
  if (options.signed_zeros && got == 0 && want == 0) {
    return std::signbit(got) == std::signbit(want) ? Distance() : kFar;
  }
  const double error = std::abs(got - want);
  const double excess = error - options.atol - options.rtol * std::abs(want);
  return {error, excess, !(excess <= 0)};
}

// Exact for all 64 bits; `Int` is int64_t or uint64_t.
template <typename Int>
Distance IntDistance(Int got, Int want, const CompareOptions& options) {
  const auto a = static_cast<uint64_t>(std::max(got, want));
  const uint64_t apart = a - static_cast<uint64_t>(std::min(got, want));
  const auto slack = static_cast<uint64_t>(options.integer_slack);
  const auto error = static_cast<double>(apart);
  return {error, error, apart > slack};
}

// Statistics over all elements of two tensors.
struct Totals {
  int64_t differing = 0;
  int64_t worst = 0;  // Index of the element with the largest excess.
  double excess = 0;
  double error = 0;  // Largest error.

  void Add(int64_t i, const Distance& d) {
    error = std::max(error, d.error);
    if (!d.differs) return;
    if (differing == 0 || d.excess > excess) {
      worst = i;
      excess = d.excess;
    }
    ++differing;
  }
};

template <typename T>
absl::Status Report(const Totals& totals, const std::vector<T>& got, const std::vector<T>& want,
                    absl::Span<const int64_t> dims) {
  if (totals.differing == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      totals.differing, " of ", got.size(), " elements differ; worst at ",
      Index(totals.worst, dims), ": got ", got[totals.worst], ", want ", want[totals.worst]));
}

template <typename T, typename DistanceFn>
absl::Status CompareElements(const std::vector<T>& got, const std::vector<T>& want,
                             absl::Span<const int64_t> dims, DistanceFn distance, double* error) {
  Totals totals;
  for (size_t i = 0; i < got.size(); ++i) {
    totals.Add(static_cast<int64_t>(i), distance(got[i], want[i]));
  }
  *error = totals.error;
  return Report(totals, got, want, dims);
}

// Compares integers as Int; their bits are passed as int64_t.
template <typename Int>
absl::Status CompareInts(const HostTensor& got, const HostTensor& want,
                         const CompareOptions& options, double* error) {
  const std::vector<int64_t> a = got.ReadInts();
  const std::vector<int64_t> b = want.ReadInts();
  return CompareElements(
      std::vector<Int>(a.begin(), a.end()), std::vector<Int>(b.begin(), b.end()), got.dims(),
      [&](Int x, Int y) { return IntDistance(x, y, options); }, error);
}

}  // namespace

CompareOptions ToleranceFor(DType dtype) {
  CompareOptions options;
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      options.rtol = options.atol = 1e-10;
      break;
    case DType::kF32:
    case DType::kC64:
      options.rtol = options.atol = 1e-5;
      break;
    case DType::kF16:
    case DType::kC32:
      options.rtol = options.atol = 4e-3;
      break;
    case DType::kBF16:
      options.rtol = options.atol = 3e-2;
      break;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
      options.rtol = options.atol = 0.26;
      break;
    case DType::kF4E2M1:
    case DType::kF8E8M0:
      // One step of the format.
      options.rtol = options.atol = 1;
      break;
    default:
      options.rtol = options.atol = 0;
  }
  return options;
}

HostTensor AsRealPairs(const HostTensor& tensor) {
  if (!IsComplex(tensor.dtype())) return tensor;
  const HostTensor dense = tensor.Contiguous();
  std::vector<int64_t> dims(dense.dims().begin(), dense.dims().end());
  dims.push_back(2);
  const DType real = tensor.dtype() == DType::kC128  ? DType::kF64
                     : tensor.dtype() == DType::kC32 ? DType::kF16
                                                     : DType::kF32;
  auto pairs = HostTensor::View(dense.buffer(), real, dims, {}, dense.offset() * 2);
  WEFT_CHECK(pairs.ok()) << pairs.status();
  return *std::move(pairs);
}

absl::Status Compare(const HostTensor& any_got, const HostTensor& any_want,
                     const CompareOptions& options, double* largest_error) {
  double unused;
  double* error = largest_error == nullptr ? &unused : largest_error;
  *error = INFINITY;
  // A NaN tolerance would accept everything.
  if (!(options.rtol >= 0 && options.atol >= 0 && options.integer_slack >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tolerances are at least 0, not rtol=", options.rtol, ", atol=", options.atol,
                     ", integer_slack=", options.integer_slack));
  }
  if (!any_got.valid() || !any_want.valid() || any_got.dtype() != any_want.dtype() ||
      any_got.dims() != any_want.dims()) {
    return absl::FailedPreconditionError(
        absl::StrCat("got ", Describe(any_got), ", want ", Describe(any_want)));
  }
  const HostTensor got = AsRealPairs(any_got);
  const HostTensor want = AsRealPairs(any_want);
  if (got.dtype() == DType::kU64) return CompareInts<uint64_t>(got, want, options, error);
  if (!IsFloat(got.dtype())) return CompareInts<int64_t>(got, want, options, error);
  return CompareElements(
      got.ReadDoubles(), want.ReadDoubles(), got.dims(),
      [&](double a, double b) { return DistanceOf(a, b, options); }, error);
}

absl::Status CompareAll(absl::Span<const HostTensor> got, absl::Span<const HostTensor> want,
                        const CompareOptions& options) {
  if (got.size() != want.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("got ", got.size(), " outputs, want ", want.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    absl::Status status = Compare(got[i], want[i], options);
    if (!status.ok()) {
      return absl::FailedPreconditionError(absl::StrCat("output ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace weft
