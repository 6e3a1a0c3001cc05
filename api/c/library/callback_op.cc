#include "api/c/library/callback_op.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "api/c/entries/errors.h"
#include "api/c/library/op_call.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_schema.h"

namespace weft::c {
namespace {

bool Passes(AttrKind kind) {
  return kind == AttrKind::kInt || kind == AttrKind::kFloat || kind == AttrKind::kBool ||
         kind == AttrKind::kString || kind == AttrKind::kInts || kind == AttrKind::kFloats ||
         kind == AttrKind::kStrings;
}

absl::Status CheckSchema(const OpSchema& schema) {
  bool tensors = schema.regions.empty() && !schema.has_variadic_result();
  for (const OperandSpec& operand : schema.operands) tensors &= !operand.symint;
  for (const ResultSpec& result : schema.results) tensors &= !result.symint;
  if (!tensors) {
    return absl::InvalidArgumentError("operands and results of an op in C are tensors");
  }
  if (schema.views || schema.writes) {
    return absl::InvalidArgumentError("an op in C neither views nor writes its operands");
  }
  if (schema.operands.empty() || schema.results.empty()) {
    return absl::InvalidArgumentError("an op in C has operands and results");
  }
  for (const AttrSpec& attr : schema.attrs) {
    if (Passes(attr.kind)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ", attr.name, " is of a type that an op in C does not have"));
  }
  return absl::OkStatus();
}

absl::Status CheckResults(const std::vector<HostTensor>& results) {
  for (const HostTensor& result : results) {
    if (result.dtype() != DType::kBool) continue;
    const uint8_t* bytes = result.raw();
    if (std::any_of(bytes, bytes + result.numel(), [](uint8_t byte) { return byte > 1; })) {
      return absl::InvalidArgumentError("the evaluation gave a bool that is neither 0 nor 1");
    }
  }
  return absl::OkStatus();
}

}  // namespace

CallbackOp::CallbackOp(ops::OpTexts texts, const weft_op& op, OpContext context)
    : DynamicOp(std::move(texts),
                [](const OpSpec& spec) {
                  return spec.Infer(Infer)
                      .Eval(Eval)
                      .Map(Absent{"a function in C evaluates it"})
                      .Flops(Absent{"a function in C evaluates it"});
                }),
      infer_(op.infer),
      evaluate_(op.evaluate),
      context_(op.context),
      like_(op.like),
      owned_(std::move(context)) {}

absl::StatusOr<std::unique_ptr<const CallbackOp>> CallbackOp::Make(const weft_op& op,
                                                                   OpContext context) {
  WEFT_RETURN_IF_ERROR(CheckGiven(op.schema, "schema"));
  WEFT_RETURN_IF_ERROR(CheckGiven(reinterpret_cast<const void*>(op.evaluate), "evaluate"));
  WEFT_ASSIGN_OR_RETURN(const OpSchema schema, OpSchema::Parse(op.schema));
  WEFT_RETURN_IF_ERROR(CheckSchema(schema));
  const int operands = static_cast<int>(schema.operands.size());
  if (op.infer == nullptr &&
      (op.like < 0 || op.like >= operands || schema.operands[op.like].optional)) {
    return absl::InvalidArgumentError(
        absl::StrCat("`like` is ", op.like, ", which is not one of the op's required operands"));
  }
  ops::OpTexts texts = {schema.name, op.schema, op.doc != nullptr ? op.doc : ""};
  return std::unique_ptr<const CallbackOp>(
      new CallbackOp(std::move(texts), op, std::move(context)));
}

absl::StatusOr<Types> CallbackOp::Infer(const OpArgs& args) {
  const auto& op = static_cast<const CallbackOp&>(*args.op);
  const size_t num_results = op.schema().results.size();
  if (op.infer_ == nullptr) {
    if (!args.has(op.like_)) return absl::InvalidArgumentError("an operand is missing");
    return Types(num_results, args.type(op.like_));
  }
  weft_op_call call(args.attrs(), args.types, num_results);
  op.infer_(op.context_, &call);
  return call.TakeTypes();
}

absl::Status CallbackOp::Eval(EvalContext& c) {
  const auto& op = static_cast<const CallbackOp&>(c.op());
  std::vector<HostTensor> operands;
  Types types;
  for (int i = 0; i < c.num_inputs(); ++i) {
    operands.push_back(c.in(i));
    types.push_back(c.has(i) ? c.in(i).type() : Type());
  }
  std::vector<HostTensor> results;
  for (int i = 0; i < c.num_outputs(); ++i) results.push_back(c.out(i));
  weft_op_call call(c.attrs(), types, results.size());
  call.SetTensors(std::move(operands), results);
  op.evaluate_(op.context_, &call);
  WEFT_RETURN_IF_ERROR(call.status());
  return CheckResults(results);
}

}  // namespace weft::c
