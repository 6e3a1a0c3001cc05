#include "lowering/plan_text_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/sym/sym_expr.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_text_reader.h"

namespace weft {
namespace {

std::string IdText(uint64_t id) { return absl::StrCat("0x", absl::Hex(id, absl::kZeroPad16)); }

}  // namespace

std::string WhereText(const Plan& plan) {
  const SymbolTable& facts = FactsOf(plan);
  std::vector<SymInt> symbols;
  for (const SymbolInfo& info : facts.symbols()) symbols.push_back(info.symbol);
  std::sort(symbols.begin(), symbols.end(), [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  const std::string text = text::FactsToString(facts, symbols);
  return text.empty() ? "" : absl::StrCat(" where ", text);
}

std::string SharedText(const Plan& plan) {
  std::string text;
  if (plan.constants != nullptr) {
    for (const auto& [number, constant] : plan.constants->by_number) {
      absl::StrAppend(&text, "  constant ", number, " ",
                      constant.name.empty() ? "" : absl::StrCat(Quote(constant.name), " "), ": ",
                      constant.tensor.type().ToString(), " id ",
                      IdText(constant.tensor.Fingerprint()), "\n");
    }
  }
  for (const SymCondition& c : FactsOf(plan).conditions()) {
    absl::StrAppend(&text, "  assume (", c.condition.ToString(), ")",
                    c.origin.empty() ? "" : absl::StrCat(" from ", Quote(c.origin)), "\n");
  }
  return text;
}

bool SharedParser::ParseWhere() {
  return !reader_.AcceptWord("where") || stated_.Parse(&reader_, &facts_);
}

bool SharedParser::ParseLines() {
  while (reader_.AtWord("constant")) {
    if (!ParseConstant()) return false;
  }
  while (reader_.AtWord("assume")) {
    if (!ParseAssumption()) return false;
  }
  return stated_.CheckAll(&reader_);
}

bool SharedParser::ParseConstant() {
  reader_.Advance();
  const size_t position = reader_.position();
  int number = 0;
  PlanConstant constant;
  if (!ParseIndex(reader_, &number)) return false;
  if (HasConstant(number)) return reader_.Fail(position, "the constant is there already");
  if (reader_.At(text::kString) && !reader_.ParseString(&constant.name)) return false;
  Type type;
  if (!reader_.Expect(':') || !reader_.ParseType(&type)) return false;
  if (!type.is_tensor() || !type.is_static()) {
    return reader_.Fail(position, "a constant is a tensor of a static shape");
  }
  if (!reader_.ExpectWord("id")) return false;
  const auto id =
      reader_.At(text::kHex) ? text::HexToUint64(reader_.token().text) : std::optional<uint64_t>();
  if (!id) return reader_.Expected("a content id of up to 16 hexadecimal digits");
  reader_.Advance();
  constant.tensor = source_(*id, type);
  if (!constant.tensor.valid()) {
    return reader_.Fail(position, absl::StrCat("there is no constant of content ", IdText(*id)));
  }
  if (constant.tensor.type() != type) {
    return reader_.Fail(position, absl::StrCat("the constant of content ", IdText(*id), " is a ",
                                               constant.tensor.type().ToString()));
  }
  constants_->by_number[number] = std::move(constant);
  return true;
}

// Restored without proof: the text contains everything that the table had, in order, including
// conditions that follow from earlier ones.
bool SharedParser::ParseAssumption() {
  reader_.Advance();
  const size_t position = reader_.position();
  SymInt condition;
  std::string origin;
  if (!reader_.ParseSymInt(&condition)) return false;
  if (!IsTruth(condition)) {
    return reader_.Fail(position,
                        absl::StrCat(condition.ToString(), " is a size, not a condition"));
  }
  if (!stated_.Add(&reader_, condition, position)) return false;
  if (reader_.AcceptWord("from") && !reader_.ParseString(&origin)) return false;
  facts_.Restore(condition, origin);
  return true;
}

void SharedParser::Finish(Plan* plan) {
  SetFacts(facts_, plan);
  SetConstants(constants_, plan);
}

}  // namespace weft
