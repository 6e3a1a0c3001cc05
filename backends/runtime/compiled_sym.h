// A symbolic expression as straight-line code over numbered symbols, for sizes and conditions that
// many calls evaluate. An expression that is not straight-line (a choice between two others, of
// which one may have no value) goes through Evaluate().
#ifndef WEFT_BACKENDS_RUNTIME_COMPILED_SYM_H_
#define WEFT_BACKENDS_RUNTIME_COMPILED_SYM_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"

namespace weft {

class CompiledSym {
 public:
  // `number_of` gives each symbol of `s` its place among the values.
  CompiledSym(SymInt s, absl::FunctionRef<int(SymInt)> number_of);

  // The same as Evaluate() (sym_expr.h): nothing when a divisor is zero, sizes do not broadcast, or
  // 64 bits do not hold a result.
  std::optional<int64_t> Run(absl::Span<const int64_t> values) const;
  // A condition that holds.
  bool Holds(absl::Span<const int64_t> values) const { return Run(values) == 1; }

 private:
  // Takes `num_args` values from the stack and puts one there.
  struct Step {
    SymInt::Kind kind;
    int num_args;
    int64_t number;  // A constant, a coefficient, or a symbol's place.
  };
  void Add(SymInt s, absl::FunctionRef<int(SymInt)> number_of);
  std::optional<int64_t> RunSteps(absl::Span<const int64_t> values) const;
  std::optional<int64_t> Interpret(absl::Span<const int64_t> values) const;

  std::vector<Step> steps_;  // Empty for an expression that is interpreted.
  SymInt whole_;
  std::vector<std::pair<SymInt, int>> numbers_;  // The symbols in `whole_` with their places.
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_COMPILED_SYM_H_
