// Options of a Program (program.h): how it is compiled, and for which sizes.
#ifndef WEFT_API_PROGRAM_OPTIONS_H_
#define WEFT_API_PROGRAM_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/compiler.h"
#include "backends/backend.h"

namespace weft {

// Handling of a size that the model leaves open (a symbol).
enum class Dynamic {
  kAutomatic,  // Fixed to its value until a call has another; then symbolic.
  kStatic,     // Fixed: each new size makes a new variant.
  kSymbolic,   // One variant accepts all sizes.
};
// "automatic", "static", "symbolic"; nullopt for other names.
std::optional<Dynamic> ParseDynamic(absl::string_view name);
absl::string_view DynamicName(Dynamic dynamic);

// Sets the handling of the symbols in one dim of an input, like PyTorch's mark_dynamic and
// mark_static.
struct MarkedDim {
  std::string input;
  int dim = 0;  // -1: the value of an integer input (a symint).
  Dynamic dynamic = Dynamic::kSymbolic;
  // Range of the size; other sizes are refused.
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};
MarkedDim MarkDynamic(absl::string_view input, int dim, std::optional<int64_t> min = {},
                      std::optional<int64_t> max = {});
MarkedDim MarkStatic(absl::string_view input, int dim);

struct ProgramOptions {
  ProgramOptions() { compile.passes.clear(); }

  // Options of the pipeline: `passes` overrides the target's default pipeline. The target is set
  // below.
  CompileOptions compile;
  std::string target = "reference";
  // The registry with `target`; outlives the program. Null: BuiltinBackends().
  const BackendRegistry* backends = nullptr;
  BackendOptions backend;  // For every variant.
  Dynamic dynamic = Dynamic::kAutomatic;
  std::vector<MarkedDim> marks;
  // Inputs that are specialised on: the compiled code depends on their values, with kAutomatic
  // until a call has another value, with kStatic always. They must be integers or bools, with at
  // most 64 elements, and not be written by the program.
  std::vector<std::string> specialized_values;
  // Fix sizes 0 and 1 even if sizes are symbolic; symbolic sizes are then 2 or more. Off: 0 and 1
  // are sizes like all others. Does not apply to marked dims.
  bool specialize_zero_one = false;
  // Use one symbol for symbolic sizes that are equal when a variant is compiled; the variant then
  // requires that they are equal.
  bool duck_shape = false;
  // Most variants that are kept (PyTorch's recompile_limit). After that, a call that no variant
  // accepts runs the model as it was imported, or fails with ResourceExhausted.
  int cache_limit = 8;
  enum class AtLimit { kRunAsImported, kFail };
  AtLimit at_limit = AtLimit::kRunAsImported;
};

// The backend of `target`; InvalidArgument for an unknown name lists the targets.
absl::StatusOr<const Backend*> FindBackend(const ProgramOptions& options);

}  // namespace weft

#endif  // WEFT_API_PROGRAM_OPTIONS_H_
