// An op whose functions belong to a program in C (weft_op).
#ifndef WEFT_API_C_LIBRARY_CALLBACK_OP_H_
#define WEFT_API_C_LIBRARY_CALLBACK_OP_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/c/weft.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/dynamic_op.h"

namespace weft::c {

// The context of a weft_op, given back by its `destroy`.
class OpContext {
 public:
  explicit OpContext(const weft_op& op) : context_(op.context), destroy_(op.destroy) {}
  OpContext(OpContext&& other)
      : context_(other.context_), destroy_(std::exchange(other.destroy_, nullptr)) {}
  ~OpContext() {
    if (destroy_ != nullptr) destroy_(context_);
  }

 private:
  void* context_;
  void (*destroy_)(void* context);
};

class CallbackOp : public ops::DynamicOp {
 public:
  // InvalidArgument for a schema that is malformed or has what the C interface does not pass.
  static absl::StatusOr<std::unique_ptr<const CallbackOp>> Make(const weft_op& op,
                                                                OpContext context);

 private:
  CallbackOp(ops::OpTexts texts, const weft_op& op, OpContext context);
  static absl::StatusOr<std::vector<Type>> Infer(const OpArgs& args);
  static absl::Status Eval(EvalContext& c);

  void (*const infer_)(void* context, weft_op_call* call);
  void (*const evaluate_)(void* context, weft_op_call* call);
  void* const context_;
  const int like_;
  const OpContext owned_;
};

}  // namespace weft::c

#endif  // WEFT_API_C_LIBRARY_CALLBACK_OP_H_
