// The reductions of one stage as text. In the text, reduction number i of the stage has
// accumulators c<i>, sums of blocks s<i> and candidates' positions k<i>, an array with an element
// for each copy of the body; its result is r<first + i>.
#ifndef WEFT_BACKENDS_CPU_EMIT_REDUCTIONS_H_
#define WEFT_BACKENDS_CPU_EMIT_REDUCTIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu::cc {

// The part of a nest's schedule that concerns its reductions (kernel_schedule.h).
struct ReductionShape {
  bool columns = false;   // A lane is a point; false: the lanes of a row come together in the end.
  bool has_lanes = true;  // False: the nest has no loops, and all lanes hold its one point.
  int copies = 1;         // Copies of the body.
  int64_t block = 1;      // Elements in a block of a sum.
  SymInt block_values;    // Elements that are counted for blocks: sums of fewer have no blocks.
  std::string position;   // The row-major number of the inner point; for positions alone.
};

bool LooksForPosition(const Reduction& r);

class ReductionEmitter {
 public:
  // `first`: the number of the stage's first reduction in the nest.
  ReductionEmitter(const Stage& stage, int first, ReductionShape shape)
      : stage_(stage), first_(first), shape_(std::move(shape)) {}

  // Declarations of the results.
  std::string Results() const;
  // Declarations of the accumulators, with the values that they start from.
  std::string Accumulators() const;
  // Statements that take one vector of the body's values into the accumulators of copy `c`.
  std::string Accumulate() const;
  // Statements that add the accumulators to the sums of blocks; empty where nothing has blocks.
  std::string AddBlocks() const;
  // Statements that make the results of the accumulators.
  std::string Finish() const;

 private:
  // The dtype that the accumulators have.
  DType AccumulatorType(const Reduction& r) const {
    return LooksForPosition(r) ? stage_.body[r.value].dtype : r.dtype;
  }
  bool HasBlocks(const Reduction& r) const;

  const Stage& stage_;
  const int first_;
  const ReductionShape shape_;
};

}  // namespace weft::cpu::cc

#endif  // WEFT_BACKENDS_CPU_EMIT_REDUCTIONS_H_
