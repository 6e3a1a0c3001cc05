// Single nodes as steps.
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_expr.h"
#include "lowering/epilogues.h"
#include "lowering/graph_lowering.h"
#include "lowering/kernel_ops.h"
#include "lowering/loop_space.h"
#include "lowering/plan_ops.h"
#include "lowering/scalar_ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

bool IsKernelOp(const OpDef& op) {
  return FindScalarOp(op) != nullptr || FindMovementOp(op) != nullptr || IsKernelReduction(op);
}

// Elements that share a byte are seen in whole tensors only.
bool MayBeViewed(const Node& node) {
  return DTypeBits(node.operand(0)->type().dtype()) >= 8 || node.Is(ops::reshape) ||
         node.Is(ops::clone);
}

}  // namespace

void GraphLowering::SetOp(const Node& node, Step* step) {
  step->op = &node.op();
  step->schema = &step->op->schema();
  step->op_name = std::string(node.op().name());
  step->attrs = node.attr_list();
}

Step& GraphLowering::AddStep(StepKind kind) {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  if (origin_ != nullptr) {
    step.node = origin_->id();
    step.source = sources_.Of(origin_);
  }
  return step;
}

void GraphLowering::AddCopy(const View& from, const View& to, std::string remark) {
  Step& step = AddStep(StepKind::kCopy);
  step.remark = std::move(remark);
  step.args.push_back(from);
  step.results.push_back(to);
}

absl::Status GraphLowering::LowerNode(const Node& node) {
  const OpDef& op = node.op();
  if (node.Is(ops::constant)) return absl::OkStatus();
  if (op.is_pure() && !op.has(kDataDependent) && !node.has_uses()) {
    return absl::OkStatus();
  }
  if (op.has(kControlFlow) && !node.Is(ops::fused)) return LowerControl(node);
  if (IsLibrary(node)) return LowerLibrary(node, {});
  WEFT_ASSIGN_OR_RETURN(const bool seen, LowerView(node));
  if (seen) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const bool joined, LowerConcat(node));
  if (joined) return absl::OkStatus();
  absl::Status why;
  if (op.has(kDataDependent) || op.has(kSideEffect)) {
    why = absl::UnimplementedError(op.has(kSideEffect) ? "it has effects"
                                                       : "its results depend on data");
  } else if (IsKernelOp(op)) {
    std::vector<const Value*> outputs;
    for (int r = 0; r < node.num_results(); ++r) {
      if (node.result(r)->has_uses()) outputs.push_back(node.result(r));
    }
    why = LowerKernel({&node}, outputs, outputs);
  } else if (op.is_composite()) {
    why = LowerComposite(node);
  } else {
    why = absl::UnimplementedError(absl::StrCat("no kernel has ", op.name()));
  }
  if (!absl::IsUnimplemented(why)) return why;
  return LowerReference(node, std::string(why.message()));
}

absl::StatusOr<bool> GraphLowering::LowerView(const Node& node) {
  // An assert has no result to be a view.
  if (node.num_results() == 0) return false;
  const Value* self = node.num_operands() > 0 ? node.operand(0) : nullptr;
  if (self == nullptr || !self->type().is_tensor() || !MayBeViewed(node)) {
    return false;
  }
  // A kernel computes it in its reserved place.
  if (placements_.contains(node.result())) return false;
  WEFT_ASSIGN_OR_RETURN(View from, PlaceOf(self));
  if (!from.present()) return false;
  if (CountsElements(sizes_, node) && !ViewOfNode(sizes_, node, 0, from)) {
    from = Dense(from, node.op().name());
  }
  for (int r = 0; r < node.num_results(); ++r) {
    auto view = ViewOfNode(sizes_, node, r, from);
    if (!view) return false;
    Alias(node.result(r), *std::move(view));
  }
  return true;
}

