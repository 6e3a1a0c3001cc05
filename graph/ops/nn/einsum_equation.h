// The equation of einsum: "bij,bjk->bik", "...ij->...ji", "ii".
#ifndef WEFT_GRAPH_OPS_NN_EINSUM_EQUATION_H_
#define WEFT_GRAPH_OPS_NN_EINSUM_EQUATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft::ops {

// Labels of the dims of each operand and of the result. A letter is its own label; the dims of an
// ellipsis are labelled from kEllipsis on, counted from the last one.
struct Equation {
  static constexpr int kEllipsis = 256;

  std::vector<std::vector<int>> operands;
  std::vector<int> result;

  // Parses an equation for operands of these ranks. Without "->" the result has the dims of the
  // ellipsis, followed by the labels that occur once, in alphabetical order.
  static absl::StatusOr<Equation> Parse(absl::string_view text, absl::Span<const int> ranks);
};

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_EINSUM_EQUATION_H_
