#include "api/compare.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

// How far `got` is beyond what is allowed; 0 or less when it is near enough.
double Excess(double got, double want, const CompareOptions& options) {
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) == std::isnan(want) ? 0 : INFINITY;
  }
  if (std::isinf(got) || std::isinf(want)) return got == want ? 0 : INFINITY;
  if (options.signed_zeros && got == 0 && want == 0) {
    return std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  }
  return std::abs(got - want) - options.atol - options.rtol * std::abs(want);
}

struct Worst {
  int64_t count = 0;
  int64_t index = 0;
  double excess = 0;

  void Add(int64_t i, double e) {
    if (!(e > 0)) return;
    if (count == 0 || e > excess) {
      index = i;
      excess = e;
    }
    ++count;
  }
};

template <typename T>
absl::Status Report(const Worst& worst, const std::vector<T>& got, const std::vector<T>& want,
                    absl::Span<const int64_t> dims) {
  if (worst.count == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      worst.count, " of ", got.size(), " elements differ; worst at ", Index(worst.index, dims),
      ": got ", got[worst.index], ", want ", want[worst.index]));
}

}  // namespace

CompareOptions ToleranceFor(DType dtype) {
  CompareOptions options;
  switch (dtype) {
    case DType::kF64:
      options.rtol = options.atol = 1e-10;
      break;
    case DType::kF32:
      options.rtol = options.atol = 1e-5;
      break;
    case DType::kF16:
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
    default:
      options.rtol = options.atol = 0;
  }
  return options;
}

absl::Status Compare(const HostTensor& got, const HostTensor& want, const CompareOptions& options) {
  if (!got.valid() || !want.valid() || got.dtype() != want.dtype() || got.dims() != want.dims()) {
    return absl::FailedPreconditionError(
        absl::StrCat("got ", Describe(got), ", want ", Describe(want)));
  }
  Worst worst;
  if (!IsFloat(got.dtype())) {
    const std::vector<int64_t> a = got.ReadInts();
    const std::vector<int64_t> b = want.ReadInts();
    for (size_t i = 0; i < a.size(); ++i) {
      const bool near = a[i] == b[i] || std::abs(static_cast<double>(a[i]) - b[i]) <=
                                            static_cast<double>(options.integer_slack);
      if (!near) worst.Add(i, std::abs(static_cast<double>(a[i]) - b[i]));
    }
    return Report(worst, a, b, got.dims());
  }
  const std::vector<double> a = got.ReadDoubles();
  const std::vector<double> b = want.ReadDoubles();
  for (size_t i = 0; i < a.size(); ++i) {
    worst.Add(i, Excess(a[i], b[i], options));
  }
  return Report(worst, a, b, got.dims());
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