absl::Status GraphLowering::LowerControl(const Node& node) {
  std::vector<View> args(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    WEFT_ASSIGN_OR_RETURN(args[i], PlaceOf(node.operand(i)));
    args[i] = Dense(args[i], node.op().name());
  }
  std::vector<View> results;
  for (int r = 0; r < node.num_results(); ++r) {
    results.push_back(DefineResult(node.result(r), /*dense=*/true));
  }
  Step& step = AddStep(StepKind::kControl);
  SetOp(node, &step);
  step.args = std::move(args);
  step.results = std::move(results);
  for (int r = 0; r < node.num_regions(); ++r) {
    step.regions.push_back(std::make_unique<Plan>());
    nested_.push_back({node.region(r), step.regions.back().get()});
  }
  return absl::OkStatus();
}

absl::Status GraphLowering::LowerReference(const Node& node, std::string remark) {
  if (node.num_regions() > 0) {
    return absl::InternalError(absl::StrCat(node.op().name(), ": ", remark));
  }
  std::vector<View> args(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    WEFT_ASSIGN_OR_RETURN(args[i], PlaceOf(node.operand(i)));
  }
  // Types of results that depend on data give symbols their values.
  const bool all = node.op().has(kDataDependent);
  std::vector<View> results;
  for (int r = 0; r < node.num_results(); ++r) {
    const Value* result = node.result(r);
    results.push_back(all || result->has_uses() ? DefineResult(result, /*dense=*/true) : View());
  }
  Step& step = AddStep(StepKind::kReference);
  SetOp(node, &step);
  step.args = std::move(args);
  step.results = std::move(results);
  step.remark = std::move(remark);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<View>> GraphLowering::LibraryArgs(const Node& node) {
  const Routine& routine = *FindRoutine(target_, node);
  std::vector<View> args(node.num_operands());
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    WEFT_ASSIGN_OR_RETURN(args[i], PlaceOf(node.operand(i)));
    if (!TakesStrides(routine, i)) args[i] = Dense(args[i], node.op().name());
  }
  return args;
}

absl::Status GraphLowering::LowerLibrary(const Node& node, Nodes epilogue) {
  const Node& last = epilogue.empty() ? node : *epilogue.back();
  const bool finds_sizes = node.op().has(kDataDependent);
  if (!last.has_uses() && !finds_sizes) return absl::OkStatus();
  const Routine& routine = *FindRoutine(target_, node);
  WEFT_ASSIGN_OR_RETURN(std::vector<View> args, LibraryArgs(node));
  std::vector<Epilogue> after;
  const Value* chain = node.result();
  for (const Node* op : epilogue) {
    Epilogue e;
    e.op = &op->op();
    e.attrs = op->attr_list();
    const AttrList* bounds = HardtanhOfClamp(*op);
    if (bounds != nullptr) {
      e.op = &ops::hardtanh;
      e.attrs = bounds;
    }
    e.schema = &e.op->schema();
    for (int i = 0; i < op->num_operands(); ++i) {
      const Value* other = op->operand(i);
      if (other == nullptr || other == chain || bounds != nullptr) continue;
      e.kind = Epilogue::Kind::kBinary;
      e.arg = static_cast<int>(args.size());
      WEFT_ASSIGN_OR_RETURN(args.emplace_back(), PlaceOf(other));
    }
    after.push_back(e);
    chain = op->result();
  }
  std::vector<View> results;
  // The first result always has memory, and so have those whose types alone give symbols values.
  absl::flat_hash_set<SymInt> known;
  for (int r = 0; r < node.num_results(); ++r) {
    const Value* result = epilogue.empty() ? node.result(r) : chain;
    bool needed = r == 0 || result->has_uses();
    for (const SymInt dim : finds_sizes ? result->type().dims() : absl::Span<const SymInt>()) {
      ForEachSymbol(dim, [&](SymInt symbol) {
        needed = (known.insert(symbol).second && IsLate(symbol)) || needed;
      });
    }
    results.push_back(needed ? DefineResult(result, !TakesStrides(routine, Routine::kResult))
                             : View());
  }
  Step& step = AddStep(StepKind::kLibrary);
  SetOp(node, &step);
  step.args = std::move(args);
  step.results = std::move(results);
  step.epilogue = std::move(after);
  step.accumulates = AccumulatedArg(step);
  step.indices = routine.indices < node.num_operands() ? routine.indices : -1;
  step.updates = routine.in_place && !finds_sizes ? UpdatedArg(step) : -1;
  step.finds_sizes = finds_sizes;
  return absl::OkStatus();
}

}  // namespace weft
