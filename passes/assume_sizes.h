// Makes sizes of the inputs variable: a program that was made for fixed sizes then accepts others,
// as far as its ops allow.
#ifndef WEFT_PASSES_ASSUME_SIZES_H_
#define WEFT_PASSES_ASSUME_SIZES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "passes/engine/pass.h"

namespace weft {

class Module;

struct AssumeSizesOptions {
  // Sizes by input and dim: "x.0=dynamic", "x.0=batch:1..64%8" (a name, a range, a divisor),
  // "y.0=2*batch", "x.1=static". It is an error if the program fixes a size with `dynamic` or a
  // name.
  std::vector<std::string> dims;
  // Example sizes, for `static` and as hints: "x=2x128". Default: hints, and the sizes that are
  // numbers.
  std::vector<std::string> sizes;
  // Make all other numeric sizes of inputs variable, as far as the program allows; not those of
  // parameters and buffers.
  bool all = false;
  // With `all`: use one symbol for equal sizes (PyTorch's duck shaping).
  bool duck = true;
  // With `all`: keep sizes 0 and 1; other sizes are 2 or more.
  bool specialize01 = true;
  // Let sizes of reshape and expand follow the variable ones.
  bool follow = true;
};

// Each assumption of an op on the new sizes becomes a condition of the module, with the op as its
// origin; its symbols decide whether it is a guard or a runtime assert. With `all`, a size that the
// program fixes keeps its number.
//
// Errors (InvalidArgument) name input, dim, op and condition, and suggest what to leave out or
// constrain; the module is then unchanged.
absl::Status AssumeSizes(Module& module, const AssumeSizesOptions& options, PassContext& context);

// assume_sizes{all}, assume_sizes{dims="x.0=batch:1..64;y.0=batch"}. Counters: dynamic (dims made
// variable), fixed (dims that the program fixes), guards.
std::unique_ptr<Pass> CreateAssumeSizesPass(const AssumeSizesOptions& options);
std::unique_ptr<Pass> CreateAssumeSizesPass();

}  // namespace weft

#endif  // WEFT_PASSES_ASSUME_SIZES_H_
