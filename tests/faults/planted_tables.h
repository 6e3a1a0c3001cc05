// The tables of planted rules, by theme, and their shared helpers.
#ifndef WEFT_TESTS_FAULTS_PLANTED_TABLES_H_
#define WEFT_TESTS_FAULTS_PLANTED_TABLES_H_

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "passes/engine/rewrite/rewriter.h"
#include "tests/faults/planted_rules.h"

namespace weft::faults {

inline constexpr NumericContract kBitExact = NumericContract::kBitExact;
inline constexpr NumericContract kValueSafe = NumericContract::kValueSafe;

// `number` in the shape of the root.
inline Value* Filled(const Match& m, Rewriter& r, double number) {
  const Type type = m.root->result()->type();
  return r.Op(ops::expand, {r.Scalar(type.dtype(), number)}, {{"size", type.dims()}});
}

inline constexpr Guard kSameType = {"x has the root's type", [](const Node& root, Match& m) {
                                      return m[pattern::x]->type() == root.result()->type();
                                    }};

absl::Span<const PlantedRule> ArithmeticFaults();
absl::Span<const PlantedRule> OrderFaults();
absl::Span<const PlantedRule> StructureFaults();

}  // namespace weft::faults

#endif  // WEFT_TESTS_FAULTS_PLANTED_TABLES_H_
