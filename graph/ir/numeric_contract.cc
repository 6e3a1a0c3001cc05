#include "graph/ir/numeric_contract.h"

namespace weft {
namespace {

constexpr absl::string_view kNames[] = {"bit-exact", "value-safe", "reassociating", "approximate"};

}  // namespace

absl::string_view NumericContractName(NumericContract contract) {
  return kNames[static_cast<int>(contract)];
}

std::optional<NumericContract> ParseNumericContract(absl::string_view name) {
  for (int i = 0; i <= static_cast<int>(NumericContract::kApproximate); ++i) {
    if (kNames[i] == name) return static_cast<NumericContract>(i);
  }
  return std::nullopt;
}

}  // namespace weft
