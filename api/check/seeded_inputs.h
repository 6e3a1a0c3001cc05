// Inputs made from a seed, for running a graph without data.
#ifndef WEFT_API_CHECK_SEEDED_INPUTS_H_
#define WEFT_API_CHECK_SEEDED_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace weft {

class Graph;
class HostTensor;

struct SeedOptions {
  uint64_t seed = 0;
  // Values of symbols by name. Others get their hint or a small size within
  // their facts, drawn from the seed.
  absl::flat_hash_map<std::string, int64_t> dims;
  // What elements are drawn from.
  enum class Values {
    kPlain,  // Floats in [-1, 1), integers in {0, 1, 2}, those that choose rows of a
             // smaller table in {0, 1} or {0}, bools.
    kWide,   // Floats in [-8, 8), integers in {-7 .. 7}.
    kEdge,   // As plain; one in four an infinity, NaN, a zero of either sign,
             // an extreme.
    kDense,  // As wide; three in four are such.
  };
  Values values = Values::kPlain;
  // What symbols without a given value get, within their facts.
  enum class Sizes {
    kHint,   // The hint, or a small size drawn from the seed.
    kDrawn,  // A small size drawn from the seed.
    kOne,
    kEmpty,  // 0, or the smallest.
    kMixed,  // Each 1 or another size, the same for all: what broadcasts.
  };
  Sizes sizes = Sizes::kHint;
};

// One tensor for each input of `graph`, a rank-0 i64 one for a symint; inputs
// that the program is specialised to get their value, and those with an initial
// value get that for plain elements and hinted sizes. Errors: an unknown symbol or a size outside
// of the symbol's facts in `options.dims`, or sizes that nothing satisfies.
absl::StatusOr<std::vector<HostTensor>> MakeSeededInputs(const Graph& graph,
                                                         const SeedOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEEDED_INPUTS_H_
