#include "backends/cuda/routines/epilogue.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/types.h"
#include "base/status_macros.h"
#include "graph/ir/op_schema.h"
#include "lowering/plan_ops.h"

namespace weft::cuda {
namespace {

EpilogueOperand OperandOf(const Epilogue& e, const RunView& view, const RunView& result,
                          int channel) {
  EpilogueOperand operand;
  operand.arg = e.arg;
  operand.strides.resize(result.rank());
  if (e.kind == Epilogue::Kind::kBias) {
    operand.strides[channel] = view.dims[0] == 1 ? 0 : view.strides[0];
    return operand;
  }
  for (int d = 0; d < view.rank(); ++d) {
    const int to = d + result.rank() - view.rank();
    if (view.dims[d] != 1) operand.strides[to] = view.strides[d];
  }
  return operand;
}

// Statements and declarations of the chain.
class Chain {
 public:
  explicit Chain(DType dtype) : dtype_(dtype) {}

  absl::Status Add(const StepRequest& request, const Epilogue& e, int channel) {
    const ScalarBody* body =
        request.plan.ops == nullptr ? nullptr : FindScalarBody(*request.plan.ops, e, dtype_);
    const absl::string_view op = e.schema == nullptr ? "an op" : absl::string_view(e.schema->name);
    if (body == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("the plan has no body of ", op, " for ", DTypeName(dtype_)));
    }
    const std::string function = absl::StrCat("w_step", steps_++);
    WEFT_ASSIGN_OR_RETURN(const std::string text, EmitScalarFunction(body->kernel, function));
    absl::StrAppend(&functions_, text);
    if (e.kind == Epilogue::Kind::kUnary) {
      absl::StrAppend(&statements_, "  x = ", function, "(x);\n");
      return absl::OkStatus();
    }
    const RunView& view = request.args[e.arg];
    if (!view.present() || view.dtype != dtype_) {
      return absl::UnimplementedError(absl::StrCat("an operand of ", op, " has another dtype"));
    }
    absl::StrAppend(&statements_, "  x = ", function, "(x, y[", operands_.size(), "]);\n");
    operands_.push_back(OperandOf(e, view, request.results[0], channel));
    return absl::OkStatus();
  }

  EpilogueCode Finish() {
    const std::string memory = MemoryType(dtype_);
    const std::string value = SumType(ProductDType(dtype_));
    std::string fields;
    std::string loads;
    std::string parameters;
    std::string arguments;
    for (size_t o = 0; o < operands_.size(); ++o) {
      absl::StrAppend(&fields, "  W_IN(", memory, ") e", o, ";\n");
      absl::StrAppend(&loads, "  y[", o, "] = w_load(p.e", o, ", at[", o, "]);\n");
      absl::StrAppend(&parameters, ", W_IN(", memory, ") e", o);
      absl::StrAppend(&arguments, o > 0 ? ", e" : "e", o);
    }
    const bool rounds = steps_ > 0 && DTypeBits(dtype_) == 16;
    EpilogueCode code;
    code.text = absl::StrCat(
        functions_, "#define W_OPERANDS ", operands_.size(), "\n#define W_OPERAND_PARAMETERS ",
        parameters, "\n#define W_OPERAND_ARGUMENTS ", arguments, "\nstruct w_operands {\n", fields,
        "};\nW_FN ", value, " w_finish_values(", value, " x, const ", value, "* y) {\n",
        rounds ? absl::StrCat("  x = w_round_", DTypeName(dtype_), "(x);\n") : "", statements_,
        "  return x;\n}\nW_FN ", value, " w_finish(", value,
        " x, const w_operands& p, const i64* at) {\n  ", value, " y[W_OPERANDS + 1];\n", loads,
        "  return w_finish_values(x, y);\n}\n");
    code.operands = std::move(operands_);
    return code;
  }

 private:
  const DType dtype_;
  int steps_ = 0;
  std::vector<EpilogueOperand> operands_;
  std::string functions_;
  std::string statements_;
};

}  // namespace

absl::StatusOr<EpilogueCode> MakeEpilogue(const StepRequest& request, int channel) {
  Chain chain(request.results[0].dtype);
  for (const Epilogue& e : request.step.epilogue) {
    WEFT_RETURN_IF_ERROR(chain.Add(request, e, channel));
  }
  return chain.Finish();
}

std::string PlainEpilogue(DType dtype) { return Chain(dtype).Finish().text; }

}  // namespace weft::cuda
