// Random numbers: a state that is passed through the program.
//
// PyTorch has a global generator that each draw changes. Here the state is a value
// (graph/ops/random): an input of `main` that the program writes back, incremented by one. Draws
// from one state have different numbers. A nested graph takes the state and returns the next one,
// so that the iterations of a loop differ, like JAX's split keys.
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/program_importer.h"

namespace weft::pt2 {
namespace {

const NodeDef::Input* FindInput(const NodeDef& node, absl::string_view name) {
  for (const NodeDef::Input& input : node.inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

bool IsOff(const NodeDef& node, absl::string_view flag) {
  const NodeDef::Input* input = FindInput(node, flag);
  return input != nullptr && input->value.is(Argument::Kind::kBool) && input->value.integer == 0;
}

// Decides by the target: the table of random numbers, and attention with dropout; false outside of
// training.
bool Draws(const NodeDef& node) {
  if (absl::StrContains(node.target, "scaled_dot_product")) {
    return FindInput(node, "dropout_p") != nullptr;
  }
  const KnownOp* op = FindAten(node.target);
  if (op == nullptr) op = FindWritten(node.target);
  if (op == nullptr || !IsRandom(op->schema.name)) return false;
  return !IsOff(node, "train") && !IsOff(node, "training");
}

}  // namespace

Type StateType() { return Type::Tensor(DType::kI64, {SymInt(2)}); }

bool DrawsNumbers(const GraphDef& graph) {
  for (const NodeDef& node : graph.nodes) {
    if (Draws(node)) return true;
    for (const NodeDef::Input& input : node.inputs) {
      if (input.value.graph != nullptr && DrawsNumbers(*input.value.graph)) return true;
    }
  }
  return false;
}

Value* ProgramImporter::StateFor(Scope* scope, bool draws) {
  if (!draws || *scope->random != nullptr) return draws ? *scope->random : nullptr;
  if (scope->nested) {
    return scope->builder->Fail(
        absl::InternalError("a nested graph draws numbers and was given no state"));
  }
  Graph* main = scope->builder->graph();
  Value* state = main->AddInput(StateType(), kStateName);
  InputInfo& info = main->input_info(state->index());
  info.param = kRandomState;
  info.initial = module_->constants().Add(
      HostTensor::FromInts(DType::kI64, {2}, {options_.random_seed, 0}), kRandomState);
  *scope->random = state;
  return state;
}

AtenCall::Draw ProgramImporter::NextDraw(Scope* scope) {
  AtenCall::Draw draw;
  draw.state = StateFor(scope, true);
  if (draw.state == nullptr) throw AtenCall::Stop();
  draw.number = draws_++;
  return draw;
}

Value* ProgramImporter::NextState(Builder* builder, Value* state) {
  return builder->Op(ops::add, {state, builder->Ints({0, 1})});
}

void ProgramImporter::TakeState(Scope* scope, StatePlace place, std::vector<Value*>* results) {
  if (place.output < 0 || static_cast<int>(results->size()) <= place.output) return;
  *scope->random = (*results)[place.output];
  results->erase(results->begin() + place.output);
}

void ProgramImporter::FinishState(Scope* scope, std::map<int, Value*>* written) {
  if (random_ == nullptr) return;
  const Graph& main = *scope->builder->graph();
  for (int i = 0; i < main.num_inputs(); ++i) {
    if (main.input_info(i).param != kRandomState) continue;
    (*written)[i] = NextState(scope->builder, random_);
  }
}

}  // namespace weft::pt2
