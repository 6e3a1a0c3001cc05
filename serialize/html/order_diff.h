// How one order of items becomes another one: by taking out those that are gone or
// out of place, and putting items behind others.
#ifndef WEFT_SERIALIZE_HTML_ORDER_DIFF_H_
#define WEFT_SERIALIZE_HTML_ORDER_DIFF_H_

#include <vector>

namespace weft {

struct OrderEdit {
  int item;
  int after;  // -1: first.
};

// The items of `after` that are new or moved, in the order of `after`; all others
// of `before` that are still there stand in the right order. As few as possible, in
// O(n log n).
std::vector<OrderEdit> DiffOrder(const std::vector<int>& before, const std::vector<int>& after);

// `rest`: what is left of the order before, without the items that are gone and
// without those of the edits.
std::vector<int> ApplyOrderEdits(const std::vector<int>& rest, const std::vector<OrderEdit>& edits);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_ORDER_DIFF_H_
