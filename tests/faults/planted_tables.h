// The tables of planted rules, by theme.
#ifndef WEFT_TESTS_FAULTS_PLANTED_TABLES_H_
#define WEFT_TESTS_FAULTS_PLANTED_TABLES_H_

#include "tests/faults/planted_rules.h"

namespace weft::faults {

absl::Span<const PlantedRule> ArithmeticFaults();
absl::Span<const PlantedRule> OrderFaults();
absl::Span<const PlantedRule> StructureFaults();

}  // namespace weft::faults

#endif  // WEFT_TESTS_FAULTS_PLANTED_TABLES_H_
