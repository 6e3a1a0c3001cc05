// Scales that move from activations into weights, or back, before anything is quantized.
//
//   product(norm(x, g, b), W)  ->  product(norm(x, g / s, b / s), W * s)
//
// computes the same for every positive factor s of an input channel, but is quantized with other
// errors. Where activations are quantized, s = max|X|^a / max|W|^(1 - a) takes outliers out of X
// (SmoothQuant); where weights are alone, s = mean|X|^a keeps the weights of large inputs (AWQ).
// The strength a is chosen for each value by the error of its readers' results on samples, which
// are quantized as their notes will say; a value whose readers gain nothing stays.
//
// Collect, Decide, Apply. Values of the main graph alone.
#ifndef WEFT_PASSES_QUANTIZE_SCALE_MIGRATION_H_
#define WEFT_PASSES_QUANTIZE_SCALE_MIGRATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/annotate.h"
#include "passes/quantize/spec.h"

namespace weft {

class Graph;
class Node;
class Value;

// A linear, or a matmul with a matrix, that reads the value as its first operand.
struct MigrationReader {
  Node* node = nullptr;
  QuantSpec weight;
  // Nothing where the activation stays float.
  std::optional<QuantSpec> activation;
};

// A constant operand before the value that is divided by the factors, along `axis`.
struct MigrationSource {
  Node* node = nullptr;
  int operand = 0;
  int axis = 0;
};

// A value of which all readers are products with quantized weights.
struct MigrationEdge {
  Value* value = nullptr;
  int64_t channels = 0;
  std::vector<MigrationSource> sources;
  std::vector<MigrationReader> readers;
};

// The values whose last dim takes factors: results of native_layer_norm and rms_norm with weights,
// of multiplications with a constant vector, of linears and of matmuls with a matrix, and of adds
// of a constant vector, mul, relu and leaky_relu behind these. In the order of the graph. The
// specs are those of the decision's marks.
std::vector<MigrationEdge> CollectMigrations(const Graph& graph, const QuantDecision& decision);

// What is seen of a value: rows of it, and of all of its elements the largest and the mean
// magnitude by channel.
struct ActivationSample {
  // f32, [rows, channels].
  HostTensor rows;
  std::vector<double> largest;
  std::vector<double> mean;
};

struct MigrationChoice {
  // Empty: the value stays as it is.
  std::vector<double> factors;
  double strength = 0;
  // Noise over signal of the readers' results on the sample, summed over the readers.
  double error_before = 0;
  double error_after = 0;
};

// Reads at most 128 rows of a weight and 256 of the sample. An error names the value.
absl::StatusOr<MigrationChoice> DecideMigration(const MigrationEdge& edge,
                                                const ActivationSample& sample);
// "%3 (native_layer_norm, from "norm"): strength 0.5, error 0.004 -> 0.001", or "...: stays,
// error 0.001".
std::string ToText(const MigrationEdge& edge, const MigrationChoice& choice);

absl::Status ApplyMigration(const MigrationEdge& edge, const MigrationChoice& choice);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_SCALE_MIGRATION_H_
