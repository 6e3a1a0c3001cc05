// Values in a stage of a nest: computed on demand, and, depending on the cost, kept in a row or
// computed again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/reduce.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "lowering/kernel_cost.h"
#include "lowering/kernel_ops.h"
#include "lowering/nest_builder.h"
#include "lowering/scalar_ops.h"

namespace weft {
namespace {

// A sum that reaches this grows no more.
constexpr int64_t kMaxCost = int64_t{1} << 40;

}  // namespace

int NestBuilder::Emit(const Value* value, const Indices& at) {
  std::vector<Request> stack;
  pending_.clear();
  int made = Get(value, at, {});
  if (made >= 0) return made;
  const Key root = pending_.back().key;
  stack.swap(pending_);
  auto& memo = stages_[stage_].made;
  while (!stack.empty() && status_.ok()) {
    const Request request = stack.back();
    if (memo.contains(request.key)) {
      stack.pop_back();
      continue;
    }
    pending_.clear();
    made = TryEmit(request);
    Measure();
    if (made >= 0) {
      memo[request.key] = made;
      stack.pop_back();
    } else {
      stack.insert(stack.end(), pending_.begin(), pending_.end());
    }
  }
  pending_.clear();
  return status_.ok() ? memo[root] : -1;
}

int NestBuilder::TryEmit(const Request& request) {
  const Value* value = request.value;
  // Copies: a request may intern others.
  const Indices at = ats_[request.at];
  const Guards guards = guards_[request.guards];
  const Node* node = scope_.NodeOf(value);
  if (node == nullptr) {
    return Load(value, at, guards, -1);
  }
  if (!IsKernelDType(target(), value->type().dtype())) {
    return Fail(absl::StrCat("no kernel has elements of ", DTypeName(value->type().dtype())));
  }
  const int row = KeptRow(request);
  if (row >= 0) return row;
  if (IsKernelReduction(node->op())) return ReducedValue(*node, at);
  if (FindScalarOp(node->op()) != nullptr) {
    return PointwiseValue(*node, at, guards);
  }
  const MovementFn move = FindMovementOp(node->op());
  if (move == nullptr) {
    return Fail(absl::StrCat("no kernel has ", node->op().name()));
  }
  return move(*this, *node, value->index(), at, guards);
}

int NestBuilder::Get(const Value* value, Indices at, const Guards& guards) {
  Request request;
  request.value = value;
  request.at = InternAt(std::move(at));
  request.guards = InternGuards(guards);
  request.key = {value, request.at, request.guards};
  const auto& memo = stages_[stage_].made;
  const auto it = memo.find(request.key);
  if (it != memo.end()) return it->second;
  pending_.push_back(request);
  return -1;
}

int NestBuilder::Load(const Value* value, const Indices& at, const Guards& guards, int otherwise) {
  const Type type = value->type();
  if (type.is_symint()) return body().Size(type.symint());
  const DType dtype = type.dtype();
  if (!IsKernelDType(target(), dtype)) {
    return Fail(absl::StrCat("no kernel has elements of ", DTypeName(dtype)));
  }
  const HostTensor* literal = LiteralOf(value);
  if (literal != nullptr && literal->numel() == 1 && otherwise < 0) {
    return IsFloat(dtype) ? body().Const(KernelDType(dtype), literal->DoubleAt(0))
                          : body().ConstInt(dtype, literal->IntAt(0));
  }
  const View view = scope_.ViewOf(value);
  if (!view.present()) return Fail("a constant of a decomposition");
  Instr load;
  load.op = ScalarOp::kLoad;
  load.dtype = KernelDType(dtype);
  load.access = AccessOf(view, at, space_.extents.size());
  load.access.arg = scope_.ReadArg(view);
  load.access.guards = guards;
  if (!guards.empty()) {
    load.access.otherwise = otherwise >= 0 ? otherwise : body().Const(load.dtype, 0);
  }
  return body().Add(std::move(load));
}

int NestBuilder::ReducedValue(const Node& node, const Indices& at) {
  const auto it = reduced_.find(&node);
  if (it == reduced_.end() || it->second.stage >= stage_) {
    return Fail(absl::StrCat(node.op().name(), " is not known yet"));
  }
  if (at != space_.at.at(node.result())) {
    return Fail(absl::StrCat("the result of ", node.op().name(),
                             " is read elsewhere than where it is made"));
  }
  Instr instr;
  instr.op = ScalarOp::kReduced;
  instr.dtype = it->second.dtype;
  instr.loop = it->second.number;
  int value = body().Add(std::move(instr));
  const DType dtype = node.result()->type().dtype();
  const Type self = node.operand(0)->type();
  if (node.Is(ops::mean)) {
    SymInt count = 1;
    for (int axis : AxesOf(node)) count = count * self.dim(axis);
    const DType wide = body().dtype(value);
    const int n = body().Convert(body().Size(count), wide);
    value = body().Op(IsFloat(wide) ? ScalarOp::kDiv : ScalarOp::kTruncDiv, wide, value, n);
    value = body().Convert(value, KernelDType(dtype));
  } else if (ops::IsArgReduction(node.op())) {
    if (ops::ArgReductionView(node).select_last_index()) {
      const int last = body().Size(self.dim(AxesOf(node)[0]) - 1);
      value = body().Op(ScalarOp::kSub, DType::kI64, last, value);
    }
  }
  return body().Round(value, dtype);
}

int NestBuilder::PointwiseValue(const Node& node, const Indices& at, const Guards& guards) {
  const Type type = node.result()->type();
  std::vector<int> operands;
  std::vector<Type> types;
  bool ready = true;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* v = node.operand(i);
    types.push_back(v == nullptr ? Type() : v->type());
    if (v == nullptr) {
      operands.push_back(-1);
      continue;
    }
    Indices from;
    if (v->type().is_tensor()) {
      from = BroadcastIndices(sizes(), at, v->type().dims(), type.dims());
    }
    operands.push_back(Get(v, std::move(from), guards));
    ready = ready && operands.back() >= 0;
  }
  if (!ready) return -1;
  const int value = FindScalarOp(node.op())(body(), node.attrs(), operands, types, type.dtype());
  if (value < 0) {
    return Fail(absl::StrCat("no kernel has ", node.op().name(), " of ", types[0].ToString()));
  }
  return body().Round(value, type.dtype());
}

