// Lowers groups of nodes: fused ones, and the decompositions of composites.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "lowering/epilogues.h"
#include "lowering/expand_composites.h"
#include "lowering/graph_lowering.h"
#include "lowering/kernel_builder.h"
#include "lowering/kernel_ops.h"
#include "lowering/loop_space.h"
#include "lowering/scalar_ops.h"

namespace weft {
namespace {

bool StaysInKernels(const Node& node) {
  return FindScalarOp(node.op()) != nullptr || FindMovementOp(node.op()) != nullptr ||
         IsKernelReduction(node.op());
}

std::string NameOf(absl::Span<const Node* const> nodes) {
  constexpr size_t kMaxNames = 3;
  std::string name;
  size_t count = 0;
  for (const Node* node : nodes) {
    if (FindMovementOp(node->op()) != nullptr && nodes.size() > 1) continue;
    if (count++ < kMaxNames) {
      absl::StrAppend(&name, name.empty() ? "" : "_", node->op().name());
    }
  }
  if (count > kMaxNames) absl::StrAppend(&name, "_", count);
  return name.empty() ? "move" : name;
}

}  // namespace

absl::Status GraphLowering::LowerKernel(const Nodes& nodes,
                                        const std::vector<const Value*>& results,
                                        const std::vector<const Value*>& outputs) {
  for (const Value* output : outputs) {
    if (!output->type().is_tensor()) {
      return absl::UnimplementedError("a result is no tensor");
    }
  }
  // The result of a kernel has any strides.
  std::vector<View> views;
  for (const Value* result : results) {
    views.push_back(DefineResult(result, /*dense=*/false));
  }
  absl::Status status = AddKernel(nodes, outputs, views);
  if (status.ok()) return status;
  for (size_t i = 0; i < results.size(); ++i) {
    views_.erase(results[i]);
    // The names are free again; the buffers go with others that are not used.
    if (!placements_.contains(results[i])) {
      names_.erase(plan_.buffers[views[i].buffer].name);
    }
  }
  return status;
}

absl::Status GraphLowering::AddKernel(const Nodes& nodes, std::vector<const Value*> outputs,
                                      std::vector<View> output_views) {
  const auto view_of = [this](const Value* v) { return ViewOf(v); };
  KernelRequest request{
      {nodes, std::move(outputs)}, std::move(output_views), view_of, &sizes_, &target_};
  std::string name = absl::StrCat(NameOf(nodes), ".", plan_.kernels.size());
  WEFT_ASSIGN_OR_RETURN(BuiltKernel built, BuildKernel(request, std::move(name)));
  Step& step = AddStep(StepKind::kKernel);
  step.kernel = static_cast<int>(plan_.kernels.size());
  step.args = std::move(built.args);
  step.results = std::move(built.results);
  plan_.kernels.push_back(std::move(built.kernel));
  return absl::OkStatus();
}

Module& GraphLowering::Scratch() {
  if (scratch_ == nullptr) {
    scratch_ = std::make_unique<Module>(graph_.module().registry());
    scratch_->symbols() = graph_.module().symbols();
  }
  return *scratch_;
}

absl::StatusOr<std::vector<Value*>> GraphLowering::ScratchOperands(const Node& node, Builder& b,
                                                                   Graph* to) {
  std::vector<Value*> operands;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* v = node.operand(i);
    if (v == nullptr) {
      operands.push_back(nullptr);
      continue;
    }
    const HostTensor* literal = LiteralOf(v);
    if (literal != nullptr && literal->numel() == 1) {
      Value* copy = b.Constant(*literal);
      if (copy != nullptr && &v->node()->graph()->module() != scratch_.get()) {
        const int id = ops::ConstantView(*copy->node()).id();
        scratch_constants_[id] = ops::ConstantView(*v->node()).id();
      }
      operands.push_back(copy);
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(View view, PlaceOf(v));
    Value* input = to->AddInput(v->type());
    Alias(input, std::move(view));
    operands.push_back(input);
  }
  return operands;
}

absl::StatusOr<Graph*> GraphLowering::Expand(const Node& node) {
  Graph* body = Scratch().AddFunction(absl::StrCat("body", num_scratch_++));
  Builder b(body);
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value*> operands, ScratchOperands(node, b, body));
  // Constants of nested graphs keep their place in the module.
  const bool foreign = &node.graph()->module() != scratch_.get();
  for (int r = 0; r < node.num_regions() && foreign; ++r) {
    for (const Node* inner : node.region(r)->nodes()) {
      if (!inner->Is(ops::constant)) continue;
      const int id = ops::ConstantView(*inner).id();
      scratch_constants_[Scratch().constants().Add(graph_.module().constants().tensor(id))] = id;
    }
  }
  Node::ArgStorage storage;
  OpArgs args = node.Args(&storage);
  args.operands = operands;
  args.symbols = &Scratch().symbols();
  std::vector<Value*> results = node.op().decompose()(b, args);
  if (!b.status().ok()) {
    return absl::UnimplementedError(
        absl::StrCat("its decomposition fails: ", b.status().message()));
  }
  for (Value* v : results) {
    if (v == nullptr) {
      return absl::UnimplementedError("its decomposition gives no value");
    }
  }
  body->SetOutputs(results);
  return body;
}

