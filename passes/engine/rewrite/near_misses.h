// Why rules do not fire: for each rule that is asked about, the places where
// most of its pattern matched, and the condition that failed there.
#ifndef WEFT_PASSES_ENGINE_REWRITE_NEAR_MISSES_H_
#define WEFT_PASSES_ENGINE_REWRITE_NEAR_MISSES_H_

#include <optional>
#include <string>
#include <vector>

#include "passes/engine/pass_context.h"
#include "passes/engine/remarks/name_filter.h"
#include "passes/engine/rewrite/matcher.h"
#include "passes/engine/rewrite/rule_index.h"

namespace weft {

class Graph;
class Node;

class NearMisses {
 public:
  // The places kept for a rule.
  static constexpr int kMaxPlaces = 5;

  // Rules whose whole name the regular expression matches (NameFilter). One that is
  // not well formed matches none: tools check it first.
  explicit NearMisses(const std::string& rules);

  // Tries the asked rules of `entry` at `node`, all orders of operands, and
  // keeps what failed late. For each such node the cost is that of the rules'
  // patterns.
  void Look(const RuleIndex& index, const RuleIndex::Entry& entry, const Node& node);
  // One remark of kind kNearMiss a place, the nearest first, rules in order.
  // Places that a rule matched later, or that are gone, have been left out by
  // then.
  void Report(const RuleIndex& index, PassContext& context) const;

 private:
  struct Place {
    const Graph* graph;
    uint32_t node;
    NearMiss miss;
    Remark remark;
  };
  bool Asks(const RuleIndex& index, int rule);
  void Keep(Place place, std::vector<Place>* places) const;

  std::optional<NameFilter> names_;
  std::vector<signed char> asked_;          // By rule: -1 not known yet, 0, 1.
  std::vector<std::vector<Place>> places_;  // By rule.
  Match match_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_NEAR_MISSES_H_
