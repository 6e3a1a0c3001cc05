// Advanced indexing as in `index` and `index_put`.
#ifndef WEFT_SERIALIZE_PT2_ATEN_INDEXING_H_
#define WEFT_SERIALIZE_PT2_ATEN_INDEXING_H_

#include <vector>

#include "serialize/pt2/build.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::pt2 {

// x[indices] with the indexed dims first, as a tensor of index tuples.
struct Indexing {
  // Moves the indexed dims of self to the front.
  Ints perm;
  // [broadcast sizes of the indices..., number of indexed dims].
  Value* tuples = nullptr;
  SymInts broadcast;
  // Position of the indices' dims in the result, in dims of self.
  int place = 0;
  int indexed = 0;
};

// `indices` by dim, null for a dim that is not indexed; bool masks are replaced by the positions of
// their true elements.
Indexing MakeIndexing(AtenCall& c, Value* self, std::vector<Value*> indices);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_INDEXING_H_
