#include "passes/engine/rewrite/near_misses.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

// "softmax", or "softmax from \"fc/act\"".
std::string DescribeNode(const Node& node) {
  const auto names = node.graph()->module().provenance().Names(node.provenance(), 1);
  return absl::StrCat(node.op().name(), names.empty() ? "" : " from ",
                      names.empty() ? "" : Quote(names[0]));
}

}  // namespace

NearMisses::NearMisses(const std::string& rules) {
  auto filter = NameFilter::Parse(rules);
  if (filter.ok()) names_ = *std::move(filter);
}

bool NearMisses::Asks(const RuleIndex& index, int rule) {
  if (asked_.empty()) asked_.assign(index.num_rules(), -1);
  if (asked_[rule] < 0) {
    asked_[rule] = names_ && names_->Matches(index.rule(rule).name);
  }
  return asked_[rule] != 0;
}

void NearMisses::Look(const RuleIndex& index, const RuleIndex::Entry& entry, const Node& node) {
  if (places_.empty()) places_.resize(index.num_rules());
  for (int rule : entry.rules) {
    if (!Asks(index, rule)) continue;
    std::vector<Place>& places = places_[rule];
    // The node may have been looked at before: its last state counts.
    places.erase(std::remove_if(places.begin(), places.end(),
                                [&](const Place& p) {
                                  return p.graph == node.graph() && p.node == node.id();
                                }),
                 places.end());
    NearMiss miss;
    if (ExplainRule(index.rule(rule), node, match_, &miss)) continue;
    if (miss.matched == 0) continue;
    Remark remark = RemarkOn(node, RemarkKind::kNearMiss, miss.reason);
    if (miss.at != nullptr && miss.at != &node) {
      remark.related = {miss.at->id()};
      remark.args = {{"at", DescribeNode(*miss.at)}};
    }
    Keep({node.graph(), node.id(), std::move(miss), std::move(remark)}, &places);
  }
}

void NearMisses::Keep(Place place, std::vector<Place>* places) const {
  const auto nearer = [](const Place& a, const Place& b) {
    return a.miss.matched > b.miss.matched;
  };
  places->insert(std::upper_bound(places->begin(), places->end(), place, nearer), std::move(place));
  if (places->size() > kMaxPlaces) places->pop_back();
}

void NearMisses::Report(const RuleIndex& index, PassContext& context) const {
  for (size_t rule = 0; rule < places_.size(); ++rule) {
    for (const Place& place : places_[rule]) {
      Remark remark = place.remark;
      remark.rule = index.rule(static_cast<int>(rule)).name;
      remark.contract =
          std::string(NumericContractName(index.rule(static_cast<int>(rule)).contract));
      remark.args.insert(remark.args.begin(),
                         {"matched", absl::StrCat(place.miss.matched, "/", place.miss.total)});
      context.AddRemark(std::move(remark));
    }
  }
}

}  // namespace weft