int NestBuilder::KeptRow(const Request& request) {
  if (stage_ == 0 || stages_[stage_].stage.per_row) return -1;
  for (const Index& index : ats_[request.at]) {
    if (!index.terms.empty()) return -1;  // Instructions of this stage.
  }
  const auto read = [&](int row) {
    Instr instr;
    instr.op = ScalarOp::kRow;
    instr.dtype = rows_[row];
    instr.loop = row;
    return body().Add(std::move(instr));
  };
  const auto known = row_of_.find(request.key);
  if (known != row_of_.end()) return read(known->second);
  SymInt inner = 1;
  for (size_t l = space_.num_outer; l < space_.extents.size(); ++l) {
    inner = inner * space_.extents[l];
  }
  const int64_t most = sizes().symbols().RangeOf(inner).max;
  if (most != SymRange::kMax && most > target().max_row_elements) {
    return -1;
  }
  for (int s = 0; s < stage_; ++s) {
    StageState& state = stages_[s];
    const auto it = state.made.find(request.key);
    if (it == state.made.end()) continue;
    if (!state.inner[it->second] || state.cost[it->second] < target().costs.row_work) continue;
    const int row = static_cast<int>(rows_.size());
    rows_.push_back(state.body.dtype(it->second));
    state.stage.keeps.push_back({it->second, row});
    row_of_[request.key] = row;
    return read(row);
  }
  return -1;
}

// Computes the cost of the new instructions.
void NestBuilder::Measure() {
  StageState& state = stages_[stage_];
  for (int i = static_cast<int>(state.cost.size()); i < state.body.size(); ++i) {
    const Instr& instr = state.body.instr(i);
    int64_t cost = WorkOf(instr.op, target());
    bool inner = instr.op == ScalarOp::kRow;
    const auto add = [&](int operand) {
      if (operand < 0) return;
      inner = inner || state.inner[operand];
      if (state.inner[operand]) {
        cost = std::min(kMaxCost, cost + state.cost[operand]);
      }
    };
    for (int operand : instr.operands) add(operand);
    if (instr.op == ScalarOp::kIndex) {
      inner = instr.loop >= static_cast<int>(space_.num_outer);
    }
    if (instr.op == ScalarOp::kLoad) {
      const auto moves = [&](const std::vector<SymInt>& strides) {
        for (size_t l = space_.num_outer; l < strides.size(); ++l) {
          inner = inner || !strides[l].Is(0);
        }
      };
      moves(instr.access.strides);
      for (const IndexTerm& t : instr.access.terms) add(t.value);
      for (const Access::Guard& g : instr.access.guards) moves(g.strides);
      add(instr.access.otherwise);
    }
    state.cost.push_back(cost);
    state.inner.push_back(inner);
  }
}

int NestBuilder::IndexValue(const Index& index) {
  KernelBody& b = body();
  int sum = b.Size(index.offset);
  bool zero = index.offset.Is(0);
  const auto add = [&](int value, SymInt factor) {
    if (!factor.Is(1)) {
      value = b.Op(ScalarOp::kMul, DType::kI64, value, b.Size(factor));
    }
    sum = zero ? value : b.Op(ScalarOp::kAdd, DType::kI64, value, sum);
    zero = false;
  };
  for (size_t l = 0; l < index.strides.size(); ++l) {
    if (index.strides[l].Is(0)) continue;
    Instr loop;
    loop.op = ScalarOp::kIndex;
    loop.dtype = DType::kI64;
    loop.loop = static_cast<int>(l);
    add(b.Add(std::move(loop)), index.strides[l]);
  }
  for (const IndexTerm& t : index.terms) {
    // Negative values count from the end.
    const int value = b.Convert(t.value, DType::kI64);
    const int wrapped = b.Op(ScalarOp::kAdd, DType::kI64, value, b.Size(t.bound));
    const int negative = b.Compare(ScalarOp::kLt, value, b.ConstInt(DType::kI64, 0));
    add(b.Op(ScalarOp::kSelect, DType::kI64, negative, wrapped, value), t.stride);
  }
  return sum;
}

}  // namespace weft
