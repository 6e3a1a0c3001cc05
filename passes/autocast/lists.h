// Which ops autocast computes in the low dtype, as text:
//
//   # Comments run to the end of the line.
//   lists mine "products and norms"
//   low convolution, linear, matmul
//   f32 softmax, exp
//   widest cat, batch_norm(0)
//
// Grammar; statements may stand on one line:
//
//   lists  "lists" NAME [STRING]
//          first
//   low    "low" op {"," op}
//          f32 operands are rounded to the low dtype, and the results have it
//   f32    "f32" op {"," op}
//          operands and results stay f32
//   widest "widest" op {"," op}
//          low where all operands are: values of the low dtype, of which there is one at least,
//          constants, and parameters; else f32
//   op     OP ["(" INTEGER {"," INTEGER} ")"]
//          the operands that the list speaks of; without the parentheses all that are f32 tensors
//
// An op on no list is as in `widest`. Operands that are not f32 tensors stay as they are in each of
// them.
#ifndef WEFT_PASSES_AUTOCAST_LISTS_H_
#define WEFT_PASSES_AUTOCAST_LISTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

class OpDef;
class OpRegistry;

enum class CastRole { kLow, kF32, kWidest };

struct AutocastLists {
  struct Row {
    const OpDef* op = nullptr;
    CastRole role = CastRole::kWidest;
    // Empty: all.
    std::vector<int> operands;
  };

  // The row of an op; null where it is on no list.
  const Row* Find(const OpDef& op) const;

  std::string name;
  std::string doc;
  // In the order of the text.
  std::vector<Row> rows;
  absl::flat_hash_map<const OpDef*, int> row_of;
};

// The text form; reads back to equal lists.
std::string ToText(const AutocastLists& lists);

// Errors are InvalidArgument with file, line and column: an unknown op comes with a close name, and
// an op stands on one list.
absl::StatusOr<AutocastLists> ParseAutocastLists(absl::string_view text, absl::string_view file,
                                                 const OpRegistry& registry);

// The names of the built-in lists: cpu, cuda.
absl::Span<const absl::string_view> BuiltinAutocastLists();
// The text of one of them; empty for another name.
absl::string_view BuiltinAutocastListsText(absl::string_view name);

// Built-in lists by name, or the text of lists, which begins with the word `lists` or a comment.
absl::StatusOr<AutocastLists> LoadAutocastLists(absl::string_view name_or_text);

}  // namespace weft

#endif  // WEFT_PASSES_AUTOCAST_LISTS_H_
