// Memory of values.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_expr.h"
#include "graph/tensor/tensor.h"
#include "lowering/graph_lowering.h"
#include "lowering/kernel_body.h"
#include "lowering/views.h"

namespace weft {

void GraphLowering::DefineInputs() {
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Type type = graph_.input(i)->type();
    const auto add = [&](SymInt s) {
      ForEachSymbol(s, [&](SymInt symbol) { early_.insert(symbol); });
    };
    if (type.is_symint()) add(type.symint());
    if (type.is_tensor()) {
      for (SymInt d : type.dims()) add(d);
    }
  }
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Value* input = graph_.input(i);
    View view;
    view.type = input->type();
    if (view.type.is_tensor()) {
      view = NewBuffer(view.type, graph_.input_info(i).name);
      plan_.buffers.back().kind = BufferKind::kInput;
      plan_.buffers.back().index = i;
    }
    const InputInfo& info = graph_.input_info(i);
    plan_.inputs.push_back(
        {view.type, info.name, input->has_uses() || info.value >= 0, info.value});
    plan_.input_views.push_back(view);
    Alias(input, std::move(view));
  }
}

void GraphLowering::DefineOutputs() {
  plan_.write_backs = graph_.write_backs();
  for (int i = 0; i < graph_.num_outputs(); ++i) {
    View view = ViewOf(graph_.output(i));
    view.type = graph_.output(i)->type();
    plan_.outputs.push_back(view.type);
    if (!view.present()) {
      plan_.output_views.push_back(std::move(view));
      continue;
    }
    Buffer& buffer = plan_.buffers[view.buffer];
    const bool whole = buffer.kind == BufferKind::kTemporary && view.offset.Is(0) &&
                       IsDense(sizes_, view) && buffer.dtype == view.type.dtype() &&
                       sizes_.Equal(buffer.numel, view.type.numel());
    if (whole) {
      buffer.kind = BufferKind::kOutput;
      buffer.index = i;
    } else {
      const View from = view;
      view = NewBuffer(view.type, absl::StrCat("out", i));
      plan_.buffers.back().kind = BufferKind::kOutput;
      plan_.buffers.back().index = i;
      AddCopy(from, view, IsDense(sizes_, from) ? "" : "an output is in row-major order");
    }
    plan_.output_views.push_back(std::move(view));
  }
}

void GraphLowering::RecordValues() {
  const auto record = [this](const Value* value) {
    const auto it = views_.find(value);
    if (it != views_.end() && it->second.present()) {
      plan_.values.push_back({value->id(), it->second});
    }
  };
  for (const Value* input : graph_.inputs()) record(input);
  for (const Node* node : graph_.nodes()) {
    for (int r = 0; r < node->num_results(); ++r) record(node->result(r));
  }
}

// Drops buffers left over from failed attempts at kernels, and constants that became parts of
// kernels.
void GraphLowering::DropUnusedBuffers() {
  std::vector<int> used(plan_.buffers.size(), 0);
  std::vector<View*> views;
  for (Step& step : plan_.steps) {
    for (View& v : step.args) views.push_back(&v);
    for (View& v : step.results) views.push_back(&v);
  }
  for (View& v : plan_.input_views) views.push_back(&v);
  for (View& v : plan_.output_views) views.push_back(&v);
  for (const View* v : views) {
    if (v->present()) used[v->buffer] = 1;
  }
  // A value in a buffer that no step touches has no place.
  std::vector<PlacedValue> placed;
  for (PlacedValue& p : plan_.values) {
    if (used[p.view.buffer] != 0) placed.push_back(std::move(p));
  }
  plan_.values = std::move(placed);
  for (PlacedValue& p : plan_.values) views.push_back(&p.view);
  std::vector<Buffer> kept;
  for (size_t b = 0; b < used.size(); ++b) {
    if (used[b] == 0) continue;
    used[b] = static_cast<int>(kept.size());
    kept.push_back(std::move(plan_.buffers[b]));
  }
  for (View* v : views) {
    if (v->present()) v->buffer = used[v->buffer];
  }
  plan_.buffers = std::move(kept);
}

// The symbol gets its value from data.
bool GraphLowering::IsLate(SymInt size) const {
  bool late = false;
  ForEachSymbol(size, [&](SymInt symbol) { late = late || !early_.contains(symbol); });
  return late;
}

View GraphLowering::NewBuffer(Type type, std::string name) {
  // Names are taken once.
  const int count = names_[name]++;
  if (count > 0) {
    std::string other;
    do {
      other = absl::StrCat(name, ".", names_[name]++ - 1);
    } while (names_.contains(other));
    name = std::move(other);
    names_[name] = 1;
  }
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = type.dtype();
  buffer.numel = type.numel();
  buffer.dynamic = IsLate(buffer.numel);
  View view;
  view.buffer = static_cast<int>(plan_.buffers.size());
  view.type = type;
  view.strides = DenseStrides(type.dims());
  plan_.buffers.push_back(std::move(buffer));
  return view;
}

