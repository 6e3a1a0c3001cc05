// Levels of checking after each pass.
#ifndef WEFT_API_VERIFY_LEVEL_H_
#define WEFT_API_VERIFY_LEVEL_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace weft {

enum class VerifyLevel {
  kNone,
  kStructure,  // The verifier, after each pass that changed something.
  kSemantics,  // Also runs what it changed, before and after, on seeded inputs.
  kRewrites,   // The same after each rewrite: a pass runs once more for each of
               // its rewrites.
};

// "none", "structure", "semantics", "semantics=rewrite".
std::optional<VerifyLevel> ParseVerifyLevel(absl::string_view name);
absl::string_view VerifyLevelName(VerifyLevel level);

}  // namespace weft

#endif  // WEFT_API_VERIFY_LEVEL_H_
