// Changes one order of items into another: removes items that are gone or out of place, and inserts
// items after others.
#ifndef WEFT_SERIALIZE_HTML_ORDER_DIFF_H_
#define WEFT_SERIALIZE_HTML_ORDER_DIFF_H_

#include <vector>

namespace weft {

struct OrderEdit {
  int item;
  int after;  // -1: first.
};

// The items of `after` that are new or moved, in the order of `after`; all other items are in the
// right relative order. The number of edits is minimal; O(n log n).
std::vector<OrderEdit> DiffOrder(const std::vector<int>& before, const std::vector<int>& after);

// `rest` is the order before, without removed items and without the items of the edits.
std::vector<int> ApplyOrderEdits(const std::vector<int>& rest, const std::vector<OrderEdit>& edits);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_ORDER_DIFF_H_
