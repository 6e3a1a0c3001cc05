// Remarks in the order and with the names that a reader of a module's text expects.
#ifndef WEFT_API_INSPECT_REMARK_NUMBERS_H_
#define WEFT_API_INSPECT_REMARK_NUMBERS_H_

#include <vector>

#include "passes/engine/remarks.h"

namespace weft {

class Module;

// Remarks name nodes by ids. Afterwards `node` and `related` are the numbers that the text form
// gives the first results of these nodes, as in %12. A node that is not in the module any more, or
// whose graph's name is that of several graphs, has none: `node` is then -1, and `related` lacks
// it.
void NumberByText(const Module& module, std::vector<Remark>* remarks);

// Sorts near misses, which keep their places as a group: first those that lacked the least. Other
// remarks keep their order.
void SortNearMisses(std::vector<Remark>* remarks);

}  // namespace weft

#endif  // WEFT_API_INSPECT_REMARK_NUMBERS_H_
