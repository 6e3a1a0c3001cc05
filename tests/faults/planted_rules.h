// Rules that are wrong on purpose, each with a graph on which it fires.
#ifndef WEFT_TESTS_FAULTS_PLANTED_RULES_H_
#define WEFT_TESTS_FAULTS_PLANTED_RULES_H_

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "passes/engine/pass.h"
#include "passes/engine/rewrite/rule.h"

namespace weft::faults {

struct PlantedRule {
  const char* fault;  // What is wrong with it, in a word or two.
  Rule rule;
  const char* graph;  // A function in text form; its outputs tell.
};

absl::Span<const PlantedRule> PlantedRules();

// planted{rule=NAME}: the rules of canonicalize, and before them the planted rule
// of that name.
std::unique_ptr<Pass> CreatePlantedPass();

}  // namespace weft::faults

#endif  // WEFT_TESTS_FAULTS_PLANTED_RULES_H_
