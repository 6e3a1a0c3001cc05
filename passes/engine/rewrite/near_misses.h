// Explains why rules do not fire: for each selected rule, the places where most of its pattern
// matched, and the condition that failed there.
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
  // Most places kept per rule.
  static constexpr int kMaxPlaces = 5;

  // Selects rules whose whole name matches the regular expression (NameFilter). A malformed
  // expression selects none; tools check it first.
  explicit NearMisses(const std::string& rules);

  // Tries the selected rules of `entry` at `node` with all orders of operands, and records late
  // failures. The cost per node is that of the rules' patterns.
  void Look(const RuleIndex& index, const RuleIndex::Entry& entry, const Node& node);
  // Adds one remark of kind kNearMiss per place, by rule, the closest first. Places where a rule
  // matched later, or whose nodes were erased, are left out.
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
  std::vector<signed char> asked_;          // By rule: -1 unknown, 0, 1.
  std::vector<std::vector<Place>> places_;  // By rule.
  Match match_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_NEAR_MISSES_H_
