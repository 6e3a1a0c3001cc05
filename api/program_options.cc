#include "api/program_options.h"

#include "api/backends.h"

namespace weft {

absl::string_view DynamicName(Dynamic dynamic) {
  switch (dynamic) {
    case Dynamic::kAutomatic:
      return "automatic";
    case Dynamic::kStatic:
      return "static";
    case Dynamic::kSymbolic:
      return "symbolic";
  }
  return "";
}

std::optional<Dynamic> ParseDynamic(absl::string_view name) {
  for (Dynamic dynamic : {Dynamic::kAutomatic, Dynamic::kStatic, Dynamic::kSymbolic}) {
    if (DynamicName(dynamic) == name) return dynamic;
  }
  return std::nullopt;
}

MarkedDim MarkDynamic(absl::string_view input, int dim, std::optional<int64_t> min,
                      std::optional<int64_t> max) {
  return {std::string(input), dim, Dynamic::kSymbolic, min, max};
}

MarkedDim MarkStatic(absl::string_view input, int dim) {
  return {std::string(input), dim, Dynamic::kStatic, std::nullopt, std::nullopt};
}

absl::StatusOr<const Backend*> FindBackend(const ProgramOptions& options) {
  const BackendRegistry& backends =
      options.backends == nullptr ? BuiltinBackends() : *options.backends;
  return backends.Find(options.target);
}

}  // namespace weft
