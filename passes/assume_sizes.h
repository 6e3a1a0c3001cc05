// Which sizes of the inputs vary: a program that was made for fixed sizes takes
// others, where its ops allow that.
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
  // By input and dim: "x.0=dynamic", "x.0=batch:1..64%8" (a name, a range, a
  // divisor), "y.0=2*batch", "x.1=static". One with `dynamic` or a name that the
  // program fixes is an error.
  std::vector<std::string> dims;
  // Example sizes, for `static` and as hints: "x=2x128". Default: hints, and
  // sizes that are numbers.
  std::vector<std::string> sizes;
  // All other sizes of inputs that are numbers vary as far as the program
  // allows; those of parameters and buffers do not.
  bool all = false;
  // With `all`: equal sizes are one symbol (PyTorch's duck shaping).
  bool duck = true;
  // With `all`: 0 and 1 stay numbers, and other sizes are 2 or more.
  bool specialize01 = true;
  // Sizes of reshape and expand follow those that vary.
  bool follow = true;
};

// What ops need of the new sizes becomes a condition of the module with the op
// as its origin; guards and run-time asserts are told apart by their symbols.
// With `all`, a size that the program fixes stays the number it was.
//
// Errors (InvalidArgument) name input, dim, the op, the condition, and what to
// leave out or constrain; the module is as it was.
absl::Status AssumeSizes(Module& module, const AssumeSizesOptions& options, PassContext& context);

// assume_sizes{all}, assume_sizes{dims="x.0=batch:1..64;y.0=batch"}. Counters:
// dynamic (dims that vary now), fixed (dims that could not), guards.
std::unique_ptr<Pass> CreateAssumeSizesPass(const AssumeSizesOptions& options);
std::unique_ptr<Pass> CreateAssumeSizesPass();

}  // namespace weft

#endif  // WEFT_PASSES_ASSUME_SIZES_H_
