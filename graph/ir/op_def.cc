#include "graph/ir/op_def.h"

#include <utility>

#include "base/check.h"
#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_map.h"
#include "graph/ir/op_schema.h"

namespace weft {

const OpSchema& OpDef::ParseSchema() const {
  auto schema = OpSchema::Parse(spec_.schema_);
  WEFT_CHECK(schema.ok()) << name_ << ": " << schema.status().ToString();
  auto* parsed = new OpSchema(*std::move(schema));
  const OpSchema* expected = nullptr;
  if (!schema_.compare_exchange_strong(expected, parsed)) {
    delete parsed;  // Another thread was first.
    return *expected;
  }
  return *parsed;
}

// An op without Eval means what its decomposition computes, and one that only moves
// elements has no right decomposition but one that moves the same elements.
std::optional<NumericContract> OpDef::known_decompose_contract() const {
  WEFT_CHECK(is_composite()) << name_;
  if (spec_.eval_ == nullptr || has(kDataMovement)) return NumericContract::kBitExact;
  return spec_.decompose_contract_;
}

NumericContract OpDef::decompose_contract() const {
  return known_decompose_contract().value_or(NumericContract::kReassociating);
}

MapFn OpDef::map() const {
  if (spec_.map_ != nullptr) return spec_.map_;
  const bool generic = has(kPointwise) && spec_.map_absent_.reason == nullptr;
  return generic ? MapPointwise : nullptr;
}

const char* OpDef::map_absent() const {
  if (spec_.map_absent_.reason != nullptr) return spec_.map_absent_.reason;
  if (has(kTerminator) || has(kSideEffect)) return "it has effects besides its results";
  if (has(kControlFlow)) return "its nested graphs decide";
  if (is_composite()) return "it is a composite: the ops of its decomposition have maps";
  if (has(kDataDependent)) return "the sizes of its results depend on data";
  return nullptr;
}

bool OpDef::SchemaWrites() const { return schema().writes; }

}  // namespace weft
