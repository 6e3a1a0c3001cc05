// Values of symbols while a plan or a graph runs: those that inputs give, which SizeProgram has
// checked, and those that results of steps give during the run. A value from a result must satisfy
// the facts of the symbol table: its range, its divisor, and each condition once all its symbols
// have values. InvalidArgument names the sources of the symbols and the nearest allowed values.
//
// The reference executor also uses Unify for inputs, so that tests compare SizeProgram with a
// second way to the same values.
#ifndef WEFT_BACKENDS_RUNTIME_SYMBOL_ENV_H_
#define WEFT_BACKENDS_RUNTIME_SYMBOL_ENV_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/type.h"

namespace weft {

class Graph;
class RunInput;
class SymbolSources;
class SymbolTable;

class SymbolEnv {
 public:
  // Returns the sources of symbols; called only for messages.
  using SourcesFn = std::function<SymbolSources()>;
  explicit SymbolEnv(const SymbolTable& facts, SourcesFn sources = nullptr)
      : facts_(&facts), sources_(std::move(sources)) {}

  // Sets values that were checked before. SizeProgram::kNoValue leaves a symbol without a value.
  void Define(absl::Span<const SymInt> symbols, absl::Span<const int64_t> values);

  std::optional<int64_t> Find(SymInt symbol) const;
  // Nullopt if a symbol in it has no value.
  std::optional<int64_t> Eval(SymInt s) const;
  // The symbol's value, for Substitute on types and attributes.
  std::optional<SymInt> Replacement(SymInt symbol) const;

  // Makes `s` equal `value`: binds the one unbound symbol of a linear expression, else compares.
  // Errors name the difference.
  absl::Status Unify(SymInt s, int64_t value);
  // Unifies all dims of a tensor type (or the value of a symint type). Dims
  // that are bare symbols are bound first, so that `f32[s0, 2*s0]` works in any
  // order. The error does not name the value; the caller adds that.
  absl::Status Unify(Type type, const RunInput& tensor);
  // The same for a tensor of the type's dtype with these dims.
  absl::Status Unify(Type type, absl::Span<const int64_t> dims);

  // True if all symbols in it have values.
  bool IsBound(SymInt s) const;
  // Fails if the condition does not hold for the values of its symbols.
  absl::Status Check(SymInt condition, absl::string_view origin) const;
  // The same for all conditions of the facts. Unify has checked each of them, but the reference
  // executor ignores its errors for unused tensors.
  absl::Status CheckConditions() const;
  // "s0 = 6 (input %x dim 1), s1 = 2 (input %y dim 0)"
  std::string Describe(SymInt s) const;

 private:
  absl::Status UnifyTensor(Type type, DType dtype, absl::Span<const int64_t> dims);
  absl::Status Bind(SymInt symbol, int64_t value);
  std::optional<SymbolSources> Sources() const;
  absl::Status CheckFacts(SymInt symbol, int64_t value) const;
  // Checks the conditions about the symbol whose symbols all have values by now.
  absl::Status CheckConditions(SymInt symbol) const;

  const SymbolTable* facts_;
  SourcesFn sources_;  // May be null.
  absl::flat_hash_map<SymInt, int64_t> values_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_SYMBOL_ENV_H_
