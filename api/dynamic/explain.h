// Explains the variants of a program (program.h), as data and as text like that of
// TORCH_LOGS=recompiles.
#ifndef WEFT_API_DYNAMIC_EXPLAIN_H_
#define WEFT_API_DYNAMIC_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/program_options.h"

namespace weft {

// A size that differs between a call and the call that a variant was made for.
struct ChangedSize {
  std::string input;
  int dim = -1;  // -1: the value of the input, an integer.
  int64_t before = 0;
  int64_t now = 0;
};

// The reason that a variant did not accept a call.
struct MissedVariant {
  int variant = 0;
  std::string guard;                 // The first guard that failed: "s27 == 7".
  std::string origin;                // Origin of the guard.
  std::vector<ChangedSize> changed;  // The sizes that the guard mentions.
  std::string text;                  // "variant 0 needs s27 == 7: dim 1 of "ids" was 7, is 9".
};

// A constraint on all calls of a program, or a guard of a variant.
struct ExplainedGuard {
  std::string text;    // "s27 == 7".
  std::string origin;  // The reason; may be empty for constraints.
};

// The value of one symbol in a variant.
struct ExplainedSize {
  std::string symbol;
  std::string source;  // Source of its value: `dim 1 of "ids"`.
  bool fixed = false;
  std::string text;  // "7", "symbolic", or an equal size.
  std::string why;
};

struct ExplainedVariant {
  int id = 0;
  int64_t calls = 0;
  std::string made_for;               // "ids: i64[3, 7]".
  std::vector<MissedVariant> misses;  // By earlier variants; empty for the first one.
  std::vector<ExplainedSize> sizes;
  std::vector<ExplainedGuard> guards;
  int64_t nodes = 0;
};

struct ProgramExplanation {
  Dynamic dynamic = Dynamic::kAutomatic;
  int cache_limit = 0;
  int64_t calls = 0;
  int64_t compiles = 0;     // Runs of the pipeline.
  int64_t hits = 0;         // Calls accepted by an existing variant.
  int64_t as_imported = 0;  // Calls past the limit.
  int64_t refused = 0;      // Calls that broke a constraint.
  std::vector<ExplainedGuard> constraints;
  std::vector<ExplainedVariant> variants;  // In the order of compilation.
  std::vector<MissedVariant> last_miss;    // For the last call past the limit.

  std::string ToString() const;
};

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_EXPLAIN_H_
