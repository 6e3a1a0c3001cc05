#include "backends/cpu/library/epilogue_kernel.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "lowering/expand_composites.h"
#include "lowering/kernel_body.h"
#include "lowering/scalar_ops.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {
namespace {

// The chain as a program on scalars. Inputs are the routine's result, then the operands.
absl::StatusOr<std::unique_ptr<Module>> ScalarProgram(absl::Span<const Epilogue> chain,
                                                      DType dtype) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  const Type scalar = Type::Tensor(dtype, {});
  Value* value = graph->AddInput(scalar);
  Builder b(graph);
  for (const Epilogue& e : chain) {
    std::vector<Value*> operands = {value};
    if (e.kind != Epilogue::Kind::kUnary) operands.push_back(graph->AddInput(scalar));
    const bool bias = e.kind == Epilogue::Kind::kBias;
    const std::vector<Value*> results =
        b.Create(bias ? ops::add : *e.op, operands, bias ? AttrList::Get({}) : e.attrs);
    WEFT_RETURN_IF_ERROR(b.status());
    value = results[0];
  }
  graph->SetOutputs({value});
  WEFT_RETURN_IF_ERROR(
      ExpandComposites(graph, [](const Node& node) { return FindScalarOp(node.op()) != nullptr; }));
  return module;
}

// The view's strides along the dims of `to`; 0 where it broadcasts.
std::vector<SymInt> BroadcastStrides(const RunView& view, const RunView& to) {
  std::vector<SymInt> strides(to.rank());
  for (int d = 0; d < to.rank(); ++d) {
    const int own = d - (to.rank() - view.rank());
    if (own >= 0 && view.dims[own] != 1) strides[d] = SymInt(view.strides[own]);
  }
  return strides;
}

std::vector<SymInt> OperandStrides(const OpDef& routine, const Epilogue& e, const RunView& view,
                                   const RunView& to) {
  if (e.kind != Epilogue::Kind::kBias) return BroadcastStrides(view, to);
  std::vector<SymInt> strides(to.rank());
  strides[&routine == &ops::convolution ? 1 : to.rank() - 1] = SymInt(view.strides[0]);
  return strides;
}

class EpilogueStage {
 public:
  EpilogueStage(Kernel* kernel, DType dtype) : kernel_(kernel), dtype_(dtype) {}

  void AddLoad(const Value* value, DType dtype, std::vector<SymInt> strides) {
    Instr load;
    load.op = ScalarOp::kLoad;
    load.dtype = KernelDType(dtype);
    load.access.arg = static_cast<int>(kernel_->args.size());
    load.access.strides = std::move(strides);
    kernel_->args.push_back({dtype});
    made_[value] = body_.Add(std::move(load));
  }

  absl::Status AddNode(const Node& node) {
    if (node.Is(ops::constant)) {
      const HostTensor& literal =
          node.graph()->module().constants().tensor(ops::ConstantView(node).id());
      made_[node.result()] = IsFloat(literal.dtype())
                                 ? body_.Const(KernelDType(literal.dtype()), literal.DoubleAt(0))
                                 : body_.ConstInt(literal.dtype(), literal.IntAt(0));
      return absl::OkStatus();
    }
    const ScalarFn fn = FindScalarOp(node.op());
    std::vector<int> operands;
    std::vector<Type> types;
    for (int i = 0; i < node.num_operands(); ++i) {
      operands.push_back(node.has_operand(i) ? made_.at(node.operand(i)) : -1);
      types.push_back(node.has_operand(i) ? node.operand(i)->type() : Type());
    }
    const DType result = node.result()->type().dtype();
    const int made = fn == nullptr ? -1 : fn(body_, node.attrs(), operands, types, result);
    if (made < 0) return absl::UnimplementedError(absl::StrCat(node.op().name(), " in a kernel"));
    made_[node.result()] = body_.Round(made, result);
    return absl::OkStatus();
  }

  Stage Finish(const Value* result, std::vector<SymInt> strides) {
    Stage stage;
    Store store;
    store.value = made_.at(result);
    store.access.arg = static_cast<int>(kernel_->args.size());
    store.access.strides = std::move(strides);
    kernel_->args.push_back({dtype_, /*written=*/true});
    stage.body = body_.Take();
    stage.stores.push_back(std::move(store));
    return stage;
  }

 private:
  Kernel* kernel_;
  const DType dtype_;
  KernelBody body_;
  absl::flat_hash_map<const Value*, int> made_;
};

}  // namespace

absl::StatusOr<TileProgram> CompileEpilogue(const OpDef& routine, absl::Span<const Epilogue> chain,
                                            const RunView& from, absl::Span<const RunView> args,
                                            const RunView& to, const TileTable& table) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ScalarProgram(chain, to.dtype));
  const Graph& graph = *module->main();
  Kernel kernel;
  kernel.name = "epilogue";
  EpilogueStage stage(&kernel, to.dtype);
  stage.AddLoad(graph.input(0), from.dtype, BroadcastStrides(from, to));
  int input = 1;
  for (const Epilogue& e : chain) {
    if (e.kind == Epilogue::Kind::kUnary) continue;
    const RunView& view = args[e.arg];
    stage.AddLoad(graph.input(input++), view.dtype, OperandStrides(routine, e, view, to));
  }
  for (const Node* node : graph.nodes()) WEFT_RETURN_IF_ERROR(stage.AddNode(*node));
  Nest nest;
  for (int64_t d : to.dims) nest.outer.push_back(SymInt(d));
  nest.stages.push_back(stage.Finish(graph.output(0), BroadcastStrides(to, to)));
  kernel.nests.push_back(std::move(nest));
  // An epilogue reduces nothing, so its result does not depend on the target.
  kernel.schedule = DecideSchedule(kernel, Target());
  return CompileTiles(kernel, table, [](SymInt) { return std::nullopt; });
}

}  // namespace weft::cpu
