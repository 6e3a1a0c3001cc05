// EvalContext: one evaluation of an op, as its Eval sees it.
#ifndef WEFT_GRAPH_IR_OP_EVAL_H_
#define WEFT_GRAPH_IR_OP_EVAL_H_

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class OpDef;

// One evaluation of an op on host tensors. All attributes are constants.
class EvalContext {
 public:
  using RegionRunner = absl::FunctionRef<absl::Status(
      int region, absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs)>;

  EvalContext(const OpDef& op, const AttrList* attrs, absl::Span<const HostTensor> inputs,
              Types result_types, RegionRunner run_region);

  const OpDef& op() const { return op_; }
  Attrs attrs() const;
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < num_inputs() && inputs_[i].valid(); }
  const HostTensor& in(int i) const { return inputs_[i]; }

  // Result types from Infer. Dims are constant, except those that this evaluation decides.
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Type out_type(int i) const { return result_types_[i]; }
  // Output `i`, zero-filled, with the type out_type(i) if that is static.
  HostTensor& out(int i) { return outputs_[i]; }
  void set_out(int i, HostTensor t) { outputs_[i] = std::move(t); }
  std::vector<HostTensor> TakeOutputs() { return std::move(outputs_); }

  absl::Status RunRegion(int region, absl::Span<const HostTensor> inputs,
                         std::vector<HostTensor>* outputs) {
    return run_region_(region, inputs, outputs);
  }

 private:
  const OpDef& op_;
  const AttrList* attrs_;
  absl::Span<const HostTensor> inputs_;
  Types result_types_;
  std::vector<HostTensor> outputs_;
  RegionRunner run_region_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_EVAL_H_
