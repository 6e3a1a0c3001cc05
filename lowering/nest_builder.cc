#include "lowering/nest_builder.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "lowering/kernel_ops.h"
#include "lowering/scalar_ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

constexpr int kMaxCost = 1 << 20;
// A value is kept in a row when making it again costs this much; a load and an
// addition cost less, an exponential more.
constexpr int kRowCost = 8;

int CostOf(const Instr& instr) {
  switch (instr.op) {
    case ScalarOp::kConst:
    case ScalarOp::kSize:
    case ScalarOp::kIndex:
    case ScalarOp::kRow:
    case ScalarOp::kReduced:
      return 0;
    case ScalarOp::kDiv:
    case ScalarOp::kSqrt:
      return 3;
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
    case ScalarOp::kFmod:
    case ScalarOp::kRemainder:
    case ScalarOp::kFloorDiv:
    case ScalarOp::kTruncDiv:
      return 10;
    default:
      break;
  }
  const bool function =
      instr.op >= ScalarOp::kExp && instr.op <= ScalarOp::kSigmoid;
  return function && instr.op != ScalarOp::kRsqrt &&
                 instr.op != ScalarOp::kReciprocal
             ? 10
             : 1;
}

bool SameView(const View& a, const View& b) {
  return a.buffer == b.buffer && a.type == b.type && a.offset == b.offset &&
         a.strides == b.strides;
}

uint64_t HashOfView(const View& v) {
  uint64_t hash = absl::HashOf(v.buffer, v.type.hash(), v.offset.hash());
  for (SymInt s : v.strides) hash = absl::HashOf(hash, s.hash());
  return hash;
}

ReduceOp ReduceOpOf(const Node& node) {
  const bool truth = node.operand(0)->type().dtype() == DType::kBool;
  if (node.Is(ops::sum) || node.Is(ops::mean)) return ReduceOp::kSum;
  if (node.Is(ops::prod)) return ReduceOp::kProduct;
  if (node.Is(ops::amax)) return truth ? ReduceOp::kOr : ReduceOp::kMaximum;
  if (node.Is(ops::amin)) return truth ? ReduceOp::kAnd : ReduceOp::kMinimum;
  if (node.Is(ops::any)) return ReduceOp::kOr;
  if (node.Is(ops::all)) return ReduceOp::kAnd;
  return node.Is(ops::argmax) ? ReduceOp::kArgMax : ReduceOp::kArgMin;
}

bool IsArg(ReduceOp op) {
  return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin;
}

// What the reduction accumulates in.
DType AccumulatorOf(const Node& node) {
  const DType dtype = node.operand(0)->type().dtype();
  if (node.Is(ops::any) || node.Is(ops::all)) return DType::kBool;
  if (node.Is(ops::mean) && IsInt(dtype)) {
    return dtype == DType::kU64 ? DType::kU64 : DType::kI64;
  }
  return KernelDType(dtype);
}

// Without instructions that nothing needs: what ops asked for and did not use.
void DropUnused(std::vector<Instr> body, Stage* stage) {
  std::vector<int> number(body.size(), -1);
  const auto need = [&](int i) {
    if (i >= 0) number[i] = 0;
  };
  for (const Keep& k : stage->keeps) need(k.value);
  for (const Reduction& r : stage->reductions) need(r.value);
  for (const Store& s : stage->stores) need(s.value);
  for (size_t i = body.size(); i-- > 0;) {
    if (number[i] < 0) continue;
    for (int operand : body[i].operands) need(operand);
    for (const IndexTerm& t : body[i].access.terms) need(t.value);
    need(body[i].access.otherwise);
  }
  const auto renumber = [&](int* i) {
    if (*i >= 0) *i = number[*i];
  };
  for (size_t i = 0; i < body.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(stage->body.size());
    for (int& operand : body[i].operands) renumber(&operand);
    for (IndexTerm& t : body[i].access.terms) renumber(&t.value);
    renumber(&body[i].access.otherwise);
    stage->body.push_back(std::move(body[i]));
  }
  for (Keep& k : stage->keeps) renumber(&k.value);
  for (Reduction& r : stage->reductions) renumber(&r.value);
  for (Store& s : stage->stores) renumber(&s.value);
}

}  // namespace

