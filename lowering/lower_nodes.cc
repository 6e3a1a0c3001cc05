// Single nodes as steps.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/core/status_macros.h"
#include "graph/ops/ops.h"
#include "lowering/graph_lowering.h"
#include "lowering/kernel_ops.h"
#include "lowering/loop_space.h"
#include "lowering/scalar_ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

bool IsKernelOp(const OpDef& op) {
  return FindScalarOp(op) != nullptr || FindMovementOp(op) != nullptr ||
         IsKernelReduction(op);
}

// Elements that share a byte are seen in whole tensors only.
bool MayBeViewed(const Node& node) {
  return DTypeBits(node.operand(0)->type().dtype()) >= 8 ||
         node.Is(ops::reshape) || node.Is(ops::clone);
}

}  // namespace

Step& GraphLowering::AddStep(StepKind kind) {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  if (origin_ != nullptr) {
    step.node = origin_->id();
    step.provenance = origin_->provenance();
  }
  return step;
}

void GraphLowering::AddCopy(const View& from, const View& to) {
  Step& step = AddStep(StepKind::kCopy);
  step.args.push_back(from);
  step.results.push_back(to);
}

absl::Status GraphLowering::LowerNode(const Node& node) {
  const OpDef& op = node.op();
  if (node.Is(ops::constant)) return absl::OkStatus();
  if (op.is_pure() && !op.has(kDataDependent) && !node.has_uses()) {
    return absl::OkStatus();
  }
  if (op.has(kControlFlow)) {
    LowerControl(node);
    return absl::OkStatus();
  }
  if (IsLibrary(node)) {
    LowerLibrary(node, {});
    return absl::OkStatus();
  }
  if (LowerView(node) || LowerConcat(node)) return absl::OkStatus();
  absl::Status why;
  if (op.has(kDataDependent) || op.has(kSideEffect)) {
    why = absl::UnimplementedError("its results depend on data");
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
  LowerReference(node, std::string(why.message()));
  return absl::OkStatus();
}

bool GraphLowering::LowerView(const Node& node) {
  const Value* self = node.num_operands() > 0 ? node.operand(0) : nullptr;
  if (self == nullptr || !self->type().is_tensor() || !MayBeViewed(node)) {
    return false;
  }
  // A kernel computes it where it was asked for.
  if (placements_.contains(node.result())) return false;
  View from = ViewOf(self);
  if (!from.present()) return false;
  if (node.Is(ops::as_strided)) from = Dense(from);
  if (node.Is(ops::reshape) && !ViewOfNode(sizes_, node, 0, from)) {
    from = Dense(from);
  }
  for (int r = 0; r < node.num_results(); ++r) {
    auto view = ViewOfNode(sizes_, node, r, from);
    if (!view) return false;
    Alias(node.result(r), *std::move(view));
  }
  return true;
}

void GraphLowering::LowerControl(const Node& node) {
  std::vector<View> args;
  for (int i = 0; i < node.num_operands(); ++i) {
    args.push_back(node.has_operand(i) ? Dense(ViewOf(node.operand(i)))
                                       : View());
  }
  std::vector<View> results;
  for (int r = 0; r < node.num_results(); ++r) {
    results.push_back(DefineResult(node.result(r), /*dense=*/true));
  }
  Step& step = AddStep(StepKind::kControl);
  step.op = &node.op();
  step.attrs = node.attr_list();
  step.args = std::move(args);
  step.results = std::move(results);
  for (int r = 0; r < node.num_regions(); ++r) {
    step.regions.push_back(std::make_unique<Plan>());
    nested_.push_back({node.region(r), step.regions.back().get()});
  }
}

void GraphLowering::LowerReference(const Node& node, std::string remark) {
  std::vector<View> args;
  for (int i = 0; i < node.num_operands(); ++i) {
    args.push_back(node.has_operand(i) ? ViewOf(node.operand(i)) : View());
  }
  std::vector<View> results;
  for (int r = 0; r < node.num_results(); ++r) {
    results.push_back(DefineResult(node.result(r), /*dense=*/true));
  }
  Step& step = AddStep(StepKind::kReference);
  step.op = &node.op();
  step.attrs = node.attr_list();
  step.args = std::move(args);
  step.results = std::move(results);
  step.remark = std::move(remark);
}

void GraphLowering::LowerLibrary(const Node& node, Nodes epilogue) {
  const auto strided = [&](int operand) {
    return target_.strided && target_.strided(node, operand);
  };
  std::vector<View> args;
  for (int i = 0; i < node.num_operands(); ++i) {
    View view = node.has_operand(i) ? ViewOf(node.operand(i)) : View();
    args.push_back(strided(i) ? std::move(view) : Dense(view));
  }
  std::vector<Epilogue> after;
  const Value* chain = node.result();
  for (const Node* op : epilogue) {
    Epilogue e;
    e.op = &op->op();
    e.attrs = op->attr_list();
    for (int i = 0; i < op->num_operands(); ++i) {
      const Value* other = op->operand(i);
      if (other == nullptr || other == chain) continue;
      e.kind = Epilogue::Kind::kBinary;
      e.arg = static_cast<int>(args.size());
      args.push_back(ViewOf(other));
    }
    after.push_back(e);
    chain = op->result();
  }
  std::vector<View> results;
  for (int r = 0; r < node.num_results(); ++r) {
    const Value* result = epilogue.empty() ? node.result(r) : chain;
    results.push_back(DefineResult(result, !strided(-1)));
  }
  Step& step = AddStep(StepKind::kLibrary);
  step.op = &node.op();
  step.attrs = node.attr_list();
  step.args = std::move(args);
  step.results = std::move(results);
  step.epilogue = std::move(after);
}

}  // namespace weft
