// Compares the results of two modules by running them on the reference executor.
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
  // Number of additional runs, most with edge values, for graphs with small inputs.
  int more_runs = 64;
};

struct SemanticsResult {
  enum class Verdict {
    kEqual,
    kDifferent,
    kUnknown,  // `before` refused all inputs, or no inputs could be made.
  };
  Verdict verdict = Verdict::kUnknown;
  int compared = 0;
  // Runs in which `before` itself refused the inputs (for example, an index out of range), so that
  // nothing was compared.
  int refused = 0;
  std::string refusal;     // The error of the last refused run.
  std::string difference;  // The run, its seed, the output and the elements.
};

// Runs both graphs, whose inputs have the same names, on equal seeded inputs: several assignments
// of the symbols (their hints, small sizes, 1 and 0), plain and wide elements and, for contracts
// that keep values, many infinities, NaN, zeros of either sign and extremes. Outputs are compared
// within `contract`: bit-exact (any NaN equals any NaN), value-safe (zeros of either sign are equal
// too), or within a few units in the last place for the weaker ones, which are a step for the
// results of quantize_linear; where an approximate rewrite brought in f16 or bf16, within what
// errors of that dtype do to the results. Inputs are made for
// the signature of `drawn_from`, which is one of the two graphs. If one of the graphs may write its
// inputs, their final values are compared in place of the write-backs.
SemanticsResult CompareGraphs(const Graph& before, const Graph& after, const Graph& drawn_from,
                              NumericContract contract, const SemanticsOptions& options = {});

// True if a run may write its inputs.
bool MayWrite(const Graph& graph);

// Compares the functions that both modules have. FailedPrecondition names the function and the
// difference.
absl::StatusOr<SemanticsResult> CompareSemantics(const Module& before, const Module& after,
                                                 NumericContract contract,
                                                 const SemanticsOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEMANTICS_H_
