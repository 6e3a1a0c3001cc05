// Statistics of a value over the batches of a calibration.
#include <cmath>
#include <limits>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/arithmetic.h"
#include "graph/ops/quant/histogram.h"
#include "graph/ops/quant/observer_state.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/extrema.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"

namespace weft::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::StatusOr<Type> StateTypeOf(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const std::string& statistic = attrs.Str("statistic");
  if (!IsStatistic(statistic)) {
    return Invalid("unknown statistic \"", statistic, "\" (min_max, moving_average, histogram)");
  }
  if (!attrs.Has("axis")) return StateType(statistic);
  if (statistic == "histogram") {
    return Invalid("a histogram is of the whole tensor: axis must be none");
  }
  WEFT_ASSIGN_OR_RETURN(const int axis, NormalizeDim(attrs.Int("axis"), args.type(0).rank()));
  return StateType(statistic, args.type(0).dim(axis));
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_ASSIGN_OR_RETURN(const Type state, StateTypeOf(args));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 1, state.dtype()));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, state.rank()));
  for (int d = 0; d < state.rank(); ++d) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, args.type(1).dim(d), state.dim(d), absl::StrCat("state in dim ", d)));
  }
  const double momentum = args.attrs().Float("momentum");
  if (momentum > 0 && momentum <= 1) return absl::OkStatus();
  return Invalid("momentum must be greater than 0 and at most 1, got ", momentum);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Type state, StateTypeOf(args));
  return Types{state};
}

// The dims over which extrema are taken, ascending: all but the axis.
std::vector<int> DimsOfExtrema(const Attrs& attrs, int rank) {
  const int axis = attrs.Has("axis") ? *NormalizeDim(attrs.Int("axis"), rank) : -1;
  std::vector<int> dims;
  for (int d = 0; d < rank; ++d) {
    if (d != axis) dims.push_back(d);
  }
  return dims;
}

bool IsMoving(const Attrs& attrs) { return attrs.Str("statistic") == "moving_average"; }

// --- As nodes ---------------------------------------------------------------

// The least and the largest finite element of the batch, as a state.
Value* BatchState(Builder& b, const OpArgs& args, absl::Span<const SymInt> size) {
  Value* x = Convert(b, args.operand(0), DType::kF32);
  const std::vector<int> axes = DimsOfExtrema(args.attrs(), args.type(0).rank());
  const std::vector<int64_t> dims(axes.begin(), axes.end());
  Value* finite = b.Op(lt, {b.Op(abs, {x}), b.Scalar(DType::kF32, kInfinity)});
  const auto extreme = [&](const OpDef& op, double none) {
    Value* v = b.Op(where, {finite, x, b.Scalar(DType::kF32, none)});
    return Reshape(b, Reduce(b, op, v, dims), size.subspan(1));
  };
  Value* least = extreme(amin, kInfinity);
  return b.Op(stack, {least, extreme(amax, -kInfinity)});
}

// Rows 0 and 1 of a state.
Value* Row(Builder& b, Value* state, int64_t row) { return BuildSelect(b, state, 0, row); }

// old + momentum * (batch - old); the first batch sets, one without data changes nothing.
Value* Average(Builder& b, Value* old, Value* batch, double momentum) {
  Value* delta = WithScalar(b, mul, b.Op(sub, {batch, old}), momentum);
  Value* moved = b.Op(add, {old, delta});
  Value* first = b.Op(gt, {Row(b, old, 0), Row(b, old, 1)});
  Value* nothing = b.Op(gt, {Row(b, batch, 0), Row(b, batch, 1)});
  moved = b.Op(where, {first, batch, moved});
  return b.Op(where, {nothing, old, moved});
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Attrs attrs = args.attrs();
  Value* state = args.operand(1);
  if (attrs.Str("statistic") == "histogram") return {AddToHistogram(b, args.operand(0), state)};
  const std::vector<SymInt> size = DimsOf(*StateTypeOf(args));
  state = Reshape(b, state, size);
  Value* batch = BatchState(b, args, size);
  if (IsMoving(attrs)) return {Average(b, state, batch, attrs.Float("momentum"))};
  Value* least = b.Op(minimum, {Row(b, state, 0), Row(b, batch, 0)});
  return {b.Op(stack, {least, b.Op(maximum, {Row(b, state, 1), Row(b, batch, 1)})})};
}

// --- On the host ------------------------------------------------------------

struct Extrema {
  double least = kInfinity;
  double largest = -kInfinity;

  void Take(double v) {
    least = v < least ? v : least;
    largest = v > largest ? v : largest;
  }
  bool empty() const { return least > largest; }
};

double MovedTo(double old, double batch, double momentum) {
  const auto f32 = [](double v) { return RoundTo(DType::kF32, v); };
  return f32(old + f32(f32(batch - old) * momentum));
}

Extrema Join(Extrema old, Extrema batch) {
  return {Smaller(old.least, batch.least), Larger(old.largest, batch.largest)};
}

