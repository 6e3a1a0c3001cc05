#include "graph/ops/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"

namespace weft::ops {
namespace {

// --- Activations ------------------------------------------------------------------

double Relu(double x, double, double) { return x < 0 ? 0 : x; }
double Tanh(double x, double, double) { return std::tanh(x); }
double Sigmoid(double x, double, double) { return 1 / (1 + std::exp(-x)); }
double Affine(double x, double a, double b) { return a * x + b; }
double LeakyRelu(double x, double a, double) { return x < 0 ? a * x : x; }
double ThresholdedRelu(double x, double a, double) { return x > a ? x : 0; }
double ScaledTanh(double x, double a, double b) { return a * std::tanh(b * x); }
double HardSigmoid(double x, double a, double b) { return std::min(std::max(a * x + b, 0.0), 1.0); }
double Elu(double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }
double Softsign(double x, double, double) { return x / (1 + std::abs(x)); }
double Softplus(double x, double, double) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// The same functions as nodes.
using P = Pointwise;
Value* BuildRelu(P& p, Value* x, double, double) { return p.builder().Op(ops::relu, {x}); }
Value* BuildTanh(P& p, Value* x, double, double) { return p.Tanh(x); }
Value* BuildSigmoid(P& p, Value* x, double, double) { return p.Sigmoid(x); }
Value* BuildAffine(P& p, Value* x, double a, double b) { return p.Add(p.Mul(x, a), b); }
Value* BuildLeakyRelu(P& p, Value* x, double a, double) {
  return p.Where(p.Less(x, 0), p.Mul(x, a), x);
}
Value* BuildThresholdedRelu(P& p, Value* x, double a, double) {
  return p.Where(p.Greater(x, a), x, 0);
}
Value* BuildScaledTanh(P& p, Value* x, double a, double b) { return p.Mul(p.Tanh(p.Mul(x, b)), a); }
Value* BuildHardSigmoid(P& p, Value* x, double a, double b) {
  return p.Minimum(p.Maximum(BuildAffine(p, x, a, b), 0), 1);
}
Value* BuildElu(P& p, Value* x, double a, double) {
  return p.Where(p.Less(x, 0), p.Mul(p.Expm1(x), a), x);
}
Value* BuildSoftsign(P& p, Value* x, double, double) { return p.Div(x, p.Add(p.Abs(x), 1)); }
Value* BuildSoftplus(P& p, Value* x, double, double) {
  return p.Add(p.Maximum(x, 0), p.Log1p(p.Exp(p.Mul(p.Abs(x), -1))));
}

struct ActivationEntry {
  double (*function)(double, double, double);
  Value* (*build)(Pointwise&, Value*, double, double);
};

// In the order of ActivationFunction.
constexpr ActivationEntry kActivations[] = {
    {Relu, BuildRelu},
    {Tanh, BuildTanh},
    {Sigmoid, BuildSigmoid},
    {Affine, BuildAffine},
    {LeakyRelu, BuildLeakyRelu},
    {ThresholdedRelu, BuildThresholdedRelu},
    {ScaledTanh, BuildScaledTanh},
    {HardSigmoid, BuildHardSigmoid},
    {Elu, BuildElu},
    {Softsign, BuildSoftsign},
    {Softplus, BuildSoftplus},
};

const ActivationEntry& EntryOf(const ActivationParams& params) {
  return kActivations[static_cast<int>(params.function)];
}

}  // namespace

int64_t NumDirections(const Attrs& attrs) {
  return attrs.Str("direction") == "bidirectional" ? 2 : 1;
}

double Activation::operator()(double x) const {
  return EntryOf(params_).function(x, params_.alpha, params_.beta);
}

Value* Activation::Build(Pointwise& p, Value* x) const {
  return EntryOf(params_).build(p, x, params_.alpha, params_.beta);
}

absl::StatusOr<std::vector<Activation>> FindActivations(const Attrs& attrs, const Recurrence& op) {
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<ActivationParams> params,
      FindActivationParams({attrs.Strs("activations"), attrs.Floats("activation_alpha"),
                            attrs.Floats("activation_beta")},
                           op.activations, NumDirections(attrs)));
  return std::vector<Activation>(params.begin(), params.end());
}

