#include "backends/cuda/routines/fourier.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/routines/fourier_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/runtime/lines.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

// A thread adds as many products as a stage has.
constexpr int64_t kMaxRadix = 4096;

// Factors of a length: as many of eight as there are, then the prime ones.
std::vector<int64_t> FactorsOf(int64_t length) {
  std::vector<int64_t> factors;
  for (; length % 8 == 0; length /= 8) factors.push_back(8);
  for (int64_t p = 2; p * p <= length; ++p) {
    for (; length % p == 0; length /= p) factors.push_back(p);
  }
  if (length > 1) factors.push_back(length);
  return factors;
}

FourierSizes SizesOf(const Attrs& attrs, const RunView& x, const Lines& lines, const RunView& y,
                     const Lines& result_lines) {
  const bool inverse = attrs.Bool("inverse");
  FourierSizes sizes;
  sizes.size = lines.size;
  sizes.parts = x.dims.back();
  sizes.bins = result_lines.size;
  sizes.result_parts = y.dims.back();
  sizes.mirrored = inverse && attrs.Bool("onesided");
  sizes.length = sizes.mirrored ? 2 * (sizes.size - 1) : sizes.size;
  if (attrs.Has("dft_length")) sizes.length = attrs.Sym("dft_length").value();
  // The last dim has the parts.
  sizes.inner = lines.inner / sizes.parts;
  sizes.lines = lines.count() / sizes.parts;
  if (inverse && sizes.length > 0) sizes.scale = 1 / static_cast<double>(sizes.length);
  return sizes;
}

// Powers of the root of unity.
template <typename Real>
std::vector<Real> Powers(int64_t length, bool inverse) {
  const double step = (inverse ? 2 : -2) * std::acos(-1.0) / static_cast<double>(length);
  std::vector<Real> powers;
  powers.reserve(2 * length);
  for (int64_t k = 0; k < length; ++k) {
    const double angle = step * static_cast<double>(k);
    powers.push_back(static_cast<Real>(std::cos(angle)));
    powers.push_back(static_cast<Real>(std::sin(angle)));
  }
  return powers;
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> UploadPowers(CudaDevice& device, DType dtype,
                                                           int64_t length, bool inverse) {
  if (dtype == DType::kF64) return Upload(device, Powers<double>(length, inverse));
  return Upload(device, Powers<float>(length, inverse));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeFourier(const RoutineContext& context,
                                                      const StepRequest& request) {
  CudaDevice& device = context.device;
  const RunView& x = request.args[0];
  const RunView& y = request.results[0];
  const Attrs attrs(request.step.schema, request.attrs);
  Lines lines, result_lines;
  if (!FindLines(x, attrs.Int("axis"), &lines) || !FindLines(y, attrs.Int("axis"), &result_lines) ||
      x.dims.back() < 1 || x.dims.back() > 2) {
    return absl::UnimplementedError("nothing to transform");
  }
  FourierSizes sizes = SizesOf(attrs, x, lines, y, result_lines);
  if (sizes.length < 1) return absl::UnimplementedError("nothing to transform");
  if (sizes.length >= kMaxElements || sizes.lines >= kMaxElements / sizes.length) {
    return absl::UnimplementedError("2^31 elements or more");
  }
  const std::vector<int64_t> factors = FactorsOf(sizes.length);
  if (!factors.empty() && factors.back() > kMaxRadix) {
    return absl::UnimplementedError("a length with a large prime factor");
  }
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(FourierUnit(x.dtype)));
  auto code = std::make_unique<RoutineCode>(device, request, "fourier");
  if (y.numel() == 0) return code;
  WEFT_ASSIGN_OR_RETURN(const auto powers,
                        UploadPowers(device, x.dtype, sizes.length, attrs.Bool("inverse")));
  code->Keep(powers);
  const int64_t bytes = sizes.lines * sizes.length * (x.dtype == DType::kF64 ? 16 : 8);
  int64_t from = code->ReserveScratch(bytes);
  int64_t to = factors.empty() ? from : code->ReserveScratch(bytes);
  const int multiprocessors = device.multiprocessors();
  const LaunchShape shape = GridOfElements(sizes.lines * sizes.length, multiprocessors);
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_dft_load", shape,
      [&](PreparedLaunch* launch) {
        AddOperand(request, 0, launch);
        launch->AddScratch(bytes, from);
      },
      BytesOf(sizes)));
  for (const int64_t radix : factors) {
    sizes.radix = radix;
    WEFT_RETURN_IF_ERROR(code->AddKernel(
        module, "weft_dft_stage", shape,
        [&](PreparedLaunch* launch) {
          launch->AddScratch(bytes, from);
          launch->AddScratch(bytes, to);
          launch->AddFixed(powers->data(), powers->size());
        },
        BytesOf(sizes)));
    sizes.below *= radix;
    std::swap(from, to);
  }
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_dft_store", GridOfElements(sizes.lines * sizes.bins, multiprocessors),
      [&](PreparedLaunch* launch) {
        launch->AddScratch(bytes, from);
        AddOperand(request, static_cast<int>(request.args.size()), launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
