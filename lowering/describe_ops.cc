#include "lowering/describe_ops.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "lowering/expand_composites.h"
#include "lowering/kernel_body.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_ops.h"
#include "lowering/scalar_ops.h"
#include "lowering/step_cost.h"

namespace weft {
namespace {

// The body of one op on scalars, as a kernel without loops.
class BodyMaker {
 public:
  explicit BodyMaker(DType dtype) : dtype_(dtype) {}

  // Nullopt if kernels do not support the op.
  std::optional<Kernel> Make(const OpDef& op, const AttrList* attrs, bool binary) {
    Graph* graph = module_.AddFunction("main");
    const Type scalar = Type::Tensor(dtype_, {});
    std::vector<Value*> operands = {graph->AddInput(scalar)};
    if (binary) operands.push_back(graph->AddInput(scalar));
    Builder builder(graph);
    const std::vector<Value*> results = builder.Create(op, operands, attrs);
    if (!builder.status().ok() || results.size() != 1 || results[0]->type() != scalar) {
      return std::nullopt;
    }
    graph->SetOutputs({results[0]});
    const auto stays = [](const Node& node) { return FindScalarOp(node.op()) != nullptr; };
    if (!ExpandComposites(graph, stays).ok()) return std::nullopt;
    for (const Value* operand : operands) AddLoad(operand);
    for (const Node* node : graph->nodes()) {
      if (!AddNode(*node)) return std::nullopt;
    }
    return Finish(graph->output(0));
  }

 private:
  void AddLoad(const Value* value) {
    Instr load;
    load.op = ScalarOp::kLoad;
    load.dtype = KernelDType(dtype_);
    load.access.arg = static_cast<int>(kernel_.args.size());
    kernel_.args.push_back({dtype_});
    made_[value] = body_.Add(std::move(load));
  }

  bool AddNode(const Node& node) {
    if (node.Is(ops::constant)) {
      const HostTensor& literal = module_.constants().tensor(ops::ConstantView(node).id());
      made_[node.result()] = IsFloat(literal.dtype())
                                 ? body_.Const(KernelDType(literal.dtype()), literal.DoubleAt(0))
                                 : body_.ConstInt(literal.dtype(), literal.IntAt(0));
      return true;
    }
    const ScalarFn fn = FindScalarOp(node.op());
    if (fn == nullptr) return false;
    std::vector<int> operands;
    std::vector<Type> types;
    for (int i = 0; i < node.num_operands(); ++i) {
      operands.push_back(node.has_operand(i) ? made_.at(node.operand(i)) : -1);
      types.push_back(node.has_operand(i) ? node.operand(i)->type() : Type());
    }
    const DType result = node.result()->type().dtype();
    const int made = fn(body_, node.attrs(), operands, types, result);
    if (made < 0) return false;
    made_[node.result()] = body_.Round(made, result);
    return true;
  }

  Kernel Finish(const Value* result) {
    Store store;
    store.value = made_.at(result);
    store.access.arg = static_cast<int>(kernel_.args.size());
    kernel_.args.push_back({dtype_, /*written=*/true});
    Stage stage;
    stage.body = body_.Take();
    stage.stores.push_back(std::move(store));
    Nest nest;
    nest.stages.push_back(std::move(stage));
    kernel_.nests.push_back(std::move(nest));
    return std::move(kernel_);
  }

  const DType dtype_;
  Module module_{ops::Registry()};
  Kernel kernel_;
  KernelBody body_;
  absl::flat_hash_map<const Value*, int> made_;
};

class Describer {
 public:
  void Add(Step* step, const Plan& plan) {
    if (step->op == nullptr) return;
    step->schema = AddSchema(*step->op);
    if (step->kind != StepKind::kLibrary) return;
    for (Epilogue& e : step->epilogue) {
      e.schema = AddSchema(*e.op);
      AddBodies(e, *step);
    }
    step->flops = CostOf(plan, *step).flops;
  }
  PlanOps Take() { return std::move(ops_); }

 private:
  const OpSchema* AddSchema(const OpDef& op) {
    ops_.schemas.emplace(op.name(), op.schema_text());
    return &op.schema();
  }

  void AddBodies(const Epilogue& e, const Step& step) {
    if (step.results.empty() || !step.results[0].present()) return;
    const DType dtype = step.results[0].type.dtype();
    AddBody(e, dtype);
    // A routine without support for 16 bits runs on copies in f32.
    if (KernelDType(dtype) != dtype) AddBody(e, KernelDType(dtype));
  }

  void AddBody(const Epilogue& e, DType dtype) {
    if (!IsKernelDType(dtype) || FindScalarBody(ops_, e, dtype) != nullptr) return;
    const bool bias = e.kind == Epilogue::Kind::kBias;
    const OpDef& op = bias ? ops::add : *e.op;
    const AttrList* attrs = bias ? AttrList::Empty() : e.attrs;
    auto kernel = BodyMaker(dtype).Make(op, attrs, e.kind != Epilogue::Kind::kUnary);
    if (!kernel) return;
    if (bias) AddSchema(op);
    kernel->name = absl::StrCat(op.name(), ".", ops_.bodies.size());
    ops_.bodies.push_back({std::string(op.name()), attrs, dtype, *std::move(kernel)});
  }

  PlanOps ops_;
};

}  // namespace

void DescribeOps(Plan* plan) {
  Describer describer;
  for (Plan* p : AllPlans(plan)) {
    for (Step& step : p->steps) describer.Add(&step, *p);
  }
  SetPlanOps(std::make_shared<const PlanOps>(describer.Take()), plan);
}

}  // namespace weft