View GraphLowering::NewPlace(const Value* value, std::string name) {
  View view = NewBuffer(value->type(), std::move(name));
  const bool own = value->node()->graph() == &graph_;
  const int rank = value->type().rank();
  if (rank < 3 || rank > 5 || !channels_last_.contains(own ? value->node() : origin_)) return view;
  SymInt stride = 1;
  view.strides[1] = stride;
  stride = stride * view.type.dim(1);
  for (int i = rank; i-- > 2;) {
    view.strides[i] = stride;
    stride = stride * view.type.dim(i);
  }
  view.strides[0] = stride;
  return view;
}

View GraphLowering::ViewOf(const Value* value) {
  const auto it = views_.find(value);
  if (it != views_.end()) return it->second;
  View view;
  view.type = value->type();
  if (view.type.is_symint() || !value->IsResultOf(ops::constant)) return view;
  int id = ops::ConstantView(*value->node()).id();
  if (&value->node()->graph()->module() != &graph_.module()) {
    const auto known = scratch_constants_.find(id);
    if (known == scratch_constants_.end()) return view;
    id = known->second;
  }
  View& constant = constants_[id];
  if (!constant.present()) {
    const std::string& name = graph_.module().constants().name(id);
    constant = NewBuffer(view.type, name.empty() ? absl::StrCat("c", id) : name);
    plan_.buffers.back().kind = BufferKind::kConstant;
    plan_.buffers.back().index = id;
  }
  return constant;
}

absl::StatusOr<View> GraphLowering::PlaceOf(const Value* value) {
  View view = ViewOf(value);
  const HostTensor* literal = LiteralOf(value);
  if (view.present() || literal == nullptr) return view;
  constexpr int64_t kMaxElements = 1024;
  if (literal->numel() > kMaxElements || !IsKernelDType(target_, literal->dtype())) {
    return absl::UnimplementedError("a constant of a decomposition");
  }
  view = NewBuffer(value->type(), "literal");
  Kernel kernel;
  kernel.name = absl::StrCat("literal.", plan_.kernels.size());
  kernel.args.push_back({literal->dtype(), true});
  for (int64_t i = 0; i < literal->numel(); ++i) {
    KernelBody body;
    Store store;
    store.value = IsFloat(literal->dtype())
                      ? body.Const(KernelDType(literal->dtype()), literal->DoubleAt(i))
                      : body.ConstInt(literal->dtype(), literal->IntAt(i));
    store.access.arg = 0;
    store.access.offset = i;
    Stage stage;
    stage.body = body.Take();
    stage.stores.push_back(std::move(store));
    Nest nest;
    nest.stages.push_back(std::move(stage));
    kernel.nests.push_back(std::move(nest));
  }
  Step& step = AddStep(StepKind::kKernel);
  step.kernel = static_cast<int>(plan_.kernels.size());
  step.results.push_back(view);
  plan_.kernels.push_back(std::move(kernel));
  Alias(value, view);
  return view;
}

// The permutes after the value, if there are no other readers, up to one that requires row-major
// order: the value is then made in that order.
std::vector<const Node*> GraphLowering::PermutesBehind(const Value* value) const {
  Nodes permutes;
  while (value->has_one_use()) {
    const Node* user = value->first_use()->user();
    if (!user->Is(ops::permute) || !IsRearranged(sizes_, *user)) break;
    permutes.push_back(user);
    value = user->result();
  }
  if (permutes.empty() || !value->has_one_use()) return {};
  const Node* user = value->first_use()->user();
  const bool wanted = user->Is(ops::reshape) || user->Is(ops::return_);
  return wanted ? permutes : Nodes();
}

View GraphLowering::DefineResult(const Value* value, bool dense) {
  View view;
  view.type = value->type();
  if (view.type.is_tensor()) {
    const bool placed = placements_.contains(value);
    if (placed) view = PlacedView(value);
    if (!placed || (dense && !IsDense(sizes_, view))) {
      const bool own = value->node()->graph() == &graph_;
      const Nodes permutes = dense ? Nodes() : PermutesBehind(value);
      const Value* last = permutes.empty() ? value : permutes.back()->result();
      std::string name = own ? absl::StrCat("v", value->id()) : "t";
      view = dense || last != value ? NewBuffer(last->type(), std::move(name))
                                    : NewPlace(value, std::move(name));
      for (auto it = permutes.rbegin(); it != permutes.rend(); ++it) {
        view = *OperandOfView(sizes_, **it, view);
      }
    }
  }
  Alias(value, view);
  return view;
}

View GraphLowering::Dense(const View& view, absl::string_view reader) {
  if (!view.present() || IsDense(sizes_, view)) return view;
  const View copy = NewBuffer(view.type, "copy");
  AddCopy(view, copy, absl::StrCat(reader, " reads row-major order"));
  return copy;
}

}  // namespace weft
