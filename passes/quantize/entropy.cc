// The threshold search that TensorRT described and ONNX Runtime has in another form: here over
// magnitudes, in 2048 bins and 128 levels, so that data of one sign uses all bins.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "passes/quantize/range_search.h"

namespace weft {
namespace {

constexpr int kLevels = 128;
// The count that stands for none in a distribution that is compared.
constexpr double kSmooth = 1e-4;
// The least share of the elements inside the range: where all lie far from 0, a range that they
// are all outside of has no divergence.
constexpr double kKept = 0.99;

// The first `n` bins, with all others in the last of them.
std::vector<double> Reference(const std::vector<double>& counts, int n) {
  std::vector<double> result(counts.begin(), counts.begin() + n);
  for (size_t i = n; i < counts.size(); ++i) result[n - 1] += counts[i];
  return result;
}

// The first `n` bins in kLevels levels, each spread again over those of its bins that the
// reference has elements in.
std::vector<double> InLevels(const std::vector<double>& counts, const std::vector<double>& wanted) {
  const int n = static_cast<int>(wanted.size());
  std::vector<double> result(n, 0);
  for (int level = 0; level < kLevels; ++level) {
    const int begin = level * n / kLevels, end = (level + 1) * n / kLevels;
    double sum = 0;
    int used = 0;
    for (int i = begin; i < end; ++i) {
      sum += counts[i];
      used += wanted[i] > 0;
    }
    for (int i = begin; i < end; ++i) {
      if (wanted[i] > 0) result[i] = sum / used;
    }
  }
  return result;
}

// The Kullback-Leibler divergence of q from p, both normalised.
double Divergence(const std::vector<double>& p, const std::vector<double>& q) {
  double p_sum = 0, q_sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    p_sum += p[i];
    q_sum += std::max(q[i], kSmooth);
  }
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    const double a = p[i] / p_sum, b = std::max(q[i], kSmooth) / q_sum;
    sum += a * std::log(a / b);
  }
  return sum;
}

}  // namespace

ValueRange EntropyRange(const Histogram& histogram) {
  Histogram magnitudes = MagnitudesOf(histogram);
  double end = magnitudes.range.max;
  if (magnitudes.range.min == end) return histogram.range;
  const double kept = magnitudes.Quantile(kKept);
  // Zeros are exact in every grid, and many of them would outweigh all else.
  magnitudes.counts[0] = magnitudes.counts[1];
  double least = std::numeric_limits<double>::infinity();
  const int bins = static_cast<int>(magnitudes.counts.size());
  for (int n = std::min(kLevels, bins); n <= bins; ++n) {
    if (magnitudes.edge(n) < kept) continue;
    const std::vector<double> reference = Reference(magnitudes.counts, n);
    const double divergence = Divergence(reference, InLevels(magnitudes.counts, reference));
    // The wider range where two are equal.
    if (divergence > least) continue;
    least = divergence;
    end = magnitudes.edge(n);
  }
  return {std::max(histogram.range.min, -end), std::min(histogram.range.max, end)};
}

}  // namespace weft
