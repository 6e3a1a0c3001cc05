// How a Program (program.h) is compiled, and for which sizes.
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

// What becomes of a size that the model leaves open (a symbol).
enum class Dynamic {
  kAutomatic,  // Fixed to what it is, until a call brings another: then symbolic.
  kStatic,     // Fixed: each new size is another variant.
  kSymbolic,   // One variant takes all sizes.
};
// "automatic", "static", "symbolic"; nullopt for other names.
std::optional<Dynamic> ParseDynamic(absl::string_view name);
absl::string_view DynamicName(Dynamic dynamic);

// Says so for the symbols in one dim of an input, whatever the others do. PyTorch's
// mark_dynamic and mark_static.
struct MarkedDim {
  std::string input;
  int dim = 0;  // -1: the value of an integer input (a symint).
  Dynamic dynamic = Dynamic::kSymbolic;
  // Sizes outside of these are refused.
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};
MarkedDim MarkDynamic(absl::string_view input, int dim, std::optional<int64_t> min = {},
                      std::optional<int64_t> max = {});
MarkedDim MarkStatic(absl::string_view input, int dim);

struct ProgramOptions {
  ProgramOptions() { compile.passes.clear(); }

  // The target's default pipeline, unless `passes` names one; its target is the one below.
  CompileOptions compile;
  std::string target = "reference";
  // Where `target` is looked for; outlives the program. Null: BuiltinBackends().
  const BackendRegistry* backends = nullptr;
  BackendOptions backend;  // Of every variant.
  Dynamic dynamic = Dynamic::kAutomatic;
  std::vector<MarkedDim> marks;
  // Inputs whose elements are worked into the code, as sizes are: with kAutomatic
  // until another value comes, with kStatic always. Integers and bools, at most 64 of
  // them, that the program does not write.
  std::vector<std::string> specialized_values;
  // A size of 0 or 1 is fixed even where sizes are symbolic, and symbolic ones are 2
  // or more. Off: 0 and 1 are sizes like all others. Marked dims are left alone.
  bool specialize_zero_one = false;
  // Symbolic sizes that are equal when a variant is compiled are one symbol in it,
  // and have to be equal when it runs.
  bool duck_shape = false;
  // Variants that are kept at most (PyTorch's recompile_limit). Past it a call that
  // no variant takes runs the model as it was imported, or is an error
  // (ResourceExhausted).
  int cache_limit = 8;
  enum class AtLimit { kRunAsImported, kFail };
  AtLimit at_limit = AtLimit::kRunAsImported;
};

// The backend of `target`; InvalidArgument lists the targets for an unknown name.
absl::StatusOr<const Backend*> FindBackend(const ProgramOptions& options);

}  // namespace weft

#endif  // WEFT_API_PROGRAM_OPTIONS_H_
