// A nested graph, again and again.
#include "graph/ops/support/op.h"
#include "graph/ops/support/region.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_range.h"

namespace weft::ops {
namespace {

// Operands before the carried ones; inputs and outputs of the body before them.
constexpr int kFixedOperands = 2;  // max_trip_count, cond
constexpr int kFixedInputs = 2;    // iteration, cond
constexpr int kFixedOutputs = 1;   // cond

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRegions(args));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 0, DType::kI64));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 0));
  WEFT_RETURN_IF_ERROR(CheckBool(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 0));
  const int64_t carried = args.attrs().Int("num_carried");
  if (carried < 0 || carried > args.size() - kFixedOperands) {
    return Invalid("num_carried is ", carried, " of ", args.size() - kFixedOperands, " operands");
  }
  std::vector<Type> inputs = {Type::Scalar(DType::kI64), Type::Scalar(DType::kBool)};
  const auto operands = args.types.subspan(kFixedOperands);
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  WEFT_RETURN_IF_ERROR(CheckRegionInputs(args, 0, inputs));
  // The condition is an input before the carried values.
  return CheckCarried(args, 0, kFixedInputs - 1, kFixedOutputs - 1, static_cast<int>(carried) + 1);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const int carried = static_cast<int>(args.attrs().Int("num_carried"));
  RegionTypes body(args, 0);
  for (int i = kFixedOperands + carried; i < args.size(); ++i) {
    body.Bind(i - kFixedOperands + kFixedInputs, args.type(i));
  }
  ResultTypes results(args);
  Types types;
  for (int i = 0; i < carried; ++i) {
    types.push_back(results.Carry(args.type(kFixedOperands + i), body.input(kFixedInputs + i),
                                  body.output(kFixedOutputs + i)));
  }
  if (body.num_outputs() == kFixedOutputs + carried) return types;
  const SymInt steps = FreshSize(args, 0, SymRange::kMax);
  for (int i = kFixedOutputs + carried; i < body.num_outputs(); ++i) {
    types.push_back(Stacked(steps, results.Export(body.output(i))));
  }
  return types;
}

absl::Status Eval(EvalContext& c) {
  const int64_t carried = c.attrs().Int("num_carried");
  const int64_t max_steps = c.in(0).IntAt(0);
  bool go_on = c.in(1).IntAt(0) != 0;
  // Iteration, condition, carried and captured values.
  std::vector<HostTensor> inputs = {HostTensor(), c.in(1)};
  for (int i = kFixedOperands; i < c.num_inputs(); ++i) {
    inputs.push_back(c.in(i));
  }
  std::vector<std::vector<HostTensor>> steps(c.num_outputs() - carried);
  for (int64_t step = 0; step < max_steps && go_on; ++step) {
    inputs[0] = HostTensor::ScalarInt(DType::kI64, step);
    std::vector<HostTensor> outputs;
    WEFT_RETURN_IF_ERROR(c.RunRegion(0, inputs, &outputs));
    go_on = outputs[0].IntAt(0) != 0;
    inputs[1] = outputs[0];
    for (int64_t i = 0; i < carried; ++i) {
      inputs[kFixedInputs + i] = std::move(outputs[kFixedOutputs + i]);
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].push_back(std::move(outputs[kFixedOutputs + carried + i]));
    }
  }
  for (int64_t i = 0; i < carried; ++i) {
    c.set_out(static_cast<int>(i), inputs[kFixedInputs + i]);
  }
  return SetStacked(c, static_cast<int>(carried), steps);
}

}  // namespace

WEFT_DEFINE_OP(loop, OpSpec("loop(Tensor max_trip_count, Tensor cond, "
                            "Tensor[] operands, int num_carried, Graph body) "
                            "-> Tensor[]",
                            "Runs body while cond (a bool scalar) holds, at most "
                            "max_trip_count (an i64 scalar) times. Operands are "
                            "carried values, then captured ones. body takes the "
                            "iteration (i64), the condition, carried and captured "
                            "values, and gives the condition, carried values and "
                            "values to keep; results are the last carried values "
                            "and the kept ones stacked along a new first dim. "
                            "ONNX: Loop; torch.while_loop.")
                         .Traits(kControlFlow | kDataDependent)
                         .Verify(Verify)
                         .Infer(Infer)
                         .Eval(Eval));

WEFT_SHARED_VIEW(CarryingLoop, loop);

}  // namespace weft::ops
