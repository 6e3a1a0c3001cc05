// Values of symbols while a plan or a graph runs: those that inputs give, which SizeProgram has
// checked, and those that results of steps give on the way. A symbol that gets its value from a
// result has to meet the facts of the symbol table: its range, its divisor, and each condition as
// soon as all symbols in it have values. A value that breaks one is an InvalidArgument that says
// where the symbols come from, and the nearest values that are allowed.
//
// The reference executor unifies inputs, too, so that tests compare SizeProgram with another way to
// the same values.
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
class HostTensor;
class SymbolSources;
class SymbolTable;

class SymbolEnv {
 public:
  // Says where symbols come from, for messages: called when there is one.
  using SourcesFn = std::function<SymbolSources()>;
  explicit SymbolEnv(const SymbolTable& facts, SourcesFn sources = nullptr)
      : facts_(&facts), sources_(std::move(sources)) {}

  // Takes values over as they are, checked before. A symbol whose value is SizeProgram::kNoValue
  // gets none.
  void Define(absl::Span<const SymInt> symbols, absl::Span<const int64_t> values);

  std::optional<int64_t> Find(SymInt symbol) const;
  // nullopt when a symbol in it has no value.
  std::optional<int64_t> Eval(SymInt s) const;
  // For Substitute of types and attributes.
  std::optional<SymInt> Replacement(SymInt symbol) const;

  // Makes `s` equal `value`: binds a lone unbound symbol in a linear
  // expression, else compares. Errors say what differs.
  absl::Status Unify(SymInt s, int64_t value);
  // Unifies all dims of a tensor type (or the value of a symint type). Dims
  // that are bare symbols are bound first, so that `f32[s0, 2*s0]` works in any
  // order. The error does not name the value; the caller adds that.
  absl::Status Unify(Type type, const HostTensor& tensor);

  // All symbols in it have values.
  bool IsBound(SymInt s) const;
  // An error when the symbols of the condition have values for which it does not hold.
  absl::Status Check(SymInt condition, absl::string_view origin) const;
  // The same for all conditions among the facts. Unify has looked at each of them, but the
  // reference executor passes over its errors where nothing reads the tensor.
  absl::Status CheckConditions() const;
  // "s0 = 6 (input %x dim 1), s1 = 2 (input %y dim 0)"
  std::string Describe(SymInt s) const;

 private:
  absl::Status Bind(SymInt symbol, int64_t value);
  std::optional<SymbolSources> Sources() const;
  absl::Status CheckFacts(SymInt symbol, int64_t value) const;
  // The conditions about the symbol whose symbols all have values by now hold.
  absl::Status CheckConditions(SymInt symbol) const;

  const SymbolTable* facts_;
  SourcesFn sources_;  // May be null.
  absl::flat_hash_map<SymInt, int64_t> values_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_SYMBOL_ENV_H_