KernelScope::KernelScope(const KernelRequest& request) : request_(request) {
  for (const Node* node : request.group.nodes) inside_[node] = 1;
  for (const Node* node : request.group.nodes) {
    const Value* self = node->num_operands() > 0 ? node->operand(0) : nullptr;
    if (self == nullptr || !self->type().is_tensor() ||
        NodeOf(self) != nullptr || self->IsResultOf(ops::constant)) {
      continue;
    }
    for (int r = 0; r < node->num_results(); ++r) {
      auto view = ViewOfNode(sizes(), *node, r, ViewOf(self));
      if (view) views_[node->result(r)] = *std::move(view);
    }
  }
}

const Node* KernelScope::NodeOf(const Value* value) const {
  const Node* node = value->node();
  if (node == nullptr || node->Is(ops::constant)) return nullptr;
  if (!inside_.contains(node) || views_.contains(value)) return nullptr;
  return node;
}

View KernelScope::ViewOf(const Value* value) const {
  const auto it = views_.find(value);
  return it == views_.end() ? request_.view_of(value) : it->second;
}

int KernelScope::ReadArg(const View& view) {
  std::vector<int>& same = by_hash_[HashOfView(view)];
  for (int i : same) {
    if (SameView(reads_[i], view)) return i;
  }
  same.push_back(static_cast<int>(reads_.size()));
  reads_.push_back(view);
  return same.back();
}

absl::StatusOr<Nest> NestBuilder::Run() {
  FindNeeded();
  CheckReductions();
  if (!status_.ok()) return status_;
  // One stage for each level of reductions, one for what needs all of them, one
  // for results that rows have one of.
  stages_.resize(num_levels_ + 2);
  for (stage_ = 0; stage_ <= num_levels_ && status_.ok(); ++stage_) {
    EmitStage(stage_);
  }
  stage_ = num_levels_ + 1;
  if (num_levels_ > 0 && status_.ok()) EmitRowResults();
  if (!status_.ok()) return status_;
  return Finish();
}

// The nodes behind the outputs, and behind how many reductions each stands.
void NestBuilder::FindNeeded() {
  absl::flat_hash_set<const Value*> wanted;
  const KernelGroup& group = scope_.request().group;
  for (int o : space_.outputs) wanted.insert(group.outputs[o]);
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
    const Node& node = **it;
    bool used = false;
    for (int r = 0; r < node.num_results(); ++r) {
      used = used ||
             (wanted.contains(node.result(r)) && !IsOutside(node.result(r)));
    }
    if (!used) continue;
    needed_.push_back(&node);
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.operand(i) != nullptr) wanted.insert(node.operand(i));
    }
  }
  std::reverse(needed_.begin(), needed_.end());
  for (const Node* node : needed_) {
    int level = 0;
    for (int i = 0; i < node->num_operands(); ++i) {
      const auto it = level_.find(node->operand(i));
      if (it != level_.end()) level = std::max(level, it->second);
    }
    if (IsKernelReduction(node->op())) {
      num_levels_ = std::max(num_levels_, ++level);
    }
    for (int r = 0; r < node->num_results(); ++r) {
      level_[node->result(r)] = level;
    }
  }
}

void NestBuilder::CheckReductions() {
  for (const Node* node : needed_) {
    if (IsKernelReduction(node->op()) && !IsAligned(*node)) {
      Fail(absl::StrCat(node->op().name(), " runs over other dims"));
    }
  }
}

