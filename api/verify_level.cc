#include "api/verify_level.h"

namespace weft {

std::optional<VerifyLevel> ParseVerifyLevel(absl::string_view name) {
  for (VerifyLevel level : {VerifyLevel::kNone, VerifyLevel::kStructure, VerifyLevel::kSemantics,
                            VerifyLevel::kRewrites}) {
    if (VerifyLevelName(level) == name) return level;
  }
  return std::nullopt;
}

absl::string_view VerifyLevelName(VerifyLevel level) {
  switch (level) {
    case VerifyLevel::kNone:
      return "none";
    case VerifyLevel::kStructure:
      return "structure";
    case VerifyLevel::kSemantics:
      return "semantics";
    case VerifyLevel::kRewrites:
      return "semantics=rewrite";
  }
  return "";
}

}  // namespace weft
