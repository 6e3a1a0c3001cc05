#include "passes/quantize/scale_migration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "passes/quantize/fake_quantize.h"

namespace weft {
namespace {

constexpr int64_t kMaxWeightRows = 128;
constexpr int64_t kMaxSampleRows = 256;
constexpr int kStrengths = 20;
// The share of the error that may be left: a smaller gain would be one on these samples alone.
constexpr double kWorthwhile = 0.97;
// Factors of one value differ by no more than this.
constexpr double kMaxSpread = 1e5;

// Row-major.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;
  const double* row(int64_t i) const { return values.data() + i * columns; }
};

// Every so many rows, so that at most `most` are left.
Matrix SomeRows(const Matrix& whole, int64_t most) {
  const int64_t step = std::max<int64_t>(1, (whole.rows + most - 1) / most);
  Matrix some = {0, whole.columns, {}};
  for (int64_t i = 0; i < whole.rows; i += step) {
    some.values.insert(some.values.end(), whole.row(i), whole.row(i) + whole.columns);
    ++some.rows;
  }
  return some;
}

// The weight as [results, sums], whatever the product.
Matrix WeightOf(const Node& product) {
  const HostTensor& weight = *LiteralOf(product.operand(1));
  std::vector<double> values = weight.ReadDoubles();
  if (product.Is(ops::linear)) return {weight.dim(0), weight.dim(1), std::move(values)};
  Matrix turned = {weight.dim(1), weight.dim(0), std::vector<double>(values.size())};
  for (int64_t k = 0; k < turned.columns; ++k) {
    for (int64_t n = 0; n < turned.rows; ++n) {
      turned.values[n * turned.columns + k] = values[k * turned.rows + n];
    }
  }
  return turned;
}

// The spec for a weight that is turned to [results, sums].
QuantSpec Turned(const QuantSpec& spec, const Node& product) {
  QuantSpec turned = spec;
  if (product.Is(ops::linear)) return turned;
  turned.axis = 1 - (spec.axis < 0 ? spec.axis + 2 : spec.axis);
  return turned;
}

Matrix ScaledColumns(const Matrix& matrix, const std::vector<double>& factors, bool divide) {
  Matrix scaled = matrix;
  for (size_t i = 0; i < scaled.values.size(); ++i) {
    const double factor = factors[i % factors.size()];
    scaled.values[i] = divide ? scaled.values[i] / factor : scaled.values[i] * factor;
  }
  return scaled;
}

absl::StatusOr<Matrix> Quantized(const QuantSpec& spec, const Matrix& matrix) {
  Matrix result = {matrix.rows, matrix.columns, {}};
  WEFT_ASSIGN_OR_RETURN(result.values,
                        FakeQuantized(spec, {matrix.rows, matrix.columns}, matrix.values));
  return result;
}

// X W^T.
Matrix Product(const Matrix& x, const Matrix& w) {
  Matrix y = {x.rows, w.rows, std::vector<double>(x.rows * w.rows)};
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t n = 0; n < w.rows; ++n) {
      const double* a = x.row(i);
      const double* b = w.row(n);
      double sum = 0;
      for (int64_t k = 0; k < x.columns; ++k) sum += a[k] * b[k];
      y.values[i * w.rows + n] = sum;
    }
  }
  return y;
}

double SquaresOf(const Matrix& matrix) {
  double sum = 0;
  for (const double v : matrix.values) sum += v * v;
  return sum;
}

class Decider {
 public:
  Decider(const MigrationEdge& edge, const ActivationSample& sample)
      : edge_(edge), sample_(sample) {
    const Matrix rows = {sample.rows.dim(0), sample.rows.dim(1), sample.rows.ReadDoubles()};
    x_ = SomeRows(rows, kMaxSampleRows);
    largest_weight_.assign(edge.channels, 0);
    for (const MigrationReader& reader : edge.readers) {
      const Matrix weight = WeightOf(*reader.node);
      for (size_t i = 0; i < weight.values.size(); ++i) {
        double& largest = largest_weight_[i % edge.channels];
        largest = std::max(largest, std::abs(weight.values[i]));
      }
      weights_.push_back(SomeRows(weight, kMaxWeightRows));
      exact_.push_back(Product(x_, weights_.back()));
    }
  }

  absl::StatusOr<MigrationChoice> Run() {
    MigrationChoice choice;
    const std::vector<double> ones(edge_.channels, 1);
    WEFT_ASSIGN_OR_RETURN(choice.error_before, ErrorWith(ones));
    choice.error_after = choice.error_before;
    double least = choice.error_before * kWorthwhile;
    for (int i = 0; i <= kStrengths; ++i) {
      const double strength = static_cast<double>(i) / kStrengths;
      const std::vector<double> factors = FactorsOf(strength);
      WEFT_ASSIGN_OR_RETURN(const double error, ErrorWith(factors));
      if (!(error < least)) continue;
      least = error;
      choice = {factors, strength, choice.error_before, error};
    }
    return choice;
  }

