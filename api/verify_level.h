// How much a compilation checks after each pass.
#ifndef WEFT_API_VERIFY_LEVEL_H_
#define WEFT_API_VERIFY_LEVEL_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace weft {

enum class VerifyLevel {
  kNone,
  kStructure,  // The verifier, after each pass that changed something.
  kSemantics,  // And what it changed, before and after, on seeded inputs.
  kRewrites,   // The same after each single rewrite: a pass runs once more
               // for every rewrite that it does.
};

// "none", "structure", "semantics", "semantics=rewrite".
std::optional<VerifyLevel> ParseVerifyLevel(absl::string_view name);
absl::string_view VerifyLevelName(VerifyLevel level);

}  // namespace weft

#endif  // WEFT_API_VERIFY_LEVEL_H_
