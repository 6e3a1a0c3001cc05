// Sizes for texts about a plan: values of the symbols that its inputs could give.
#ifndef WEFT_LOWERING_EXAMPLE_SIZES_H_
#define WEFT_LOWERING_EXAMPLE_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/sym/sym_int.h"
#include "lowering/plan.h"

namespace weft {

// The hints of symbols, else 2, or what their facts allow that is next to it. Symbols whose values
// depend on data have none.
class ExampleSizes {
 public:
  explicit ExampleSizes(const Plan& plan);

  // Nullopt if a symbol of it has no value.
  std::optional<int64_t> ValueOf(SymInt s) const;
  // " for s0=2, s1=8"; empty without symbols.
  const std::string& text() const { return text_; }
  const absl::flat_hash_map<SymInt, int64_t>& values() const { return values_; }

 private:
  absl::flat_hash_map<SymInt, int64_t> values_;
  std::string text_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_EXAMPLE_SIZES_H_
