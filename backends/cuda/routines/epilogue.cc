#include "backends/cuda/routines/epilogue.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/op_schema.h"
#include "lowering/finish_kernel.h"
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

// The declarations that epilogue.h names. `sum`: the type of the routine's results, `value`: that
// of w_finish. `dtypes`: of the operands. `statements` return what is computed of x and y.
EpilogueCode CodeOf(const std::string& sum, const std::string& value, const std::string& result,
                    absl::Span<const DType> dtypes, const std::string& statements) {
  std::string fields, values, loads, parameters, arguments;
  for (size_t o = 0; o < dtypes.size(); ++o) {
    const std::string memory = MemoryType(dtypes[o]);
    absl::StrAppend(&fields, "  W_IN(", memory, ") e", o, ";\n");
    absl::StrAppend(&values, "  ", LoadedType(dtypes[o]), " v", o, ";\n");
    absl::StrAppend(&loads, "  y.v", o, " = w_load(p.e", o, ", at[", o, "]);\n");
    absl::StrAppend(&parameters, ", W_IN(", memory, ") e", o);
    absl::StrAppend(&arguments, o > 0 ? ", e" : "e", o);
  }
  EpilogueCode code;
  code.text = absl::StrCat(
      "#define W_RESULT ", result, "\n#define W_OPERANDS ", dtypes.size(),
      "\n#define W_OPERAND_PARAMETERS ", parameters, "\n#define W_OPERAND_ARGUMENTS ", arguments,
      "\nstruct w_operands {\n", fields, "};\nstruct w_values {\n", values, "};\nW_FN ", value,
      " w_finish_values(", sum, " x, const w_values& y) {\n", statements, "}\nW_FN ", value,
      " w_finish(", sum, " x, const w_operands& p, const i64* at) {\n  w_values y;\n", loads,
      "  return w_finish_values(x, y);\n}\n");
  return code;
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
    absl::StrAppend(&statements_, "  x = ", function, "(x, y.v", operands_.size(), ");\n");
    operands_.push_back(OperandOf(e, view, request.results[0], channel));
    return absl::OkStatus();
  }

  EpilogueCode Finish() {
    // Integers are those of ProductDType.
    const DType dtype = ProductDType(dtype_);
    const bool rounds = steps_ > 0 && DTypeBits(dtype_) == 16;
    const std::string rounded =
        rounds ? absl::StrCat("  x = w_round_", DTypeName(dtype_), "(x);\n") : "";
    EpilogueCode code = CodeOf(SumType(dtype), SumType(dtype), MemoryType(dtype),
                               std::vector<DType>(operands_.size(), dtype_),
                               absl::StrCat(rounded, statements_, "  return x;\n"));
    code.text.insert(0, functions_);
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

// An operand that a kernel reads with this access.
absl::StatusOr<EpilogueOperand> OperandOf(const Access& access, int arg, const SymbolEnv& env) {
  EpilogueOperand operand;
  operand.arg = arg;
  bool known = true;
  const auto value = [&](SymInt s) {
    const std::optional<int64_t> v = env.Eval(s);
    known = known && v.has_value();
    return v.value_or(0);
  };
  operand.begin = value(access.offset);
  for (const SymInt stride : access.strides) operand.strides.push_back(value(stride));
  if (!known) return absl::InternalError("a size of a finish has no value");
  return operand;
}

// The kernel that finishes the step.
absl::StatusOr<EpilogueCode> MakeFinish(const StepRequest& request) {
  const Kernel& kernel = request.plan.kernels[request.step.kernel];
  const Stage& stage = kernel.nests[0].stages[0];
  const int own = NumOwnArgs(request.plan, request.step);
  WEFT_ASSIGN_OR_RETURN(const FinishFunction function, EmitFinishFunction(kernel, "w_step0"));
  std::vector<DType> dtypes;
  std::vector<EpilogueOperand> operands;
  std::string values;
  for (const int load : function.loads) {
    const Access& access = stage.body[load].access;
    absl::StrAppend(&values, ", y.v", operands.size());
    dtypes.push_back(kernel.args[access.arg].dtype);
    WEFT_ASSIGN_OR_RETURN(auto operand, OperandOf(access, own + access.arg - 1, request.env));
    operands.push_back(std::move(operand));
  }
  const DType sum = kernel.args[0].dtype;
  EpilogueCode code =
      CodeOf(SumType(ProductDType(sum)), ValueType(stage.body[stage.stores[0].value].dtype),
             MemoryType(request.results[0].dtype), dtypes,
             absl::StrCat("  return w_step0((", ValueType(sum), ")x", values, ");\n"));
  code.text.insert(0, function.text);
  code.operands = std::move(operands);
  return code;
}

}  // namespace

void EpilogueCode::AddOperands(const StepRequest& request, PreparedLaunch* launch) const {
  for (const EpilogueOperand& operand : operands) {
    AddOperand(request, operand.arg, launch, operand.begin);
  }
}

absl::StatusOr<EpilogueCode> MakeEpilogue(const StepRequest& request, int channel) {
  if (IsFinished(request.step)) return MakeFinish(request);
  Chain chain(request.results[0].dtype);
  for (const Epilogue& e : request.step.epilogue) {
    WEFT_RETURN_IF_ERROR(chain.Add(request, e, channel));
  }
  return chain.Finish();
}

std::string PlainEpilogue(DType dtype) { return Chain(dtype).Finish().text; }

}  // namespace weft::cuda
