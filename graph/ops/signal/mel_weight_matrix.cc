// The matrix that turns a spectrum into mel bands.
#include <algorithm>
#include <cmath>

#include "graph/ops/support/op.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

constexpr int64_t kMaxBins = int64_t{1} << 24;

absl::Status Verify(const OpArgs& args) {
  for (int i = 0; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckRank(args, i, 0));
    WEFT_RETURN_IF_ERROR(i < 3 ? CheckIndex(args, i) : CheckFloat(args, i));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  SymbolInfo info;
  info.unbacked = true;
  const SymInt bins = args.symbols->Fresh("u", info);
  const SymInt bands = args.symbols->Fresh("u", info);
  return Types{Type::Tensor(args.attrs().Dtype("dtype"), {bins, bands})};
}

double MelFromHertz(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double HertzFromMel(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

// One band: a triangle over bins [low, high) with its maximum at `center`.
void AddBand(int64_t low, int64_t center, int64_t high, int64_t bins, int64_t stride,
             double* column) {
  const auto set = [&](int64_t bin, double v) {
    if (bin >= 0 && bin < bins) column[bin * stride] = v;
  };
  if (center == low) {
    set(center, 1);
  } else {
    for (int64_t j = low; j <= center; ++j) {
      set(j, static_cast<double>(j - low) / static_cast<double>(center - low));
    }
  }
  for (int64_t j = center; j < high; ++j) {
    set(j, static_cast<double>(high - j) / static_cast<double>(high - center));
  }
}

absl::Status Eval(EvalContext& c) {
  const int64_t bands = c.in(0).IntAt(0);
  const int64_t length = c.in(1).IntAt(0);
  const int64_t rate = c.in(2).IntAt(0);
  if (bands < 0 || length < 0 || rate < 1 || bands > kMaxBins || length > kMaxBins) {
    return Invalid("num_mel_bins, dft_length or sample_rate is out of range");
  }
  const double low = MelFromHertz(c.in(3).DoubleAt(0));
  const double step = (MelFromHertz(c.in(4).DoubleAt(0)) - low) / static_cast<double>(bands + 2);
  const int64_t bins = length / 2 + 1;
  std::vector<int64_t> edges(bands + 2);
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = HertzFromMel(static_cast<double>(i) * step + low);
    const double edge =
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(std::abs(edge) <= 4.0 * kMaxBins)) {
      return Invalid("an edge frequency is out of range");
    }
    edges[i] = static_cast<int64_t>(edge);
  }
  WEFT_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Allocate(c.out_type(0).dtype(), {bins, bands}));
  std::vector<double> matrix(out.numel(), 0.0);
  for (int64_t i = 0; i < bands; ++i) {
    AddBand(edges[i], edges[i + 1], edges[i + 2], bins, bands, matrix.data() + i);
  }
  Write(matrix, &out);
  c.set_out(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(mel_weight_matrix,
               OpSpec("mel_weight_matrix(Tensor num_mel_bins, Tensor dft_length, "
                      "Tensor sample_rate, Tensor lower_edge_hertz, "
                      "Tensor upper_edge_hertz, ScalarType dtype=f32) -> Tensor",
                      "[dft_length/2 + 1, num_mel_bins]: each column a triangle on the "
                      "mel scale. ONNX: MelWeightMatrix-17.")
                   .Traits(kDataDependent)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Flops(Absent{"the number depends on the data"})
                   .Samples(R"(
mel_weight_matrix(i64[]{8}, i64[]{16}, i64[]{8192}, f32[]{0}, f32[]{4096})
mel_weight_matrix(i32[]{4}, i32[]{32}, i32[]{8000}, f64[]{100}, f64[]{3000}, dtype=f64)
mel_weight_matrix(i64[1], i64[], i64[], f32[], f32[]) ! "num_mel_bins must have rank 0"
mel_weight_matrix(f32[], i64[], i64[], f32[], f32[]) ! "num_mel_bins"
)"));

}  // namespace weft::ops
