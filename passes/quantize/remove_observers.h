// The inverse of what quantize_prepare adds.
#ifndef WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_
#define WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_

#include <cstdint>
#include <vector>

#include "passes/quantize/sites.h"

namespace weft {

class Graph;

// Takes the observers of these groups out of the graph, with their inputs and outputs; notes stay.
// Returns how many inputs are gone.
int64_t RemoveObservers(Graph& graph, const std::vector<SiteGroup>& groups);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_
