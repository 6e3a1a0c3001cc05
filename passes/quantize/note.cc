#include "passes/quantize/note.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

constexpr absl::string_view kGroup = "group=";

}  // namespace

std::string ToText(const QuantNote& note) {
  const std::string spec = ToText(note.spec);
  return note.group < 0 ? spec : absl::StrCat(spec, " ", kGroup, note.group);
}

absl::StatusOr<QuantNote> ParseQuantNote(absl::string_view text) {
  QuantNote note;
  const size_t at = text.rfind(kGroup);
  if (at != text.npos) {
    const absl::string_view number = absl::StripAsciiWhitespace(text.substr(at + kGroup.size()));
    if (!absl::SimpleAtoi(number, &note.group) || note.group < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("quantization note \"", text, "\", column ", at + 1, ": no group ", number));
    }
  }
  WEFT_ASSIGN_OR_RETURN(note.spec, ParseQuantSpec(text.substr(0, at)));
  return note;
}

Value* QuantPlace::quantized() const { return user == nullptr ? value : user->operand(operand); }

std::string DescribeNode(const Node& node) {
  std::string text;
  if (node.num_results() > 0) absl::StrAppend(&text, "%", node.result()->id(), " ");
  absl::StrAppend(&text, "(", node.op().name());
  const std::vector<std::string> names =
      node.graph()->module().provenance().Names(node.provenance());
  const auto quoted = [](std::string* out, const std::string& name) { *out += Quote(name); };
  if (!names.empty()) absl::StrAppend(&text, ", from ", absl::StrJoin(names, ", ", quoted));
  return text + ")";
}

std::string ToString(const QuantPlace& place) {
  if (place.user != nullptr) {
    return absl::StrCat("operand ", place.operand, " of ", DescribeNode(*place.user));
  }
  const Value& value = *place.value;
  if (value.is_input()) {
    return absl::StrCat("input %", NameToString(value.graph()->input_info(value.index()).name));
  }
  if (value.index() == 0) return DescribeNode(*value.node());
  return absl::StrCat("result ", value.index(), " of ", DescribeNode(*value.node()));
}

absl::StatusOr<std::optional<QuantNote>> FindQuantNote(const QuantPlace& place) {
  const absl::string_view text = place.user != nullptr
                                     ? FindNote(place.user, place.operand, kQuantNoteKey)
                                     : FindNote(place.value, kQuantNoteKey);
  if (text.empty()) return std::nullopt;
  absl::StatusOr<QuantNote> note = ParseQuantNote(text);
  if (note.ok()) return *std::move(note);
  return absl::InvalidArgumentError(
      absl::StrCat("note of ", ToString(place), ": ", note.status().message()));
}

void SetQuantNote(const QuantPlace& place, const QuantNote& note) {
  if (place.user != nullptr) {
    SetNote(place.user, place.operand, kQuantNoteKey, ToText(note));
  } else {
    SetNote(place.value, kQuantNoteKey, ToText(note));
  }
}

}  // namespace weft