absl::Status GraphLowering::LowerComposite(const Node& node) {
  WEFT_ASSIGN_OR_RETURN(Graph * body, Expand(node));
  // A nested plan outlives the module that decompositions are written to.
  for (const Node* inner : body->nodes()) {
    if (inner->num_regions() == 0 || inner->Is(ops::fused)) continue;
    return absl::UnimplementedError("its decomposition has control flow");
  }
  // Epilogues are only looked for in bodies of fused nodes.
  Epilogues epilogues;
  if (node.Is(ops::fused)) epilogues = FindEpilogues(*body);
  NodeSet keep;
  for (const auto& [library, chain] : epilogues) {
    keep.insert(chain.begin(), chain.end());
  }
  WEFT_RETURN_IF_ERROR(ExpandComposites(body, [&](const Node& inner) {
    return keep.contains(&inner) || StaysInKernels(inner) || IsLibrary(inner) ||
           inner.Is(ops::stack) || inner.op().has(kDataDependent);
  }));
  WEFT_RETURN_IF_ERROR(AddConditions(*body));
  Nodes nodes;
  std::vector<const Value*> outputs;
  bool plain = true;
  for (const Node* inner : body->nodes()) {
    if (inner->Is(ops::constant)) continue;
    nodes.push_back(inner);
    plain = plain && StaysInKernels(*inner) && !IsLibrary(*inner);
  }
  std::vector<const Value*> results;
  for (int r = 0; r < node.num_results(); ++r) {
    if (!node.result(r)->has_uses()) continue;
    const Value* output = body->output(r);
    plain = plain && output->node() != nullptr && !output->IsResultOf(ops::constant) &&
            std::find(outputs.begin(), outputs.end(), output) == outputs.end();
    outputs.push_back(output);
    results.push_back(node.result(r));
  }
  if (plain) {
    const absl::Status status = LowerKernel(nodes, results, outputs);
    if (status.ok() || !absl::IsUnimplemented(status)) return status;
  }
  // The step in the body computes values at the places that a concatenation gives them.
  for (size_t i = 0; i < results.size(); ++i) {
    const auto placed = placements_.find(results[i]);
    if (placed == placements_.end() || outputs[i]->node() == nullptr) continue;
    Placement placement = placed->second;
    placements_.emplace(outputs[i], std::move(placement));
  }
  WEFT_RETURN_IF_ERROR(LowerBody(*body, epilogues));
  for (size_t i = 0; i < results.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(View view, PlaceOf(outputs[i]));
    view.type = results[i]->type();
    Alias(results[i], std::move(view));
  }
  return absl::OkStatus();
}

// Runs of nodes between library calls become kernels if possible, which the routine before them
// runs on its result if it can.
absl::Status GraphLowering::LowerBody(const Graph& body, const Epilogues& epilogues) {
  PlaceConcats(body);
  NodeSet done;
  Nodes pending;
  const Node* waiting = nullptr;  // The library node whose routine may run the pending nodes.
  const auto lower = [&]() -> absl::Status {
    if (waiting == nullptr) return LowerPending(&pending);
    const Node& library = *std::exchange(waiting, nullptr);
    const absl::Status status = LowerFinished(library, pending);
    if (status.ok()) pending.clear();
    if (status.ok() || !absl::IsUnimplemented(status)) return status;
    WEFT_RETURN_IF_ERROR(LowerLibrary(library, {}));
    return LowerPending(&pending);
  };
  for (const Node* node : body.nodes()) {
    if (node->Is(ops::constant) || done.contains(node)) continue;
    if (!IsLibrary(*node)) {
      pending.push_back(node);
      continue;
    }
    Nodes behind;
    if (waiting == nullptr && RunsKernels(target_, *node)) behind = TakeUnread(*node, &pending);
    WEFT_RETURN_IF_ERROR(lower());
    pending = std::move(behind);
    const auto chain = epilogues.find(node);
    if (chain == epilogues.end()) {
      if (RunsKernels(target_, *node)) {
        waiting = node;
      } else {
        WEFT_RETURN_IF_ERROR(LowerLibrary(*node, {}));
      }
      continue;
    }
    done.insert(chain->second.begin(), chain->second.end());
    WEFT_RETURN_IF_ERROR(LowerLibrary(*node, chain->second));
  }
  return lower();
}

