// The text form, both ways. docs/text-form.md has the grammar.
//
//   func @main(%x: f32[s0, 128], %w: f32[128, 64] {param="fc.weight"})
//       -> (%y: f32[s0, 64]) where 1 <= s0 <= 4096, s0 % 8 == 0 {
//     %0 = matmul(%x, %w) : f32[s0, 64]
//     %1 = softmax(%0, dim=1) : f32[s0, 64]  loc("fc/softmax")
//     return %1
//   }
//
// Operands are in parentheses in the schema's order (`none` for an absent one), followed by the
// attributes that differ from their defaults, by name; nested graphs follow in braces. Small
// constants are written in place, large ones in a `constants` block at the end of the module, as
// base64. Printed text parses back to an equal module.
#ifndef WEFT_GRAPH_TEXT_TEXT_H_
#define WEFT_GRAPH_TEXT_TEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/text/parts/text_parts.h"

namespace weft {

class AttrList;
class Graph;
class Module;
class OpDef;
class OpRegistry;

struct PrintOptions {
  // Print loc(...) with the provenance of each node.
  bool locations = true;
  // Print the contents of large constants. Text without them is for display only: parsing it is an
  // error with that reason.
  bool constants = true;
  // Constants of at most this many elements are written in place.
  int64_t max_inline_elements = kMaxInlineElements;
};

std::string PrintModule(const Module& module, const PrintOptions& options = {});
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});

// Errors are InvalidArgument and begin with "<filename>:<line>:<column>: ".
// The result is verified. Nesting, ranks, counts and constant sizes are bounded.
absl::StatusOr<std::unique_ptr<Module>> ParseModule(absl::string_view text,
                                                    const OpRegistry& registry,
                                                    absl::string_view filename = "<text>");

// Printing of single nodes, sizes and types: graph/text/parts/text_parts.h.

// An operand of a sample: a type and, optionally, the values of the elements or the range that they
// are drawn from.
struct SampleOperand {
  Type type;                       // Type() for `none`.
  std::vector<double> values;      // f32[2]{1, 2}
  std::optional<double> min, max;  // f32[2]{0..1}
};

// A line of OpSpec::Samples: `softmax(f32[2, 3], dim=1)`, and for an invalid
// sample ` ! "text that the error contains"`.
struct Sample {
  const OpDef* op = nullptr;
  std::vector<SampleOperand> operands;
  const AttrList* attrs = nullptr;
  std::string expected_error;  // Empty for a valid sample.
  std::string text;
};

absl::StatusOr<std::vector<Sample>> ParseSamples(absl::string_view text,
                                                 const OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_GRAPH_TEXT_TEXT_H_
