// The part of a plan's text that nested plans share: facts about symbols, and constants. plan.h
// shows an example.
#ifndef WEFT_LOWERING_PLAN_TEXT_FACTS_H_
#define WEFT_LOWERING_PLAN_TEXT_FACTS_H_

#include <memory>
#include <string>

#include "graph/sym/sym_facts.h"
#include "graph/text/parts/text_facts.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/plan.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_text.h"

namespace weft {

// " where 1 <= s0 <= 4096"; empty if all facts are defaults.
std::string WhereText(const Plan& plan);
// A line per constant and per condition among the facts. Reads the data of constants.
std::string SharedText(const Plan& plan);

// Reads both. Each function reads one item at the reader's position; false after an error, which
// the reader has.
class SharedParser {
 public:
  // Both outlive this object.
  SharedParser(text::TextReader& reader, ConstantSource constants)
      : reader_(reader), source_(constants) {}

  // Reads the text of WhereText.
  bool ParseWhere();
  // Reads the text of SharedText.
  bool ParseLines();
  bool HasConstant(int number) const { return constants_->by_number.count(number) > 0; }
  // Passes the facts and constants to the plan and its nested plans.
  void Finish(Plan* plan);

 private:
  bool ParseConstant();
  bool ParseAssumption();

  text::TextReader& reader_;
  const ConstantSource source_;
  std::shared_ptr<PlanConstants> constants_ = std::make_shared<PlanConstants>();
  SymbolTable facts_;
  text::StatedFacts stated_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_FACTS_H_
