// Do two modules compute the same? Asked of the reference executor.
#ifndef WEFT_API_CHECK_SEMANTICS_H_
#define WEFT_API_CHECK_SEMANTICS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "passes/engine/pass_context.h"

namespace weft {

class Graph;
class Module;

struct SemanticsOptions {
  uint64_t seed = 0;
  // Further runs, most of them with edge values, of graphs with small inputs.
  int more_runs = 64;
};

struct SemanticsResult {
  enum class Verdict {
    kEqual,
    kDifferent,
    kUnknown,  // `before` refused all inputs, or none could be made.
  };
  Verdict verdict = Verdict::kUnknown;
  int compared = 0;
  // Runs in which `before` itself refused the inputs (an index out of range,
  // say), so that there was nothing to compare with.
  int refused = 0;
  std::string refusal;     // Why the last refused run was.
  std::string difference;  // The run, its seed, the output and the elements.
};

// Runs both graphs, whose inputs have the same names, on equal seeded inputs:
// several assignments of the symbols (their hints, small sizes, 1 and 0), plain
// and wide elements and, for contracts that keep values, many that are
// infinities, NaN, zeros of either sign and extremes. Outputs are compared
// within `contract`: bit-exact (any NaN equals any NaN), value-safe (zeros of
// either sign are equal too), or within a few units in the last place for the
// weaker ones. Inputs are made for the signature of `drawn_from`, one of the
// two. Where one of them may write its inputs, what these hold in the end is
// compared as well, in place of the write-backs.
SemanticsResult CompareGraphs(const Graph& before, const Graph& after, const Graph& drawn_from,
                              NumericContract contract, const SemanticsOptions& options = {});

// True when a run may change inputs, as far as the module tells.
bool MayWrite(const Graph& graph);

// The functions that both modules have. FailedPrecondition names the function
// and what differs.
absl::StatusOr<SemanticsResult> CompareSemantics(const Module& before, const Module& after,
                                                 NumericContract contract,
                                                 const SemanticsOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEMANTICS_H_
