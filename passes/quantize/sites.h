// The places of a graph that are to be quantized, by the groups that share their parameters.
//
// A note under `quant` is a spec (spec.h), and ` group=NAME` behind it where parameters are shared
// with other places. Without a name, the places of one value with equal specs are a group.
#ifndef WEFT_PASSES_QUANTIZE_SITES_H_
#define WEFT_PASSES_QUANTIZE_SITES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/quantize/spec.h"

namespace weft {

class Graph;
class HostTensor;
class Node;
class Value;

// The key of the notes that annotation makes, and of those with which preparation says what
// observes a place: the name of the input that holds the state.
inline constexpr absl::string_view kQuantKey = "quant";
inline constexpr absl::string_view kObserverKey = "observer";

struct QuantSite {
  // All users of a value (`user` is null), or one operand.
  Value* value = nullptr;
  Node* user = nullptr;
  int operand = -1;
};

struct SiteGroup {
  QuantSpec spec;
  // Name of the input with the state; empty without one.
  std::string observer;
  std::vector<QuantSite> sites;
};

// In the order of the graph: inputs, then for each node its operands and its results. Errors name
// the node: a note that does not parse, and sites of one group with different specs (both are
// named).
absl::StatusOr<std::vector<SiteGroup>> CollectSites(const Graph& graph);

// The tensor that the value has in every run: a constant, or the initial value of an input that the
// program does not write; null for other values.
const HostTensor* WeightOf(const Graph& graph, const Value* value);

// Whether a calibration gives the parameters.
bool NeedsObserver(const Graph& graph, const SiteGroup& group);

// "%3 (relu) from fc/relu" and the like, for messages.
std::string NameOf(const Value* value);
std::string NameOf(const Node& node);
std::string NameOf(const QuantSite& site);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_SITES_H_
