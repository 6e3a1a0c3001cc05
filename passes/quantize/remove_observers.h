// The inverse of what quantize_prepare adds.
#ifndef WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_
#define WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"

namespace weft {

class Graph;

// The names of the inputs with states, which notes in the function and its nested graphs have.
absl::flat_hash_set<std::string> NamesOfStates(Graph& function);

// Takes observers with these states out of the function and its nested graphs, with their inputs
// and outputs; notes stay. Returns how many inputs of the function are gone.
int64_t RemoveObservers(Graph& function, const absl::flat_hash_set<std::string>& names);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_REMOVE_OBSERVERS_H_
