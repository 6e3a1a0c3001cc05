#include "graph/ir/op_eval.h"

#include <utility>

#include "graph/ir/op_def.h"

namespace weft {

EvalContext::EvalContext(const OpDef& op, const AttrList* attrs,
                         absl::Span<const HostTensor> inputs, Types result_types,
                         RegionRunner run_region)
    : op_(op),
      attrs_(attrs),
      inputs_(inputs),
      result_types_(std::move(result_types)),
      outputs_(result_types_.size()),
      run_region_(run_region) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Type t = result_types_[i];
    if (!t.is_tensor()) continue;
    if (auto dims = t.static_dims()) outputs_[i] = HostTensor(t.dtype(), *dims);
  }
}

Attrs EvalContext::attrs() const { return Attrs(&op_.schema(), attrs_); }

}  // namespace weft
