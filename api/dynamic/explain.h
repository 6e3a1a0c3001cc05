// Why a program (program.h) has the variants that it has: as data, and as text in the
// manner of TORCH_LOGS=recompiles.
#ifndef WEFT_API_DYNAMIC_EXPLAIN_H_
#define WEFT_API_DYNAMIC_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/program_options.h"

namespace weft {

// A size that differed between a call and the one that a variant was made for.
struct ChangedSize {
  std::string input;
  int dim = -1;  // -1: the value of the input, an integer.
  int64_t before = 0;
  int64_t now = 0;
};

// Why a variant did not take a call.
struct MissedVariant {
  int variant = 0;
  std::string guard;                 // The first one that did not hold: "s27 == 7".
  std::string origin;                // Of the guard.
  std::vector<ChangedSize> changed;  // The sizes that it speaks of.
  std::string text;                  // "variant 0 needs s27 == 7: dim 1 of "ids" was 7, is 9".
};

// What a program asks of all calls, or a variant of those that it takes.
struct ExplainedGuard {
  std::string text;    // "s27 == 7".
  std::string origin;  // Why; may be empty for constraints.
};

// What became of one symbol in a variant.
struct ExplainedSize {
  std::string symbol;
  std::string source;  // What gives it its value: `dim 1 of "ids"`.
  bool fixed = false;
  std::string text;  // "7", or "symbolic", or the size that it is equal to.
  std::string why;
};

struct ExplainedVariant {
  int id = 0;
  int64_t calls = 0;
  std::string made_for;               // "ids: i64[3, 7]".
  std::vector<MissedVariant> misses;  // Earlier variants; none: it is the first.
  std::vector<ExplainedSize> sizes;
  std::vector<ExplainedGuard> guards;
  int64_t nodes = 0;
};

struct ProgramExplanation {
  Dynamic dynamic = Dynamic::kAutomatic;
  int cache_limit = 0;
  int64_t calls = 0;
  int64_t compiles = 0;     // Pipelines that were run.
  int64_t hits = 0;         // Calls that a variant took that was there.
  int64_t as_imported = 0;  // Calls past the limit.
  int64_t refused = 0;      // Calls that break a constraint.
  std::vector<ExplainedGuard> constraints;
  std::vector<ExplainedVariant> variants;  // In the order of their making.
  std::vector<MissedVariant> last_miss;    // Of the last call past the limit.

  std::string ToString() const;
};

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_EXPLAIN_H_
