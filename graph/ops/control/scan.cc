// A nested graph on each slice of some tensors.
#include "graph/ops/support/op.h"
#include "graph/ops/support/region.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

// Numbers of operands: carried, then scanned, then captured ones.
struct Counts {
  int carried;
  int scanned;
};

Counts CountsOf(const Attrs& attrs) {
  return {static_cast<int>(attrs.Int("num_carried")), static_cast<int>(attrs.Int("num_scanned"))};
}

// Types of the body's inputs, and the length that the scanned operands share.
absl::StatusOr<std::vector<Type>> BodyInputs(const OpArgs& args, SymInt* length) {
  const Counts n = CountsOf(args.attrs());
  std::vector<Type> inputs;
  for (int i = 0; i < args.size(); ++i) {
    const Type t = args.type(i);
    if (i < n.carried || i >= n.carried + n.scanned) {
      inputs.push_back(t);
      continue;
    }
    WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, i, 1));
    if (i == n.carried) *length = t.dim(0);
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, *length, t.dim(0), absl::StrCat("length of ", OperandName(args, i))));
    *length = JoinSizes(*length, t.dim(0));
    inputs.push_back(t.WithDims(t.dims().subspan(1)));
  }
  return inputs;
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRegions(args));
  const int64_t carried = args.attrs().Int("num_carried");
  const int64_t scanned = args.attrs().Int("num_scanned");
  if (carried < 0 || scanned < 1 || carried > args.size() || scanned > args.size() - carried) {
    return Invalid("num_carried is ", carried, " and num_scanned ", scanned, " of ", args.size(),
                   " operands");
  }
  SymInt length;
  WEFT_ASSIGN_OR_RETURN(const std::vector<Type> inputs, BodyInputs(args, &length));
  WEFT_RETURN_IF_ERROR(CheckRegionInputs(args, 0, inputs));
  return CheckCarried(args, 0, 0, 0, static_cast<int>(carried));
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const int carried = CountsOf(args.attrs()).carried;
  SymInt length;
  WEFT_ASSIGN_OR_RETURN(const std::vector<Type> inputs, BodyInputs(args, &length));
  RegionTypes body(args, 0);
  for (int i = carried; i < args.size(); ++i) body.Bind(i, inputs[i]);
  ResultTypes results(args);
  Types types;
  for (int i = 0; i < body.num_outputs(); ++i) {
    types.push_back(i < carried ? results.Carry(args.type(i), body.input(i), body.output(i))
                                : Stacked(length, results.Export(body.output(i))));
  }
  return types;
}

// Slice `i` along dim 0.
HostTensor SliceAt(const HostTensor& t, int64_t i) {
  HostTensor out(t.dtype(), t.dims().subspan(1));
  std::vector<int64_t> source(out.numel());
  for (int64_t n = 0; n < out.numel(); ++n) source[n] = i * out.numel() + n;
  Gather(t, source, &out);
  return out;
}

absl::Status Eval(EvalContext& c) {
  const Counts n = CountsOf(c.attrs());
  const int64_t length = c.in(n.carried).dim(0);
  std::vector<HostTensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  for (int i = n.carried; i < n.carried + n.scanned; ++i) {
    if (c.in(i).dim(0) == length) continue;
    return Invalid("scanned operands have lengths ", length, " and ", c.in(i).dim(0));
  }
  std::vector<std::vector<HostTensor>> steps(c.num_outputs() - n.carried);
  for (int64_t step = 0; step < length; ++step) {
    for (int i = n.carried; i < n.carried + n.scanned; ++i) {
      inputs[i] = SliceAt(c.in(i), step);
    }
    std::vector<HostTensor> outputs;
    WEFT_RETURN_IF_ERROR(c.RunRegion(0, inputs, &outputs));
    for (int i = 0; i < n.carried; ++i) inputs[i] = std::move(outputs[i]);
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].push_back(std::move(outputs[n.carried + i]));
    }
  }
  for (int i = 0; i < n.carried; ++i) c.set_out(i, inputs[i]);
  return SetStacked(c, n.carried, steps);
}

}  // namespace

WEFT_DEFINE_OP(scan, OpSpec("scan(Tensor[] operands, int num_carried, "
                            "int num_scanned, Graph body) -> Tensor[]",
                            "Runs body on the slices of the scanned operands along "
                            "dim 0, which have one length. Operands are carried "
                            "values, then scanned, then captured ones. body takes "
                            "carried values, slices and captured values, and gives "
                            "carried values and values to keep; results are the last "
                            "carried values and the kept ones stacked along a new "
                            "first dim. ONNX: Scan along axis 0, forward; "
                            "torch.scan.")
                         .Traits(kControlFlow | kDataDependent)
                         .Verify(Verify)
                         .Infer(Infer)
                         .Eval(Eval));

WEFT_SHARED_VIEW(CarryingLoop, scan);

}  // namespace weft::ops
