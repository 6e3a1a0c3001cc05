// Emits the reductions of one stage. In the text, reduction number i of the stage has accumulators
// c<i>, block sums s<i> and positions of candidates k<i>, arrays with one element per copy of the
// body; its result is r<first + i>.
#ifndef WEFT_BACKENDS_CPU_EMIT_REDUCTIONS_H_
#define WEFT_BACKENDS_CPU_EMIT_REDUCTIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu::cc {

// The parts of a nest's schedule that concern its reductions (kernel_schedule.h).
struct ReductionShape {
  // Each lane is a point; false: the lanes of a row are combined at the end.
  bool columns = false;
  bool has_lanes = true;  // False: the nest has no loops; all lanes hold its one point.
  int copies = 1;         // Copies of the body.
  int64_t block = 1;      // Elements per block of a sum.
  SymInt block_values;    // Elements that decide about blocks: shorter sums have none.
  std::string position;   // Row-major number of the inner point; for kArgMax and kArgMin.
};

bool LooksForPosition(const Reduction& r);

class ReductionEmitter {
 public:
  // `first`: the number of the stage's first reduction in the nest.
  ReductionEmitter(const Stage& stage, int first, ReductionShape shape)
      : stage_(stage), first_(first), shape_(std::move(shape)) {}

  // Declarations of the results.
  std::string Results() const;
  // Declarations of the accumulators with their start values.
  std::string Accumulators() const;
  // Statements that accumulate one vector of the body's values in copy `c`.
  std::string Accumulate() const;
  // Statements that add the accumulators to the block sums; empty if no reduction has blocks.
  std::string AddBlocks() const;
  // Statements that combine the accumulators into the results.
  std::string Finish() const;

 private:
  // The dtype of the accumulators.
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
