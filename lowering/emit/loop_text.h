// Names of a nest's loops in emitted code, and expressions that are linear in them.
#ifndef WEFT_LOWERING_EMIT_LOOP_TEXT_H_
#define WEFT_LOWERING_EMIT_LOOP_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lowering/emit/size_table.h"
#include "lowering/kernel.h"

namespace weft::emit {

// The loops of a nest in emitted code; lists have one entry per loop, outer loops first.
struct LoopOrder {
  int num_outer = 0;
  int vector_loop = -1;            // The loop that runs along the lanes; -1: none.
  std::vector<std::string> names;  // Names of the loop variables.
  std::vector<int> levels;         // Levels at which the variables exist.
  int vector_level = 0;            // The level inside of the vector loop.
};

// offset + sum of strides * loop variables; `lane`, if not empty, is added to the variable of the
// vector loop.
std::string LinearText(SymInt offset, absl::Span<const SymInt> strides, const LoopOrder& order,
                       absl::string_view lane, SizeTable* sizes);

// A condition that is true if all guards of the access hold.
std::string GuardText(const Access& access, const LoopOrder& order, absl::string_view lane,
                      SizeTable* sizes);

}  // namespace weft::emit

#endif  // WEFT_LOWERING_EMIT_LOOP_TEXT_H_
