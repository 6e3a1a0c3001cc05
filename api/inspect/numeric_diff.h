// Two models on the same inputs, compared layer by layer: a float model and its quantized form,
// or one before and after passes.
//
// Layers are matched by provenance: for the source nodes that a node of the second model stands
// for, the last float value that stands for any of them in each model. Both models run on the
// reference executor. Memory: the matched values of the first model.
#ifndef WEFT_API_INSPECT_NUMERIC_DIFF_H_
#define WEFT_API_INSPECT_NUMERIC_DIFF_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/inspect/layer_report.h"

namespace weft {

class HostTensor;
class Module;

class NumericDiff {
 public:
  // Both outlive this.
  NumericDiff(const Module& before, const Module& after);
  ~NumericDiff();
  NumericDiff(const NumericDiff&) = delete;
  NumericDiff& operator=(const NumericDiff&) = delete;

  // One batch: the inputs of the first model. Those of the second get the tensors of the same
  // name, or their initial values; an empty tensor stands for an initial value. InvalidArgument
  // for an input of the second model without either.
  absl::Status AddBatch(absl::Span<const HostTensor> inputs);

  // Over all batches: the layers in the order of the second model, then the outputs by place, with
  // the state "output".
  std::vector<LayerRow> Rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_NUMERIC_DIFF_H_
