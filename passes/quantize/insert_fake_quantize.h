// Fake quantization of the places that notes name, for training: what a network will lose by
// rounding is in its results before its weights are fixed.
#ifndef WEFT_PASSES_QUANTIZE_INSERT_FAKE_QUANTIZE_H_
#define WEFT_PASSES_QUANTIZE_INSERT_FAKE_QUANTIZE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "passes/quantize/sites.h"

namespace weft {

class Graph;
class PassContext;

// The key of the note, the spec, on what is made here.
inline constexpr absl::string_view kFakeQuantizeKey = "fake_quantize";

// The state of an observer right behind the place where it has seen a value, by the value and the
// observer's name.
using SeenStates = absl::flat_hash_map<std::pair<const Value*, std::string>, Value*>;

// Makes the readers that the groups name read a fake_quantize of the value. Scales follow from the
// range that the observer has seen, the batch of the run included, and those of weights from their
// extrema in each run. Places with derived specs stay as they are.
absl::Status InsertFakeQuantize(Graph& graph, const std::vector<SiteGroup>& groups,
                                const SeenStates& states, PassContext& context);

// Takes out what was inserted, with the nodes that compute scales for it alone. Returns the number
// of nodes fake_quantize.
int64_t RemoveFakeQuantize(Graph& graph);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_INSERT_FAKE_QUANTIZE_H_
