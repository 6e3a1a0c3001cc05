// One step of AdamW over the parameters of a transformer, as torch.optim.AdamW
// does it: decoupled weight decay, moments with bias correction.
#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

constexpr double kRate = 1e-3;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEps = 1e-8;
constexpr double kDecay = 0.01;

// Shapes of the 12 parameters of a layer of that width.
std::vector<std::vector<int64_t>> LayerShapes(int64_t w) {
  return {{3 * w, w}, {3 * w}, {w, w}, {w}, {4 * w, w}, {4 * w},
          {w, 4 * w}, {w},     {w},    {w}, {w},        {w}};
}

// Values shared by all parameters: 1 - beta^step.
struct Corrections {
  Value* first;
  Value* root_of_second;
};

Corrections BiasCorrections(Net& net, Value* step) {
  const auto correction = [&](double beta) {
    Value* power = net.Op(ops::pow, {net.Scalar(beta), step});
    return Sub(net, net.Scalar(1), power);
  };
  Value* first = correction(kBeta1);
  return {first, net.Op(ops::sqrt, {correction(kBeta2)})};
}

struct State {
  Value* parameter;
  Value* first;   // exp_avg
  Value* second;  // exp_avg_sq
};

// beta * old + (1 - beta) * value
Value* Average(Net& net, Value* old, Value* value, double beta) {
  return Add(net, Mul(net, old, net.Scalar(beta)), Mul(net, value, net.Scalar(1 - beta)));
}

State Step(Net& net, const State& old, Value* grad, const Corrections& c) {
  State next;
  next.first = Average(net, old.first, grad, kBeta1);
  next.second = Average(net, old.second, Mul(net, grad, grad), kBeta2);
  Value* root = Div(net, net.Op(ops::sqrt, {next.second}), c.root_of_second);
  Value* scale = Add(net, root, net.Scalar(kEps));
  Value* rate = Div(net, net.Scalar(kRate), c.first);
  Value* change = Mul(net, Div(net, next.first, scale), rate);
  Value* decayed = Mul(net, old.parameter, net.Scalar(1 - kRate * kDecay));
  next.parameter = Sub(net, decayed, change);
  return next;
}

}  // namespace

absl::StatusOr<Model> BuildAdamW(const ModelOptions& options) {
  Net net(options);
  const int64_t layers = net.Pick(25, 1);
  std::vector<State> states;
  std::vector<Value*> grads;
  Value* step = net.Input("step", DType::kF32, {}, {1, 10});
  for (int64_t i = 0; i < layers; ++i) {
    for (const auto& shape : LayerShapes(net.Pick(128, 4))) {
      const Dims dims(shape.begin(), shape.end());
      const auto input = [&](absl::string_view name, Range range) {
        return net.Input(absl::StrCat(name, states.size()), DType::kF32, dims, range);
      };
      // Not in one braced list with grads: inputs follow the calls.
      Value* parameter = input("param_", {-1, 1});
      Value* first = input("exp_avg_", {-0.1, 0.1});
      Value* second = input("exp_avg_sq_", {0, 0.01});
      grads.push_back(input("grad_", {-0.1, 0.1}));
      states.push_back({parameter, first, second});
    }
  }
  const Corrections corrections = BiasCorrections(net, step);
  for (size_t i = 0; i < states.size() && net.ok(); ++i) {
    Net::Scope scope(net, absl::StrCat("param_", i));
    const State next = Step(net, states[i], grads[i], corrections);
    net.Update(absl::StrCat("new_param_", i), states[i].parameter->index(), next.parameter);
    net.Update(absl::StrCat("new_exp_avg_", i), states[i].first->index(), next.first);
    net.Update(absl::StrCat("new_exp_avg_sq_", i), states[i].second->index(), next.second);
  }
  return net.Finish();
}

}  // namespace weft::models