Extrema Average(Extrema old, Extrema batch, double momentum) {
  if (batch.empty()) return old;
  if (old.empty()) return batch;
  return {MovedTo(old.least, batch.least, momentum), MovedTo(old.largest, batch.largest, momentum)};
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  std::vector<double> state = Read<double>(c.in(1));
  const std::vector<double> x = Read<double>(c.in(0));
  if (attrs.Str("statistic") == "histogram") {
    AddToHistogram(x, &state);
    Write(state, &c.out(0));
    return absl::OkStatus();
  }
  const std::vector<int> axes = DimsOfExtrema(attrs, c.in(0).rank());
  const std::vector<int64_t> target = ReductionTargets(c.in(0).dims(), axes);
  std::vector<Extrema> batch(state.size() / 2);
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = RoundTo(DType::kF32, x[i]);
    if (std::isfinite(v)) batch[target[i]].Take(v);
  }
  const double momentum = RoundTo(DType::kF32, attrs.Float("momentum"));
  for (size_t i = 0; i < batch.size(); ++i) {
    double& least = state[i];
    double& largest = state[batch.size() + i];
    const Extrema old{least, largest};
    const Extrema now = IsMoving(attrs) ? Average(old, batch[i], momentum) : Join(old, batch[i]);
    least = now.least;
    largest = now.largest;
  }
  Write(state, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(observe,
               OpSpec("observe(Tensor self, Tensor state, str statistic=\"min_max\", "
                      "int? axis=None, float momentum=0.01) -> Tensor",
                      "The statistics `state` with the elements of self added. min_max keeps "
                      "the least and the largest element, of all or of each slice along "
                      "axis; moving_average moves both by momentum times the distance to "
                      "those of self, and the first batch sets them; histogram counts in "
                      "2048 bins of a range that grows. NaN and infinities are left out, and "
                      "without another element the state stays. graph/ops/quant/"
                      "observer_state.h has the layouts. PyTorch: MinMaxObserver, "
                      "MovingAverageMinMaxObserver, their per-channel forms, and "
                      "HistogramObserver of torchao.quantization.pt2e, which leave out "
                      "infinities in the last one only.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerOperand{4})
                   .Samples(R"(
observe(f32[2, 3, 4], f32[2]{inf, -inf})
observe(f32[2, 3, 4], f32[2]{-0.5, 9})
observe(f32[6]{nan, inf, -3, 2.5, -inf, 1}, f32[2]{-1, 1})
observe(f32[3]{nan, inf, -inf}, f32[2]{-1, 1}, statistic="moving_average")
observe(f32[2, 3, 4], f32[2, 3]{-1, -1.5, 0.5, 1, 1.25, 0.75}, axis=1)
observe(f32[2, 3]{nan, 1, 2, -5, 0, inf}, f32[2, 2]{inf, inf, -inf, -inf}, axis=0)
observe(f32[5], f32[2, 5]{-1..1}, axis=-1)
observe(f16[2, 3], f32[2]{-0.5, 9}, statistic="moving_average")
observe(f32[2, 3], f32[2]{inf, -inf}, statistic="moving_average")
observe(bf16[3, 2], f32[2, 2]{-1, 0.5, 1, 0.75}, statistic="moving_average", axis=-1, momentum=0.25)
observe(f64[2]{1e300, -7}, f32[2]{-1, 1})
observe(f32[], f32[2]{-1, 1})
observe(f32[0, 3], f32[2]{-1, 1})
observe(f32[0, 3], f32[2, 3]{-1, -2, -3, 1, 2, 3}, statistic="moving_average", axis=1)
observe(f32[2, 3, 4], f64[2050]{-3, 3, 1, 0..}, statistic="histogram")
observe(f32[2, 3, 4]{-9..9}, f64[2050]{0, 2, 1..}, statistic="histogram")
observe(f16[2, 3]{-9..9}, f64[2050]{2, 2, 5..}, statistic="histogram")
observe(f64[4]{nan, 3, inf, -inf}, f64[2050]{-3, 1, 1, 0..}, statistic="histogram")
observe(f32[0], f64[2050]{-3, 3, 1, 0..}, statistic="histogram")
observe(f32[], f64[2050]{-3, 3, 1, 0..}, statistic="histogram")
observe(i32[2], f32[2]) ! "self must have a float dtype"
observe(f32[2], f32[2], statistic="mode") ! "unknown statistic \"mode\""
observe(f32[2, 3], f32[2, 2], axis=1) ! "state in dim 1: 2 and 3 differ"
observe(f32[2, 3], f32[3]) ! "state in dim 0: 3 and 2 differ"
observe(f32[2, 3], f64[2]) ! "state must have dtype f32"
observe(f32[2, 3], f32[2]{-1, 1}, axis=0) ! "state must have rank 2"
observe(f32[2, 3], f32[2, 3], axis=2) ! "dim 2 is out of range"
observe(f32[2, 3], f64[2050], statistic="histogram", axis=0) ! "axis must be none"
observe(f32[2, 3], f32[2], statistic="moving_average", momentum=0.0) ! "momentum must be greater than 0"
)"));

}  // namespace weft::ops
