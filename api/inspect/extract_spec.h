// What to cut out of a program, as a command line writes it.
//
//   FROM:TO   the nodes between two lists of values; an empty FROM is all inputs, an empty TO all
//             outputs that FROM reaches
//   NODES     a list of nodes: names, names with `*` for any text, and ranges FIRST..LAST in the
//             order of the graph
//
// Names in a list have commas between them. A name with one of `,:*"` or with two dots stands in
// double quotes, in which a backslash takes the next character as it is.
#ifndef WEFT_API_INSPECT_EXTRACT_SPEC_H_
#define WEFT_API_INSPECT_EXTRACT_SPEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct ExtractSpec {
  // The name of a source node, of an input or an output, or "%3", the value that the text form
  // gives that number.
  struct Item {
    std::string name;
    std::string last;      // The end of a range; else empty.
    bool pattern = false;  // `name` has stars that stand for any text.
  };
  bool between = false;
  std::vector<Item> from, to;  // With `between`; no ranges and no patterns.
  std::vector<Item> nodes;
};

// Errors give the column.
absl::StatusOr<ExtractSpec> ParseExtractSpec(absl::string_view text);

// True if the text matches the pattern, in which `*` stands for any text. Time: the product of both
// lengths at most.
bool MatchesStars(absl::string_view pattern, absl::string_view text);

}  // namespace weft

#endif  // WEFT_API_INSPECT_EXTRACT_SPEC_H_