// --- Types ------------------------------------------------------------------------

SymInt Directions(const OpArgs& args) { return NumDirections(args.attrs()); }

absl::Status CheckDims(const OpArgs& args, int i, absl::Span<const SymInt> dims) {
  if (!args.has(i)) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckRank(args, i, static_cast<int>(dims.size())));
  for (size_t d = 0; d < dims.size(); ++d) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(i).dim(static_cast<int>(d)), dims[d],
                                         absl::StrCat(OperandName(args, i), " in dim ", d)));
  }
  return absl::OkStatus();
}

absl::Status VerifyRecurrent(const OpArgs& args, const Recurrence& op) {
  const Attrs attrs = args.attrs();
  const std::string& direction = attrs.Str("direction");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return Invalid("direction must be forward, reverse or bidirectional, got ", direction);
  }
  WEFT_RETURN_IF_ERROR(FindActivations(attrs, op).status());
  if (attrs.Int("hidden_size") < 1) {
    return Invalid("hidden_size must be positive");
  }
  if (!(attrs.Float("clip") >= 0)) return Invalid("clip must not be negative");
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  for (int i = 1; i < args.size(); ++i) {
    if (i == 4) continue;
    WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, i));
  }
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  const Type x = args.type(0);
  const SymInt directions = Directions(args);
  const SymInt hidden(attrs.Int("hidden_size"));
  const SymInt rows = hidden * op.gates;
  WEFT_RETURN_IF_ERROR(CheckDims(args, 1, {directions, rows, x.dim(2)}));
  WEFT_RETURN_IF_ERROR(CheckDims(args, 2, {directions, rows, hidden}));
  WEFT_RETURN_IF_ERROR(CheckDims(args, 3, {directions, 2 * rows}));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 4, DType::kI32));
  WEFT_RETURN_IF_ERROR(CheckDims(args, 4, {x.dim(1)}));
  return CheckDims(args, 5, {directions, x.dim(1), hidden});
}

Types RecurrentTypes(const OpArgs& args) {
  const Type x = args.type(0);
  const SymInt directions = Directions(args);
  const SymInt hidden(args.attrs().Int("hidden_size"));
  return {x.WithDims({x.dim(0), directions, x.dim(1), hidden}),
          x.WithDims({directions, x.dim(1), hidden})};
}

// --- Evaluation -------------------------------------------------------------------

RecurrentEval::RecurrentEval(EvalContext& c, const Recurrence& op, int cell)
    : c_(c),
      cell_(cell),
      directions_(NumDirections(c.attrs())),
      gates_(op.gates),
      length_(c.in(0).dim(0)),
      batch_(c.in(0).dim(1)),
      input_(c.in(0).dim(2)),
      hidden_(c.attrs().Int("hidden_size")),
      clip_(c.attrs().Float("clip")),
      r_(Read<double>(c.in(2))) {
  if (c.has(3)) b_ = Read<double>(c.in(3));
  auto activations = FindActivations(c.attrs(), op);
  WEFT_CHECK(activations.ok()) << activations.status().ToString();
  activations_ = *std::move(activations);
}

double RecurrentEval::InputBias(int64_t direction, int64_t gate, int64_t j) const {
  if (b_.empty()) return 0;
  return b_[(direction * 2 * gates_ + gate) * hidden_ + j];
}

double RecurrentEval::StateBias(int64_t direction, int64_t gate, int64_t j) const {
  if (b_.empty()) return 0;
  return b_[((direction * 2 + 1) * gates_ + gate) * hidden_ + j];
}

