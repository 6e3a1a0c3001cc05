// Places the statements of a stage among its loops.
#ifndef WEFT_LOWERING_EMIT_PLACEMENT_H_
#define WEFT_LOWERING_EMIT_PLACEMENT_H_

#include <vector>

#include "absl/types/span.h"
#include "lowering/emit/loop_text.h"
#include "lowering/kernel.h"

namespace weft::emit {

// The level of the innermost loop that a value depends on, and whether it differs between lanes.
struct Placement {
  int level = 0;
  bool vector = false;

  friend bool operator==(Placement a, Placement b) {
    return a.level == b.level && a.vector == b.vector;
  }
};

// Placements of the stage's instructions. `reduced`: those of the reductions of earlier stages;
// `innermost`: the level of the stage's innermost loop.
std::vector<Placement> PlaceBody(const Stage& stage, const LoopOrder& order,
                                 absl::Span<const Placement> reduced, int innermost);

}  // namespace weft::emit

#endif  // WEFT_LOWERING_EMIT_PLACEMENT_H_
