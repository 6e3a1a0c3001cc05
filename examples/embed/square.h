// The op and the pass that this program adds to Weft.
#ifndef EMBED_SQUARE_H_
#define EMBED_SQUARE_H_

#include <memory>

#include "weft/graph/ir/op_def.h"
#include "weft/passes/engine/pass.h"

namespace embed {

extern const weft::OpDef square;

// x * x becomes square(x).
std::unique_ptr<weft::Pass> CreateFindSquaresPass();

}  // namespace embed

#endif  // EMBED_SQUARE_H_
