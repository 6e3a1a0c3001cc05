// How far the numbers of a program may change if one computation replaces another, in a rewrite, a
// decomposition or a routine.
#ifndef WEFT_GRAPH_IR_NUMERIC_CONTRACT_H_
#define WEFT_GRAPH_IR_NUMERIC_CONTRACT_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace weft {

// Ordered from the strictest to the loosest.
enum class NumericContract {
  kBitExact,       // Every bit, NaN payloads included.
  kValueSafe,      // Equal values; signs of zeros and NaN bits may differ.
  kReassociating,  // Equal in real arithmetic; rounding differs.
  kApproximate,    // Close: cheaper functions, dropped clamps.
};

// "bit-exact", "value-safe", "reassociating", "approximate".
absl::string_view NumericContractName(NumericContract contract);
std::optional<NumericContract> ParseNumericContract(absl::string_view name);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_NUMERIC_CONTRACT_H_
