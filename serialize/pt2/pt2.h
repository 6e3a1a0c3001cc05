// Imports torch.export archives (`.pt2`): bytes to a Module.
//
// The module has one function, `main`.
//
// Inputs, in this order: the buffers (and parameters) that the program writes, then the user's
// inputs, flattened as PyTorch flattens the arguments of the call, with the program's names. A
// written buffer has its first value as InputInfo::initial and its qualified name as `param`; a
// session keeps its state. An input that was fixed at export has its value as InputInfo::value;
// None and strings are not inputs.
//
// Outputs: the user's outputs, flattened, without None; integers, bools and floats are scalars.
// They are followed by the new values of written inputs (Graph::write_backs), if the program lists
// them.
//
// A program that draws random numbers has one more input, the last: the state of the generator,
// kRandomState, which it writes like a buffer. Each run therefore draws other numbers, and runs
// from equal states draw equal ones. (PyTorch's numbers for a seed are not reproduced.)
//
// Parameters, other buffers and constants are constants with their qualified names, which are views
// of the memory-mapped file with its strides.
//
// Dialects: decomposed programs (ATEN) have no writes. In training programs (TRAINING), `x.add_(y)`
// becomes add and the write op copy_, whose result is the value of x from then on; views are ops
// whose schemas declare the alias, and a copy in PyTorch is a `clone` if a write could distinguish
// the two.
//
// Symbols keep their names and ranges. Shapes and dtypes are inferred again and compared with those
// in the file.
//
// Errors are InvalidArgument for malformed files (with the place), Unimplemented for unsupported
// operators and forms (all operators in one message, with the names of the nodes), NotFound for
// missing entries, ResourceExhausted past the limits. Bytes are untrusted.
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
  // The ops that the module may use; null: the built-in ones.
  const OpRegistry* registry = nullptr;
  // The program to import if a package has several: the <name> of models/<name>.json. Empty:
  // "model", or the only one.
  std::string program;
  // Make parameters and buffers inputs with initial values instead of constants, so that they can
  // be exchanged by name.
  bool parameters_as_inputs = false;
  // Seed of a program that draws random numbers.
  int64_t random_seed = 0;
  int64_t max_entries = 1 << 20;
  // Limit of all compressed entries together.
  int64_t max_inflated_bytes = int64_t{1} << 32;
  int64_t max_json_bytes = int64_t{1} << 31;
  int max_json_depth = 128;
  int64_t max_nodes = int64_t{1} << 26;
  // Called after each tensor, and after each node of the parsed program, with the number done so
  // far.
  std::function<void(int64_t done, int64_t total)> progress;
};

absl::StatusOr<std::unique_ptr<Module>> ImportPt2(const std::string& path,
                                                  const Pt2ImportOptions& options = {});
// Copies the bytes.
absl::StatusOr<std::unique_ptr<Module>> ImportPt2Bytes(absl::string_view bytes,
                                                       const Pt2ImportOptions& options = {});

// The implementation of an ATen operator.
struct AtenSupport {
  std::string target;  // "torch.ops.aten.add.Tensor".
  bool core = false;   // Tagged core by PyTorch.
  enum class Kind {
    kNative,      // One graph op, with conversions and views around it.
    kDecomposed,  // Several ops.
    kMissing,
  } kind = Kind::kMissing;
  std::string how;  // The ops, or the reason that it is missing.
};

// Every Core ATen operator and every other known one, by target.
std::vector<AtenSupport> AtenCoverage();

}  // namespace weft

#endif  // WEFT_SERIALIZE_PT2_PT2_H_