 private:
  // Of SmoothQuant where an activation is quantized, else of AWQ. The middle is 1; channels that
  // are always zero keep 1.
  std::vector<double> FactorsOf(double strength) const {
    const bool smooth = std::any_of(edge_.readers.begin(), edge_.readers.end(),
                                    [](const auto& reader) { return reader.activation; });
    std::vector<double> factors(edge_.channels, 0);
    double least = 0, most = 0;
    for (int64_t k = 0; k < edge_.channels; ++k) {
      const double x = smooth ? sample_.largest[k] : sample_.mean[k];
      const double w = smooth ? largest_weight_[k] : 1;
      const double factor = std::pow(x, strength) / std::pow(w, smooth ? 1 - strength : 0);
      if (!(x > 0) || !(w > 0) || !std::isfinite(factor) || !(factor > 0)) continue;
      factors[k] = factor;
      least = least == 0 ? factor : std::min(least, factor);
      most = std::max(most, factor);
    }
    const double middle = std::sqrt(least) * std::sqrt(most);
    for (double& factor : factors) {
      const double bounded = factor / middle;
      const double end = std::sqrt(kMaxSpread);
      factor = factor == 0 ? 1 : static_cast<float>(std::clamp(bounded, 1 / end, end));
    }
    return factors;
  }

  absl::StatusOr<double> ErrorWith(const std::vector<double>& factors) const {
    const Matrix x = ScaledColumns(x_, factors, /*divide=*/true);
    Matrix seen;
    const QuantSpec* seen_as = nullptr;
    double error = 0;
    for (size_t i = 0; i < edge_.readers.size(); ++i) {
      const MigrationReader& reader = edge_.readers[i];
      WEFT_ASSIGN_OR_RETURN(const Matrix w,
                            Quantized(Turned(reader.weight, *reader.node),
                                      ScaledColumns(weights_[i], factors, /*divide=*/false)));
      // Most readers of a value quantize it alike.
      if (reader.activation && (seen_as == nullptr || *seen_as != *reader.activation)) {
        WEFT_ASSIGN_OR_RETURN(seen, Quantized(*reader.activation, x));
        seen_as = &*reader.activation;
      }
      Matrix off = Product(reader.activation ? seen : x, w);
      for (size_t k = 0; k < off.values.size(); ++k) off.values[k] -= exact_[i].values[k];
      const double signal = SquaresOf(exact_[i]);
      if (signal > 0) error += SquaresOf(off) / signal;
    }
    return error;
  }

  const MigrationEdge& edge_;
  const ActivationSample& sample_;
  Matrix x_;
  std::vector<double> largest_weight_;
  // By reader.
  std::vector<Matrix> weights_;
  std::vector<Matrix> exact_;
};

// The constant operand with each slice along `axis` multiplied by its factor.
absl::Status Scale(Node* node, int operand, int axis, const std::vector<double>& factors) {
  const HostTensor& before = *LiteralOf(node->operand(operand));
  int64_t inner = 1;
  for (int d = axis + 1; d < before.rank(); ++d) inner *= before.dim(d);
  std::vector<double> values = before.ReadDoubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i / inner % factors.size()];
  Builder b(node->graph(), node);
  node->set_operand(operand,
                    b.Constant(HostTensor::FromDoubles(DType::kF32, before.dims(), values)));
  return b.status();
}

}  // namespace

absl::StatusOr<MigrationChoice> DecideMigration(const MigrationEdge& edge,
                                                const ActivationSample& sample) {
  const size_t channels = edge.channels;
  if (sample.rows.rank() != 2 || sample.rows.dim(1) != edge.channels ||
      sample.largest.size() != channels || sample.mean.size() != channels) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(PlaceOf(edge.value)), ": the sample has other channels"));
  }
  if (sample.rows.dim(0) == 0) return MigrationChoice();
  auto choice = Decider(edge, sample).Run();
  if (choice.ok()) return choice;
  return absl::Status(choice.status().code(),
                      absl::StrCat(ToString(PlaceOf(edge.value)), ": ", choice.status().message()));
}

std::string ToText(const MigrationEdge& edge, const MigrationChoice& choice) {
  const std::string place = ToString(PlaceOf(edge.value));
  if (choice.factors.empty()) {
    return absl::StrFormat("%s: stays, error %.3g", place, choice.error_before);
  }
  return absl::StrFormat("%s: strength %.2f, error %.3g -> %.3g", place, choice.strength,
                         choice.error_before, choice.error_after);
}

absl::Status ApplyMigration(const MigrationEdge& edge, const MigrationChoice& choice) {
  if (choice.factors.empty()) return absl::OkStatus();
  std::vector<double> inverse;
  for (const double factor : choice.factors) inverse.push_back(1 / factor);
  for (const MigrationSource& source : edge.sources) {
    WEFT_RETURN_IF_ERROR(Scale(source.node, source.operand, source.axis, inverse));
  }
  for (const MigrationReader& reader : edge.readers) {
    const int axis = reader.node->Is(ops::linear) ? 1 : 0;
    WEFT_RETURN_IF_ERROR(Scale(reader.node, 1, axis, choice.factors));
  }
  return absl::OkStatus();
}

}  // namespace weft