// The reduction runs over exactly the inner loops.
bool NestBuilder::IsAligned(const Node& node) const {
  const auto it = space_.at.find(node.operand(0));
  if (it == space_.at.end() || !space_.at.contains(node.result())) return false;
  const std::vector<int> axes = AxesOf(node);
  const size_t loops = space_.extents.size();
  std::vector<bool> seen(loops, false);
  for (size_t d = 0; d < it->second.size(); ++d) {
    const bool axis = std::find(axes.begin(), axes.end(), d) != axes.end();
    for (size_t l = 0; l < loops; ++l) {
      if (it->second[d].strides[l].Is(0)) continue;
      if (axis != (l >= space_.num_outer)) return false;
      seen[l] = true;
    }
  }
  Index position = ZeroIndex(loops);
  for (size_t l = space_.num_outer; l < loops; ++l) {
    if (space_.extents[l].Is(1)) continue;
    if (!seen[l]) return false;
    position = position * space_.extents[l] + LoopIndex(loops, l);
  }
  if (!node.Is(ops::argmax) && !node.Is(ops::argmin)) return true;
  return it->second[axes[0]] == position;
}

void NestBuilder::EmitStage(int stage) {
  const KernelGroup& group = scope_.request().group;
  for (const Node* node : needed_) {
    if (!status_.ok()) return;
    if (IsKernelReduction(node->op()) && level_[node->result()] == stage + 1) {
      EmitReduction(*node);
    }
  }
  for (int o : space_.outputs) {
    if (!status_.ok()) return;
    const Value* output = group.outputs[o];
    const auto it = level_.find(output);
    const int level = it == level_.end() ? 0 : it->second;
    const bool row = num_levels_ > 0 && !space_.UsesInner(space_.at.at(output));
    if (!row && level == stage) EmitStore(o);
  }
}

void NestBuilder::EmitRowResults() {
  stages_[stage_].stage.per_row = true;
  for (int o : space_.outputs) {
    const Value* output = scope_.request().group.outputs[o];
    if (!space_.UsesInner(space_.at.at(output))) EmitStore(o);
    if (!status_.ok()) return;
  }
}

void NestBuilder::EmitReduction(const Node& node) {
  Indices at = space_.at.at(node.operand(0));
  const ReduceOp op = ReduceOpOf(node);
  if (IsArg(op) && node.attrs().Bool("select_last_index")) {
    // Read in reverse, the last one is the first.
    Index& index = at[AxesOf(node)[0]];
    const SymInt n = node.operand(0)->type().dim(AxesOf(node)[0]);
    index = index * SymInt(-1) + (n - 1);
  }
  int value = Emit(node.operand(0), at);
  if (value < 0) return;
  const DType dtype = AccumulatorOf(node);
  StageState& state = stages_[stage_];
  value = state.body.Convert(value, dtype);
  const DType result = IsArg(op) ? DType::kI64 : dtype;
  state.stage.reductions.push_back({op, value, dtype});
  reduced_[&node] = {num_reductions_++, stage_, result};
}

