// torch.export archives (`.pt2`): bytes to a Module.
//
// Import gives a module with one function, `main`.
//
// Inputs, in this order: the buffers (and parameters) that the program writes,
// then the user's inputs, flattened as PyTorch flattens the arguments of the
// call, with the program's names. A written buffer has its first value as
// InputInfo::initial and its qualified name as `param`; a session keeps its
// state. An input that was fixed at export has its value as InputInfo::value;
// None and strings are no inputs.
//
// Outputs: the user's outputs, flattened, without those that are None; integers,
// bools and floats are scalars. After them the new values of written inputs
// (Graph::write_backs), where the program lists them.
//
// A program that draws random numbers has one more input, the last: the state of
// their generator, kRandomState, which it writes as it does a buffer. So each
// run goes on with other numbers, and runs from equal states give equal ones.
// (What PyTorch draws for a seed is not reproduced.)
//
// Parameters, other buffers and constants are constants with their qualified
// names, views of the memory-mapped file with the strides that it says.
//
// The two dialects: in decomposed programs (ATEN) nothing is written. In plain
// ones (TRAINING) `x.add_(y)` becomes add and the write primitive copy_, whose
// result stands for x from then on; views are ops whose schemas say so, and what
// PyTorch copies is a `clone` where a write could tell the difference.
//
// Symbols keep their names and ranges. Shapes and dtypes are inferred anew and
// compared with those in the file.
//
// Errors are InvalidArgument for malformed files (with the place), Unimplemented
// for operators and forms that the importer does not know (all operators in one
// message, with the names of the nodes), NotFound for missing entries,
// ResourceExhausted past the limits. Bytes are untrusted.
#ifndef WEFT_SERIALIZE_PT2_PT2_H_
#define WEFT_SERIALIZE_PT2_PT2_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class Module;
class OpRegistry;

// The `param` of that input, i64[2]: a seed, and a number that counts the runs.
inline constexpr char kRandomState[] = "weft.random_state";

struct Pt2ImportOptions {
  // The ops that the module may hold; null: the built-in ones.
  const OpRegistry* registry = nullptr;
  // The program of a package that holds several: the <name> of
  // models/<name>.json. Empty: "model", or the only one.
  std::string program;
  // Parameters and buffers become inputs with initial values, so that they can
  // be exchanged by name, instead of constants.
  bool parameters_as_inputs = false;
  // Of the random numbers of a program that draws some.
  int64_t random_seed = 0;
  int64_t max_entries = 1 << 20;
  // Of compressed entries, together.
  int64_t max_inflated_bytes = int64_t{1} << 32;
  int64_t max_json_bytes = int64_t{1} << 31;
  int max_json_depth = 128;
  int64_t max_nodes = int64_t{1} << 26;
  // Called after each tensor and each node of the program, once it is parsed, with how many of
  // them are there already.
  std::function<void(int64_t done, int64_t total)> progress;
};

absl::StatusOr<std::unique_ptr<Module>> ImportPt2(const std::string& path,
                                                  const Pt2ImportOptions& options = {});
// The bytes are copied.
absl::StatusOr<std::unique_ptr<Module>> ImportPt2Bytes(absl::string_view bytes,
                                                       const Pt2ImportOptions& options = {});

// What is done with an ATen operator.
struct AtenSupport {
  std::string target;  // "torch.ops.aten.add.Tensor".
  bool core = false;   // Tagged core by PyTorch.
  enum class Kind {
    kNative,      // A graph op does it, with conversions and views around it.
    kDecomposed,  // It becomes several ops.
    kMissing,
  } kind = Kind::kMissing;
  std::string how;  // The ops, or the reason why it is missing.
};

// Every operator of Core ATen and every other one that is known, by target.
std::vector<AtenSupport> AtenCoverage();

}  // namespace weft

#endif  // WEFT_SERIALIZE_PT2_PT2_H_
