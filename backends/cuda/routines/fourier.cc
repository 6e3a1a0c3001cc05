#include "backends/cuda/routines/fourier.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "backends/cuda/routines/fourier_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/runtime/lines.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ops/signal/chirp.h"

namespace weft::cuda {
namespace {

// A thread adds as many products as a stage has; lengths with larger factors go by a chirp.
constexpr int64_t kMaxRadix = 4096;
// The most elements of a line that goes by a chirp.
constexpr int64_t kMaxChirp = int64_t{1} << 22;

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
std::vector<double> Powers(int64_t length, bool inverse) {
  const double step = (inverse ? 2 : -2) * std::acos(-1.0) / static_cast<double>(length);
  std::vector<double> powers;
  powers.reserve(2 * length);
  for (int64_t k = 0; k < length; ++k) {
    const double angle = step * static_cast<double>(k);
    powers.push_back(std::cos(angle));
    powers.push_back(std::sin(angle));
  }
  return powers;
}

// The numbers, or their conjugates, as pairs.
std::vector<double> PairsOf(const std::vector<std::complex<double>>& values, bool conjugate) {
  std::vector<double> pairs;
  pairs.reserve(2 * values.size());
  for (const std::complex<double>& v : values) {
    pairs.push_back(v.real());
    pairs.push_back(conjugate ? -v.imag() : v.imag());
  }
  return pairs;
}

// The launches of a transform.
class Stages {
 public:
  Stages(CudaDevice& device, std::shared_ptr<const CudaModule> module, DType dtype,
         RoutineCode* code)
      : device_(device), module_(std::move(module)), wide_(dtype == DType::kF64), code_(*code) {}

  // A launch whose threads walk over `elements`.
  absl::Status Add(const char* kernel, int64_t elements, const FourierSizes& sizes,
                   absl::FunctionRef<void(PreparedLaunch*)> add) {
    return code_.AddKernel(module_, kernel, GridOfElements(elements, device_.multiprocessors()),
                           add, BytesOf(sizes));
  }

  // Transforms lines of sizes.length elements in the scratch memory at `from`, of `bytes` bytes in
  // all; returns where the results lie.
  absl::StatusOr<int64_t> AddTransform(FourierSizes sizes, const std::vector<int64_t>& factors,
                                       bool inverse, int64_t bytes, int64_t from) {
    if (factors.empty()) return from;
    int64_t to = code_.ReserveScratch(bytes);
    WEFT_ASSIGN_OR_RETURN(const DeviceMemory* const powers, Keep(Powers(sizes.length, inverse)));
    for (const int64_t radix : factors) {
      sizes.radix = radix;
      WEFT_RETURN_IF_ERROR(
          Add("weft_dft_stage", sizes.lines * sizes.length, sizes, [&](PreparedLaunch* launch) {
            launch->AddScratch(bytes, from);
            launch->AddScratch(bytes, to);
            launch->AddFixed(powers->data(), powers->size());
          }));
      sizes.below *= radix;
      std::swap(from, to);
    }
    return from;
  }

  // Transforms the lines at `values` in place, as a convolution with a chirp. Its inverse transform
  // is the forward one, whose results stand in reverse order.
  absl::Status AddChirp(FourierSizes sizes, bool inverse, int64_t bytes, int64_t values) {
    const Chirp made = MakeChirp(sizes.length);
    WEFT_ASSIGN_OR_RETURN(const DeviceMemory* const chirp, Keep(PairsOf(made.chirp, inverse)));
    WEFT_ASSIGN_OR_RETURN(const DeviceMemory* const spectrum,
                          Keep(PairsOf(made.spectrum, inverse)));
    sizes.padded = static_cast<int64_t>(made.spectrum.size());
    FourierSizes padded = sizes;
    padded.length = sizes.padded;
    const int64_t count = sizes.lines * sizes.padded;
    const int64_t padded_bytes = count * (wide_ ? 16 : 8);
    const std::vector<int64_t> factors = FactorsOf(sizes.padded);
    int64_t at = code_.ReserveScratch(padded_bytes);
    WEFT_RETURN_IF_ERROR(Add("weft_dft_spread", count, sizes, [&](PreparedLaunch* launch) {
      launch->AddScratch(bytes, values);
      launch->AddScratch(padded_bytes, at);
      launch->AddFixed(chirp->data(), chirp->size());
    }));
    WEFT_ASSIGN_OR_RETURN(at, AddTransform(padded, factors, false, padded_bytes, at));
    WEFT_RETURN_IF_ERROR(Add("weft_dft_multiply", count, sizes, [&](PreparedLaunch* launch) {
      launch->AddScratch(padded_bytes, at);
      launch->AddFixed(spectrum->data(), spectrum->size());
    }));
    WEFT_ASSIGN_OR_RETURN(at, AddTransform(padded, factors, false, padded_bytes, at));
    return Add("weft_dft_gather", sizes.lines * sizes.length, sizes, [&](PreparedLaunch* launch) {
      launch->AddScratch(padded_bytes, at);
      launch->AddScratch(bytes, values);
      launch->AddFixed(chirp->data(), chirp->size());
    });
  }

 private:
  // A copy on the device, in the precision of the transform.
  absl::StatusOr<const DeviceMemory*> Keep(const std::vector<double>& values) {
    std::shared_ptr<DeviceMemory> memory;
    if (wide_) {
      WEFT_ASSIGN_OR_RETURN(memory, Upload(device_, values));
    } else {
      WEFT_ASSIGN_OR_RETURN(memory,
                            Upload(device_, std::vector<float>(values.begin(), values.end())));
    }
    const DeviceMemory* const made = memory.get();
    code_.Keep(std::move(memory));
    return made;
  }

  CudaDevice& device_;
  const std::shared_ptr<const CudaModule> module_;
  const bool wide_;
  RoutineCode& code_;
};

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
  const bool by_chirp = !factors.empty() && factors.back() > kMaxRadix;
  if (by_chirp && (sizes.length > kMaxChirp || sizes.lines >= kMaxElements / (4 * sizes.length))) {
    return absl::UnimplementedError("a length with a large prime factor");
  }
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(FourierUnit(x.dtype)));
  auto code = std::make_unique<RoutineCode>(device, request, "fourier");
  if (y.numel() == 0) return code;
  const bool inverse = attrs.Bool("inverse");
  Stages stages(device, module, x.dtype, code.get());
  const int64_t bytes = sizes.lines * sizes.length * (x.dtype == DType::kF64 ? 16 : 8);
  const int64_t values = code->ReserveScratch(bytes);
  WEFT_RETURN_IF_ERROR(
      stages.Add("weft_dft_load", sizes.lines * sizes.length, sizes, [&](PreparedLaunch* launch) {
        AddOperand(request, 0, launch);
        launch->AddScratch(bytes, values);
      }));
  int64_t result = values;
  if (by_chirp) {
    WEFT_RETURN_IF_ERROR(stages.AddChirp(sizes, inverse, bytes, values));
  } else {
    WEFT_ASSIGN_OR_RETURN(result, stages.AddTransform(sizes, factors, inverse, bytes, values));
  }
  WEFT_RETURN_IF_ERROR(
      stages.Add("weft_dft_store", sizes.lines * sizes.bins, sizes, [&](PreparedLaunch* launch) {
        launch->AddScratch(bytes, result);
        AddOperand(request, static_cast<int>(request.args.size()), launch);
      }));
  return code;
}

}  // namespace weft::cuda
