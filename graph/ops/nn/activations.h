// The activations of lstm, gru and rnn as data, for programs without the ops.
#ifndef WEFT_GRAPH_OPS_NN_ACTIVATIONS_H_
#define WEFT_GRAPH_OPS_NN_ACTIVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// The functions that ONNX's recurrent operators name.
enum class ActivationFunction : uint8_t {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

// A function with its parameters; 0 for those that it does not have.
struct ActivationParams {
  ActivationFunction function = ActivationFunction::kTanh;
  double alpha = 0;
  double beta = 0;
};

// The attributes of a recurrent op.
struct ActivationAttrs {
  absl::Span<const std::string> names;  // Case does not matter.
  absl::Span<const double> alphas;
  absl::Span<const double> betas;
};

// The activations of all directions. Without names each direction has `usual`. Each function takes
// the next alpha, and the next beta, if it has one; behind the last of these ONNX's defaults.
// InvalidArgument for an unknown name or a wrong number of names.
absl::StatusOr<std::vector<ActivationParams>> FindActivationParams(
    const ActivationAttrs& attrs, absl::Span<const ActivationFunction> usual, int64_t directions);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_NN_ACTIVATIONS_H_