GraphLowering::Nodes GraphLowering::TakeUnread(const Node& reader, Nodes* nodes) {
  NodeSet read = {&reader};
  Nodes unread, rest;
  for (auto it = nodes->rbegin(); it != nodes->rend(); ++it) {
    bool is_read = false;
    for (int r = 0; r < (*it)->num_results(); ++r) {
      for (const Use* u = (*it)->result(r)->first_use(); u != nullptr; u = u->next()) {
        is_read = is_read || read.contains(u->user());
      }
    }
    if (is_read) read.insert(*it);
    (is_read ? rest : unread).push_back(*it);
  }
  *nodes = Nodes(rest.rbegin(), rest.rend());
  return Nodes(unread.rbegin(), unread.rend());
}

std::vector<const Value*> GraphLowering::OutputsOf(const Nodes& nodes) {
  const NodeSet inside(nodes.begin(), nodes.end());
  std::vector<const Value*> outputs;
  for (const Node* node : nodes) {
    for (int r = 0; r < node->num_results(); ++r) {
      bool outside = false;
      for (const Use* u = node->result(r)->first_use(); u != nullptr; u = u->next()) {
        outside = outside || !inside.contains(u->user());
      }
      if (outside) outputs.push_back(node->result(r));
    }
  }
  return outputs;
}

absl::Status GraphLowering::LowerPending(Nodes* pending) {
  Nodes nodes = std::move(*pending);
  pending->clear();
  bool fits = nodes.size() > 1;
  for (const Node* node : nodes) fits = fits && StaysInKernels(*node);
  if (fits) {
    const std::vector<const Value*> outputs = OutputsOf(nodes);
    const absl::Status status = LowerKernel(nodes, outputs, outputs);
    if (status.ok() || !absl::IsUnimplemented(status)) return status;
  }
  for (const Node* node : nodes) WEFT_RETURN_IF_ERROR(LowerNode(*node));
  return absl::OkStatus();
}

GraphLowering::Epilogues GraphLowering::FindEpilogues(const Graph& body) {
  Epilogues all;
  if (target_.epilogues.empty()) return all;
  absl::flat_hash_map<const Node*, int> order;
  for (const Node* node : body.nodes()) {
    order.emplace(node, static_cast<int>(order.size()));
  }
  NodeSet taken;
  for (const Node* node : body.nodes()) {
    if (!IsLibrary(*node) || node->num_results() != 1 || node->op().has(kDataDependent)) continue;
    Nodes chain = FindEpilogue(*node, order);
    while (!chain.empty() && taken.contains(chain.back())) chain.clear();
    if (chain.empty()) continue;
    taken.insert(chain.begin(), chain.end());
    all.emplace(node, std::move(chain));
  }
  return all;
}

GraphLowering::Nodes GraphLowering::FindEpilogue(
    const Node& library, const absl::flat_hash_map<const Node*, int>& order) {
  Nodes chain;
  const Value* value = library.result();
  while (value->has_one_use()) {
    const Node* user = value->first_use()->user();
    bool fits = order.contains(user) && user->num_results() == 1 && !IsLibrary(*user) &&
                user->result()->type().dims() == value->type().dims() &&
                AppliesEpilogue(target_, library, *user, value->first_use()->operand_index());
    // Other operands must be computed before the call.
    for (int i = 0; fits && i < user->num_operands(); ++i) {
      const Value* other = user->operand(i);
      if (other == nullptr || other == value || other->is_input()) continue;
      fits = other->IsResultOf(ops::constant) ? ViewOf(other).present()
                                              : order.at(other->node()) < order.at(&library);
    }
    if (!fits) break;
    chain.push_back(user);
    value = user->result();
  }
  return chain;
}

}  // namespace weft
