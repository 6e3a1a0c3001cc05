// Generators of programs that are independent of the code under test, and the property of `cpu`
// that each tests:
//
//   schema       every op with every broadcast, rank, dtype and kind of operand, around the
//                routines of the target: cpu gives what the reference gives
//   cut          parts of real models, with constants made inputs and sizes made symbols: the same
//   misfit       sizes that may break what an op assumes of them: cpu refuses what the reference
//                refuses
//   metamorphic  a batch of two equals two batches of one, permuted channels, cut and joined
//                lengths: cpu against itself
#ifndef WEFT_TESTS_TRUST_TRUST_H_
#define WEFT_TESTS_TRUST_TRUST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/trust/check.h"

namespace weft::trust {

struct TrustOptions {
  ConfigurationLimits limits;
  // Models that `cut` takes parts of, beside those that are built in memory.
  std::string models;
  // Folder for programs that fail, as GENERATOR_SEED.weft; empty: none.
  std::string folder;
  // Called with each program and its configuration before it runs, for runs that may crash.
  bool print_before = false;
};

// The names above.
std::vector<std::string> GeneratorNames();

// Checks the program of that seed; OK also when the seed gives none. The message of an error has
// the seed, the configuration, what differs and the program.
absl::Status CheckSeed(absl::string_view generator, uint64_t seed, const TrustOptions& options,
                       Totals* totals);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_TRUST_H_