double RecurrentEval::TimesState(int64_t direction, int64_t gate, int64_t j,
                                 const std::vector<double>& h) const {
  const double* row = &r_[((direction * gates_ + gate) * hidden_ + j) * hidden_];
  double sum = 0;
  for (int64_t k = 0; k < hidden_; ++k) sum += row[k] * h[k];
  return sum;
}

double RecurrentEval::Clip(double v) const {
  if (clip_ == 0) return v;
  return std::min(std::max(v, -clip_), clip_);
}

absl::StatusOr<std::vector<int64_t>> RecurrentEval::Lengths() const {
  if (!c_.has(4)) return std::vector<int64_t>(batch_, length_);
  std::vector<int64_t> lengths = c_.in(4).ReadInts();
  for (int64_t n : lengths) {
    if (n >= 0 && n <= length_) continue;
    return Invalid("sequence_lens has ", n, ", which is not between 0 and ", length_);
  }
  return lengths;
}

// x w^T: [directions, length, batch, gates * hidden].
std::vector<double> RecurrentEval::InputProducts() const {
  const std::vector<double> x = Read<double>(c_.in(0));
  const std::vector<double> w = Read<double>(c_.in(1));
  const int64_t rows = gates_ * hidden_;
  return Multiply<double>({directions_, length_ * batch_, rows, input_,
                           [&](int64_t) { return x.data(); },
                           [&](int64_t i, const Panel& panel, double* to) {
                             CopyTransposedPanel(w.data() + i * rows * input_, input_, panel, to);
                           }});
}

std::vector<double> RecurrentEval::State(int operand, int64_t direction, int64_t sequence) const {
  std::vector<double> state(hidden_, 0);
  if (operand < 0 || !c_.has(operand)) return state;
  for (int64_t j = 0; j < hidden_; ++j) {
    state[j] = c_.in(operand).DoubleAt((direction * batch_ + sequence) * hidden_ + j);
  }
  return state;
}

absl::Status RecurrentEval::Run(absl::FunctionRef<void(const Step&)> step) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths());
  const std::vector<double> products = InputProducts();
  const int64_t per_direction = static_cast<int64_t>(activations_.size()) / directions_;
  std::vector<double> y(c_.out(0).numel(), 0);
  std::vector<double> y_h(c_.out(1).numel(), 0);
  std::vector<double> y_c(y_h.size(), 0);
  ParallelFor(directions_ * batch_, [&](int64_t at) {
    const int64_t d = at / batch_;
    const int64_t s = at % batch_;
    const bool reverse = d == 1 || c_.attrs().Str("direction") == "reverse";
    std::vector<double> h = State(5, d, s);
    std::vector<double> cell = State(cell_, d, s);
    for (int64_t i = 0; i < lengths[s]; ++i) {
      const int64_t t = reverse ? lengths[s] - 1 - i : i;
      const double* x = &products[((d * length_ + t) * batch_ + s) * gates_ * hidden_];
      step({d, x, &h, cell_ < 0 ? nullptr : &cell, &activations_[d * per_direction]});
      std::copy(h.begin(), h.end(), &y[((t * directions_ + d) * batch_ + s) * hidden_]);
    }
    std::copy(h.begin(), h.end(), &y_h[at * hidden_]);
    std::copy(cell.begin(), cell.end(), &y_c[at * hidden_]);
  });
  Write(y, &c_.out(0));
  Write(y_h, &c_.out(1));
  if (cell_ >= 0) Write(y_c, &c_.out(2));
  return absl::OkStatus();
}

SymInt RecurrentFlops(const FlopsArgs& args) {
  const Type x = args.operands[0];
  const Type w = args.operands[1];
  const Type r = args.operands[2];
  const SymInt steps = x.dim(0) * x.dim(1);
  const SymInt gates = w.dim(0) * w.dim(1);
  return steps * gates * (2 * w.dim(2) + 2 * r.dim(2) + 5);
}

}  // namespace weft::ops
