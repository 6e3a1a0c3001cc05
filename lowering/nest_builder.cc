#include "lowering/nest_builder.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/reduce.h"

namespace weft {
namespace {

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

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

// What the reduction accumulates in.
DType AccumulatorOf(const Node& node) {
  const DType dtype = node.operand(0)->type().dtype();
  if (node.Is(ops::any) || node.Is(ops::all)) return DType::kBool;
  if (node.Is(ops::mean) && IsInt(dtype)) {
    return dtype == DType::kU64 ? DType::kU64 : DType::kI64;
  }
  return KernelDType(dtype);
}

// Moves the instructions that something needs to `stage`; ops ask for more than they use. False
// when no load is left at one of the `gathered` indices.
bool KeepUsed(std::vector<Instr> body, absl::Span<const int> gathered, Stage* stage) {
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
  std::vector<bool> checked(body.size(), false);
  for (size_t i = 0; i < body.size(); ++i) {
    if (number[i] < 0) continue;
    for (const IndexTerm& t : body[i].access.terms) checked[t.value] = true;
  }
  for (int index : gathered) {
    if (!checked[index]) return false;
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
  return true;
}

}  // namespace

absl::StatusOr<Nest> NestBuilder::Run() {
  FindNeeded();
  CheckReductions();
  WEFT_RETURN_IF_ERROR(status_);
  // One stage for each level of reductions, one for what needs all of them, one
  // for results that rows have one of.
  stages_.resize(num_levels_ + 2);
  for (stage_ = 0; stage_ <= num_levels_ && status_.ok(); ++stage_) {
    EmitStage(stage_);
  }
  stage_ = num_levels_ + 1;
  if (num_levels_ > 0 && status_.ok()) EmitRowResults();
  WEFT_RETURN_IF_ERROR(status_);
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
      used = used || (wanted.contains(node.result(r)) && !IsOutside(node.result(r)));
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
  if (IsArg(op) && ops::ArgReductionView(node).select_last_index()) {
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
  store.access = AccessOf(scope_.request().output_views[output], at, space_.extents.size());
  store.access.arg = output;
  state.stage.stores.push_back(std::move(store));
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

absl::StatusOr<Nest> NestBuilder::Finish() {
  Nest nest;
  nest.outer.assign(space_.extents.begin(), space_.extents.begin() + space_.num_outer);
  nest.inner.assign(space_.extents.begin() + space_.num_outer, space_.extents.end());
  nest.rows = std::move(rows_);
  for (StageState& state : stages_) {
    Stage& stage = state.stage;
    if (stage.stores.empty() && stage.reductions.empty()) continue;
    if (!KeepUsed(state.body.Take(), state.gathered, &stage)) {
      return absl::UnimplementedError("no load checks the index of a gather");
    }
    nest.stages.push_back(std::move(stage));
  }
  return nest;
}

}  // namespace weft
