// Inputs made from a seed, for running a graph without data.
#ifndef WEFT_API_SEEDED_INPUTS_H_
#define WEFT_API_SEEDED_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/core/graph.h"
#include "graph/core/tensor.h"

namespace weft {

struct SeedOptions {
  uint64_t seed = 0;
  // Values of symbols by name. Others get their hint or a small size within
  // their facts, drawn from the seed.
  absl::flat_hash_map<std::string, int64_t> dims;
  // What elements are drawn from.
  enum class Values {
    kPlain,  // Floats in [-1, 1), integers in {0, 1, 2}, bools.
    kEdge,   // Also infinities, NaN, zeros of both signs, extremes.
  };
  Values values = Values::kPlain;
};

// One tensor for each input of `graph`; inputs that the program is specialised
// to get their value. Errors: an unknown symbol or a size outside of the
// symbol's facts in `options.dims`, or sizes that nothing satisfies.
absl::StatusOr<std::vector<HostTensor>> MakeSeededInputs(
    const Graph& graph, const SeedOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_SEEDED_INPUTS_H_