void NestBuilder::EmitStore(int output) {
  const Value* value = scope_.request().group.outputs[output];
  const Indices& at = space_.at.at(value);
  int instr = Emit(value, at);
  if (instr < 0) return;
  StageState& state = stages_[stage_];
  // A store rounds.
  const Instr& made = state.body.instr(instr);
  if (made.op == ScalarOp::kRound && made.via == value->type().dtype()) {
    instr = made.operands[0];
  }
  Store store;
  store.value = instr;
  store.access = AccessOf(scope_.request().output_views[output], at,
                          space_.extents.size());
  store.access.arg = output;
  state.stage.stores.push_back(std::move(store));
}

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
  if (!IsKernelDType(value->type().dtype())) {
    return Fail(absl::StrCat("no kernel has elements of ",
                             DTypeName(value->type().dtype())));
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

int NestBuilder::Load(const Value* value, const Indices& at,
                      const Guards& guards, int otherwise) {
  const Type type = value->type();
  if (type.is_symint()) return body().Size(type.symint());
  const DType dtype = type.dtype();
  if (!IsKernelDType(dtype)) {
    return Fail(absl::StrCat("no kernel has elements of ", DTypeName(dtype)));
  }
  const HostTensor* literal = LiteralOf(value);
  if (literal != nullptr && literal->numel() == 1 && otherwise < 0) {
    return IsFloat(dtype)
               ? body().Const(KernelDType(dtype), literal->DoubleAt(0))
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
    load.access.otherwise =
        otherwise >= 0 ? otherwise : body().Const(load.dtype, 0);
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
    value = body().Op(IsFloat(wide) ? ScalarOp::kDiv : ScalarOp::kTruncDiv,
                      wide, value, n);
    value = body().Convert(value, KernelDType(dtype));
  } else if (node.Is(ops::argmax) || node.Is(ops::argmin)) {
    if (node.attrs().Bool("select_last_index")) {
      const int last = body().Size(self.dim(AxesOf(node)[0]) - 1);
      value = body().Op(ScalarOp::kSub, DType::kI64, last, value);
    }
  }
  return body().Round(value, dtype);
}

int NestBuilder::PointwiseValue(const Node& node, const Indices& at,
                                const Guards& guards) {
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
  const int value = FindScalarOp(node.op())(body(), node.attrs(), operands,
                                            types, type.dtype());
  if (value < 0) {
    return Fail(absl::StrCat("no kernel has ", node.op().name(), " of ",
                             types[0].ToString()));
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
  if (most != SymRange::kMax && most > scope_.request().max_row_elements) {
    return -1;
  }
  for (int s = 0; s < stage_; ++s) {
    StageState& state = stages_[s];
    const auto it = state.made.find(request.key);
    if (it == state.made.end()) continue;
    if (!state.inner[it->second] || state.cost[it->second] < kRowCost) continue;
    const int row = static_cast<int>(rows_.size());
    rows_.push_back(state.body.dtype(it->second));
    state.stage.keeps.push_back({it->second, row});
    row_of_[request.key] = row;
    return read(row);
  }
  return -1;
}

// Of the instructions that are new.
void NestBuilder::Measure() {
  StageState& state = stages_[stage_];
  for (int i = static_cast<int>(state.cost.size()); i < state.body.size();
       ++i) {
    const Instr& instr = state.body.instr(i);
    int cost = CostOf(instr);
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
    // Negative ones count from the end.
    const int value = b.Convert(t.value, DType::kI64);
    const int wrapped =
        b.Op(ScalarOp::kAdd, DType::kI64, value, b.Size(t.bound));
    const int negative =
        b.Compare(ScalarOp::kLt, value, b.ConstInt(DType::kI64, 0));
    add(b.Op(ScalarOp::kSelect, DType::kI64, negative, wrapped, value),
        t.stride);
  }
  return sum;
}

int NestBuilder::Fail(absl::string_view why) {
  if (status_.ok()) status_ = absl::UnimplementedError(why);
  return -1;
}

int NestBuilder::InternAt(Indices at) {
  std::vector<int>& same = at_ids_[HashOf(at)];
  for (int i : same) {
    if (ats_[i] == at) return i;
  }
  same.push_back(static_cast<int>(ats_.size()));
  ats_.push_back(std::move(at));
  return same.back();
}

// There are few of them.
int NestBuilder::InternGuards(const Guards& guards) {
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (guards_[i] == guards) return static_cast<int>(i);
  }
  guards_.push_back(guards);
  return static_cast<int>(guards_.size()) - 1;
}

Nest NestBuilder::Finish() {
  Nest nest;
  nest.outer.assign(space_.extents.begin(),
                    space_.extents.begin() + space_.num_outer);
  nest.inner.assign(space_.extents.begin() + space_.num_outer,
                    space_.extents.end());
  nest.rows = std::move(rows_);
  for (StageState& state : stages_) {
    Stage& stage = state.stage;
    if (stage.stores.empty() && stage.reductions.empty()) continue;
    DropUnused(state.body.Take(), &stage);
    nest.stages.push_back(std::move(stage));
  }
  return nest;
}

}  // namespace weft
