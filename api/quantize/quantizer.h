// Post-training quantization of a module: annotate, prepare, calibrate, convert, finish.
//
//   WEFT_ASSIGN_OR_RETURN(Quantizer quantizer, Quantizer::Create(std::move(module), options));
//   for (batch : data) WEFT_RETURN_IF_ERROR(quantizer.Calibrate(batch));
//   WEFT_ASSIGN_OR_RETURN(QuantizedModel model, quantizer.Finish());
//
// Calibration is an ordinary run of the prepared module on a backend: statistics are buffers that
// the program writes, so memory does not grow with the data, and module() can be saved between two
// batches and taken up again (Resume). Threads: one at a time.
#ifndef WEFT_API_QUANTIZE_QUANTIZER_H_
#define WEFT_API_QUANTIZE_QUANTIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

struct QuantizeOptions {
  // A built-in policy with its options ("x86", "weight_only{bits=4,group=32}") or the text of a
  // policy file (passes/quantize/policy.h).
  std::string policy = "x86";
  // Nodes that stay as they are: by name of the source node (with *), or by op.
  std::vector<std::string> exclude;
  // Overrides the observer of all activations where not empty.
  std::string observer;
  // Evens out the ranges of channels between products before calibration
  // (passes/equalize_channels.h).
  bool equalize = false;
  // Moves scales between activations and weights where the error of products on `samples` falls
  // (passes/quantize/scale_migration.h): SmoothQuant, and AWQ for weights alone.
  bool smooth = false;
  // Batches as Calibrate takes them, which `smooth` needs: the first ones of the data.
  std::vector<std::vector<HostTensor>> samples;
  // Chooses the codes of weights of linears and matmuls so that errors make up for each other over
  // the last batches (round_weights.h): GPTQ.
  bool gptq = false;
  // Keeps layers in float so that the outputs have this signal to noise in dB over the last
  // batches, before biases and codes are improved (mixed_precision.h); 0: all are quantized.
  double budget_db = 0;
  // Corrects the bias of convolutions, linears and matmuls by the mean error that quantization
  // brings.
  bool bias_correction = true;
  // Biases of products of integers become i32 (integer_biases.h), for models that other run times
  // run. Here the kernels add them in float, so nothing is gained.
  bool integer_biases = false;
  // Backend that runs calibration.
  std::string target = "cpu";
};

// The outcome for one node that a policy could quantize.
struct QuantizedNode {
  // Names of the source nodes, joined by ','.
  std::string name;
  std::string op;
  bool quantized = false;
  // Why not, where it is not; a note otherwise.
  std::string reason;
  // Signal to quantization noise of the node's result in dB over the batches that were kept for the
  // comparison, and the cosine between both; NaN where not measured.
  double sqnr_db = 0;
  double cosine = 0;
  int64_t weight_bytes_before = 0;
  int64_t weight_bytes_after = 0;
};

struct QuantizedModel {
  std::unique_ptr<Module> module;
  std::vector<QuantizedNode> nodes;
  // What `smooth`, `budget_db` and `gptq` decided, a line each.
  std::vector<std::string> decisions;
  int64_t num_quantized() const;
};

class Quantizer {
 public:
  // Errors: an unknown policy, a policy that does not parse, a conflict between annotations (both
  // are named), samples that are not the module's inputs, and FailedPrecondition with the reasons
  // where nothing can be quantized.
  static absl::StatusOr<Quantizer> Create(std::unique_ptr<Module> module,
                                          const QuantizeOptions& options);
  // Goes on with a module that module() gave.
  static absl::StatusOr<Quantizer> Resume(std::unique_ptr<Module> prepared,
                                          const QuantizeOptions& options);
  Quantizer(Quantizer&&) noexcept;
  Quantizer& operator=(Quantizer&&) noexcept;
  ~Quantizer();

  // False for policies whose parameters come from weights and run time alone.
  bool needs_calibration() const;
  // One batch: the inputs of the original module.
  absl::Status Calibrate(absl::Span<const HostTensor> inputs);
  int64_t num_batches() const;
  // The prepared module with the statistics so far.
  absl::StatusOr<std::unique_ptr<Module>> module() const;
  // Converts; the quantizer is spent afterwards. FailedPrecondition without calibration where it
  // is needed, as for a budget and `gptq`.
  absl::StatusOr<QuantizedModel> Finish();

 private:
  struct State;
  explicit Quantizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_QUANTIZER_H_
