// Notes of the quantizer about values and operands (graph/ir/annotations.h), under one key:
//
//   u8 affine tensor histogram group=3
//
// Places of one group share their parameters. Numbers are dense over a module, in the order of the
// graphs, their nodes and the operands before the results.
#ifndef WEFT_PASSES_QUANTIZE_NOTE_H_
#define WEFT_PASSES_QUANTIZE_NOTE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/quantize/spec.h"

namespace weft {

class Node;
class Value;

inline constexpr absl::string_view kQuantNoteKey = "quant";

struct QuantNote {
  QuantSpec spec;
  // -1: the place has parameters of its own.
  int64_t group = -1;
};

std::string ToText(const QuantNote& note);
absl::StatusOr<QuantNote> ParseQuantNote(absl::string_view text);

// A value, or an operand of a node: what parameters are for.
struct QuantPlace {
  Value* value = nullptr;
  // Null for a value.
  Node* user = nullptr;
  int operand = -1;

  // The value that is quantized.
  Value* quantized() const;
  bool operator==(const QuantPlace& other) const {
    return value == other.value && user == other.user && operand == other.operand;
  }
};

inline QuantPlace PlaceOf(Value* value) { return {value, nullptr, -1}; }
inline QuantPlace PlaceOf(Node* user, int operand) { return {nullptr, user, operand}; }

// "%4 (convolution, from "conv1")", "operand 1 of %7 (cat)", "input %x".
std::string ToString(const QuantPlace& place);
// "%4 (convolution, from "conv1")".
std::string DescribeNode(const Node& node);

// The note of a place; nothing without one. The error names the place.
absl::StatusOr<std::optional<QuantNote>> FindQuantNote(const QuantPlace& place);
void SetQuantNote(const QuantPlace& place, const QuantNote& note);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_NOTE_H_
