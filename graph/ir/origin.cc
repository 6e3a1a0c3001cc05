#include "graph/ir/origin.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace weft {

void OriginTable::BeginPass(absl::string_view pass) {
  pass_ = std::string(pass);
  Record record;
  record.maker = Maker("");
  current_ = Add(record);
}

// A full table adds no names: 0 means unknown.
uint16_t OriginTable::Maker(absl::string_view rule) {
  const auto& last = makers_[last_maker_];
  if (last_maker_ != 0 && last.second == rule && last.first == pass_) {
    return last_maker_;
  }
  std::pair<std::string, std::string> key(pass_, std::string(rule));
  auto it = maker_ids_.find(key);
  if (it == maker_ids_.end()) {
    if (makers_.size() >= kUnion) return 0;
    it = maker_ids_.emplace(key, static_cast<uint16_t>(makers_.size())).first;
    makers_.push_back(std::move(key));
  }
  return last_maker_ = it->second;
}

uint16_t OriginTable::Op(const OpDef* op) {
  if (last_op_ != 0 && ops_[last_op_] == op) return last_op_;
  auto it = op_ids_.find(op);
  if (it == op_ids_.end()) {
    if (op == nullptr || ops_.size() >= kUnion) return 0;
    it = op_ids_.emplace(op, static_cast<uint16_t>(ops_.size())).first;
    ops_.push_back(op);
  }
  return last_op_ = it->second;
}

OriginId OriginTable::Add(const Record& record) {
  if (records_.size() > std::numeric_limits<OriginId>::max() - 1) return 0;
  records_.push_back(record);
  return static_cast<OriginId>(records_.size() - 1);
}

OriginId OriginTable::Rewrite(absl::string_view rule, int64_t number, const OpDef* op,
                              uint32_t node, OriginId from) {
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  Record record;
  record.rewrite = static_cast<uint32_t>(std::min(number, kMax));
  record.node = node;
  record.from = from;
  record.maker = Maker(rule);
  record.op = Op(op);
  return Add(record);
}

OriginId OriginTable::Merge(OriginId a, OriginId b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  Record record;
  record.maker = kUnion;
  record.from = a;
  record.node = b;
  return Add(record);
}

// A record's parents have smaller ids, so a heap gives the steps in order.
std::vector<OriginTable::Step> OriginTable::History(OriginId id, size_t limit) const {
  std::vector<Step> steps;
  std::priority_queue<OriginId> heap;
  absl::flat_hash_set<OriginId> seen;
  const auto push = [&](OriginId next) {
    if (next != 0 && seen.insert(next).second) heap.push(next);
  };
  push(id);
  while (!heap.empty() && steps.size() < limit) {
    const Record& record = records_[heap.top()];
    heap.pop();
    push(record.from);
    if (record.maker == kUnion) {
      push(record.node);
      continue;
    }
    Step& step = steps.emplace_back();
    step.pass = makers_[record.maker].first;
    step.rule = makers_[record.maker].second;
    step.rewrite = record.rewrite;
    step.op = ops_[record.op];
    step.node = record.node;
    step.from = record.from;
  }
  return steps;
}

std::vector<std::string> OriginTable::Rules(OriginId id, size_t limit) const {
  std::vector<std::string> rules;
  for (const Step& step : History(id)) {
    std::string rule(step.pass);
    if (!step.rule.empty()) absl::StrAppend(&rule, rule.empty() ? "" : ".", step.rule);
    if (rule.empty() || std::count(rules.begin(), rules.end(), rule) > 0) continue;
    rules.push_back(std::move(rule));
    if (rules.size() >= limit) break;
  }
  return rules;
}

}  // namespace weft
