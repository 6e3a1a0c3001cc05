// The part of a plan's text that all plans nested in it share: facts about symbols, and constants.
// plan.h shows what it looks like.
#ifndef WEFT_LOWERING_PLAN_TEXT_FACTS_H_
#define WEFT_LOWERING_PLAN_TEXT_FACTS_H_

#include <memory>
#include <string>

#include "graph/sym/sym_facts.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/plan.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_text.h"

namespace weft {

// " where 1 <= s0 <= 4096"; empty where the facts are the defaults.
std::string WhereText(const Plan& plan);
// A line for each constant and for each condition among the facts. Reads the data of constants.
std::string SharedText(const Plan& plan);

// Reads both. Each function reads one thing where the reader stands; false after an error, which
// the reader holds.
class SharedParser {
 public:
  // Both outlive it.
  SharedParser(text::TextReader& reader, ConstantSource constants)
      : reader_(reader), source_(constants) {}

  // Reads the text of WhereText.
  bool ParseWhere();
  // Reads the text of SharedText.
  bool ParseLines();
  bool HasConstant(int number) const { return constants_->by_number.count(number) > 0; }
  // Hands what was read to the plan and to those nested in it.
  void Finish(Plan* plan);

 private:
  bool ParseConstant();
  bool ParseAssumption();

  text::TextReader& reader_;
  const ConstantSource source_;
  std::shared_ptr<PlanConstants> constants_ = std::make_shared<PlanConstants>();
  SymbolTable facts_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_FACTS_H_
