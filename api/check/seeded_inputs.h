// Makes inputs from a seed, to run a graph without data.
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
  // Values of symbols by name. Other symbols get their hint or a small size that their facts allow,
  // drawn from the seed.
  absl::flat_hash_map<std::string, int64_t> dims;
  // The distribution of elements.
  enum class Values {
    kPlain,  // Floats in [-1, 1), bools, integers in {0, 1, 2}; integers that index a
             // smaller table are in {0, 1} or {0}.
    kWide,   // Floats in [-8, 8), integers in {-7 .. 7}.
    kEdge,   // As plain; one element in four is an infinity, NaN, a zero of either
             // sign or an extreme.
    kDense,  // As wide; three elements in four are edge values.
  };
  Values values = Values::kPlain;
  // Values of symbols that are not given, within their facts.
  enum class Sizes {
    kHint,   // The hint, or a small size drawn from the seed.
    kDrawn,  // A small size drawn from the seed.
    kOne,
    kEmpty,  // 0, or the smallest.
    kMixed,  // Each is 1 or one other size, the same for all: sizes that broadcast.
  };
  Sizes sizes = Sizes::kHint;
};

// One tensor per input of `graph`, an i64 of rank 0 for a symint. Inputs that the program is
// specialised to get their required value, and those with an initial value get it for plain
// elements and hinted sizes. Errors: an unknown symbol or a size in `options.dims` that the facts
// exclude, or facts that no sizes satisfy.
absl::StatusOr<std::vector<HostTensor>> MakeSeededInputs(const Graph& graph,
                                                         const SeedOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEEDED_INPUTS_H_
