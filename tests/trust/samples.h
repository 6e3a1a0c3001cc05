// Samples of the ops (OpSpec::Samples) that generators build programs from.
#ifndef WEFT_TESTS_TRUST_SAMPLES_H_
#define WEFT_TESTS_TRUST_SAMPLES_H_

#include <vector>

#include "graph/text/text.h"

namespace weft::trust {

// Valid samples with constant sizes, of ops without nested graphs, writes and symint operands.
// Decompositions of matrices are left out: their results are unique up to signs only.
const std::vector<Sample>& OpSamples();

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_SAMPLES_H_
