#include "passes/autocast/lists.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/scanner.h"

namespace weft {
namespace {

constexpr absl::string_view kRoleNames[] = {"low", "f32", "widest"};

absl::string_view NameOf(CastRole role) { return kRoleNames[static_cast<int>(role)]; }

class ListsParser : private RuleScanner {
 public:
  ListsParser(absl::string_view text, absl::string_view file, const OpRegistry& registry)
      : RuleScanner(text, file), registry_(registry) {}

  absl::StatusOr<AutocastLists> Run() {
    WEFT_RETURN_IF_ERROR(Expect("lists"));
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("the lists' name"));
    lists_.name = std::string(name);
    if (Peek("\"")) {
      WEFT_ASSIGN_OR_RETURN(lists_.doc, String());
    }
    while (!AtEnd()) WEFT_RETURN_IF_ERROR(ParseStatement());
    return std::move(lists_);
  }

 private:
  absl::Status ErrorAt(size_t mark, absl::string_view message) {
    Rewind(mark);
    return Error(message);
  }

  absl::Status ParseStatement() {
    if (Take(";")) return absl::OkStatus();
    for (const CastRole role : {CastRole::kLow, CastRole::kF32, CastRole::kWidest}) {
      if (Take(NameOf(role))) return ParseRows(role);
    }
    return Error("expected low, f32 or widest");
  }

  absl::Status ParseRows(CastRole role) {
    do {
      WEFT_RETURN_IF_ERROR(ParseRow(role));
    } while (Take(","));
    return absl::OkStatus();
  }

  absl::Status ParseRow(CastRole role) {
    const size_t begin = Mark();
    WEFT_ASSIGN_OR_RETURN(const absl::string_view name, Name("an op"));
    AutocastLists::Row row;
    row.role = role;
    row.op = registry_.Find(name);
    if (row.op == nullptr) {
      std::vector<std::string> names;
      for (const OpDef* op : registry_.All()) names.emplace_back(op->name());
      return ErrorAt(begin, absl::StrCat("no op ", name, DidYouMean(name, names)));
    }
    if (!lists_.row_of.emplace(row.op, static_cast<int>(lists_.rows.size())).second) {
      return ErrorAt(begin, absl::StrCat(name, " stands on a list above"));
    }
    if (Take("(")) {
      do {
        const size_t at = Mark();
        WEFT_ASSIGN_OR_RETURN(const int64_t operand, Integer());
        if (operand < 0 || operand >= static_cast<int64_t>(row.op->schema().operands.size())) {
          return ErrorAt(at, absl::StrCat(name, " has no operand ", operand));
        }
        row.operands.push_back(static_cast<int>(operand));
      } while (Take(","));
      WEFT_RETURN_IF_ERROR(Expect(")"));
    }
    lists_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  const OpRegistry& registry_;
  AutocastLists lists_;
};

}  // namespace

const AutocastLists::Row* AutocastLists::Find(const OpDef& op) const {
  const auto it = row_of.find(&op);
  return it == row_of.end() ? nullptr : &rows[it->second];
}

std::string ToText(const AutocastLists& lists) {
  std::string text = absl::StrCat("lists ", lists.name);
  if (!lists.doc.empty()) absl::StrAppend(&text, " \"", lists.doc, "\"");
  for (size_t i = 0; i < lists.rows.size(); ++i) {
    const AutocastLists::Row& row = lists.rows[i];
    const bool goes_on = i > 0 && lists.rows[i - 1].role == row.role;
    absl::StrAppend(&text, goes_on ? ", " : absl::StrCat("\n", NameOf(row.role), " "),
                    row.op->name());
    if (!row.operands.empty()) {
      absl::StrAppend(&text, "(", absl::StrJoin(row.operands, ", "), ")");
    }
  }
  return text + "\n";
}

absl::StatusOr<AutocastLists> ParseAutocastLists(absl::string_view text, absl::string_view file,
                                                 const OpRegistry& registry) {
  return ListsParser(text, file, registry).Run();
}

absl::StatusOr<AutocastLists> LoadAutocastLists(absl::string_view name_or_text) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(name_or_text);
  constexpr absl::string_view kFirst = "lists";
  const bool has_first = absl::StartsWith(text, kFirst) && text.size() > kFirst.size() &&
                         absl::ascii_isspace(text[kFirst.size()]);
  if (has_first || absl::StartsWith(text, "#")) {
    return ParseAutocastLists(name_or_text, "lists", ops::Registry());
  }
  const absl::string_view builtin = BuiltinAutocastListsText(text);
  if (!builtin.empty()) return ParseAutocastLists(builtin, text, ops::Registry());
  const absl::Span<const absl::string_view> names = BuiltinAutocastLists();
  const std::vector<std::string> known(names.begin(), names.end());
  return absl::InvalidArgumentError(
      absl::StrCat("no lists are called \"", text, "\"", DidYouMean(text, known), " There are ",
                   absl::StrJoin(known, ", "), "; the text of lists begins with `lists`"));
}

}  // namespace weft
