// A symbolic expression compiled to straight-line code over numbered symbols, for sizes and
// conditions that are evaluated in every call. An expression with a select, one branch of which may
// be undefined, is not straight-line and uses Evaluate().
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
  // `number_of` gives the index among the values for each symbol of `s`.
  CompiledSym(SymInt s, absl::FunctionRef<int(SymInt)> number_of);

  // Equals Evaluate() (sym_expr.h): nullopt if a divisor is zero, sizes do not broadcast, or 64
  // bits do not hold a result.
  std::optional<int64_t> Run(absl::Span<const int64_t> values) const;
  // True if `s` evaluates to 1.
  bool Holds(absl::Span<const int64_t> values) const { return Run(values) == 1; }

 private:
  // Pops `num_args` values from the stack and pushes one.
  struct Step {
    SymInt::Kind kind;
    int num_args;
    int64_t number;  // A constant, a coefficient, or a symbol's index.
  };
  void Add(SymInt s, absl::FunctionRef<int(SymInt)> number_of);
  std::optional<int64_t> RunSteps(absl::Span<const int64_t> values) const;
  std::optional<int64_t> Interpret(absl::Span<const int64_t> values) const;

  std::vector<Step> steps_;  // Empty: Evaluate() is used.
  SymInt whole_;
  std::vector<std::pair<SymInt, int>> numbers_;  // The symbols of `whole_` with their indices.
};

// Sets what Evaluate() gives, but makes no expressions on the way. False for an expression that is
// not straight-line or is large, and if `find` has no value for one of its symbols.
bool EvaluateStraight(SymInt s, absl::FunctionRef<std::optional<int64_t>(SymInt)> find,
                      std::optional<int64_t>* result);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_COMPILED_SYM_H_
