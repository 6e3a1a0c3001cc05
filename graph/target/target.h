// A plain value that says what a device and its kernel libraries can do.
//
// A backend gives its target; passes, lowering and schedules read it and ask no backend. Targets
// print, parse (target_text.h), compare and hash, so they travel in replay files and cache keys,
// and an edited file is a device that does not exist but can be compiled for.
#ifndef WEFT_GRAPH_TARGET_TARGET_H_
#define WEFT_GRAPH_TARGET_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/numeric_contract.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class Node;
class OpDef;

// A function of a kernel library, or a kernel written by hand, that computes an op. A node runs as
// a call of the first routine that accepts it.
struct Routine {
  // Names the result in `strided`.
  static constexpr int kResult = -1;

  std::string name;
  std::vector<std::string> ops;
  // Element types of operand 0 and of result 0; empty: all types.
  std::vector<DType> dtypes;
  std::vector<DType> result_dtypes;
  // Ranks of operand 0.
  int min_rank = 0;
  int max_rank = 64;
  // Attributes whose numbers must be non-negative constants; and attributes whose numbers must all
  // be 1.
  std::vector<std::string> constant_attrs;
  std::vector<std::string> unit_attrs;
  // Operands that must be left out, and results that nothing may use.
  std::vector<int> absent_operands;
  std::vector<int> unused_results;
  // Operands (or kResult) that may have any strides; all others are dense and row-major.
  std::vector<int> strided;
  // Dim of result 0 that holds its channels, or columns; negative counts from the end. An operand
  // of an epilogue that broadcasts as OperandSizes::kChannels is a vector along this dim.
  int channel_dim = -1;
  // The operand whose elements are indices that the routine checks, which is all that a call may
  // fail on besides memory; -1: none.
  int indices = -1;
  // Operand 0 may have the memory of the result, with the same strides: the routine changes
  // elements of it and leaves the others alone. It checks indices before it writes.
  bool in_place = false;
  // The routine is faster on activations whose channels (dim 1) are innermost in memory.
  bool prefers_channels_last = false;
  // Accuracy relative to the op's evaluation by the reference executor.
  NumericContract contract = NumericContract::kReassociating;
};

// How the second operand of an epilogue's op broadcasts to the routine's result.
enum class OperandSizes : uint8_t {
  kSame,      // Equal to the result's sizes.
  kChannels,  // A vector along Routine::channel_dim.
  kScalar,    // One element.
  kOther,     // Any other broadcast.
};

// Ops that routines can apply to their result before they store it. The op's result has the same
// type as the routine's.
struct EpilogueClaim {
  std::vector<std::string> ops;
  std::vector<std::string> routines;  // Names of the routines.
  // Element types of the result; empty: all types.
  std::vector<DType> dtypes;
  // For binary ops: the sizes that the other operand may have; empty for unary ops.
  std::vector<OperandSizes> operand_sizes;
  // The routine's result may be either operand of the op; else it is the first.
  bool either_operand = false;
  // Attributes that must be left out.
  std::vector<std::string> absent_attrs;
};

// Costs of the loops of kernels, for choices among schedules. Computation is counted in additions
// of a vector, memory in hundredths of a load or a store of a whole vector.
struct KernelCosts {
  int64_t division_work = 3;   // A division or a root.
  int64_t function_work = 10;  // A function of the math library, or a division of integers.
  // A value is kept in a row when making it again is this much work.
  int64_t row_work = 8;
  int64_t step_cost = 50;          // A step of a loop beside its accesses.
  int64_t load_one_cost = 10;      // A load of one element for all lanes.
  int64_t load_apart_cost = 75;    // For each lane, a load whose lanes lie apart in memory.
  int64_t store_apart_cost = 100;  // For each lane, such a store.
  // Steps that each run of a loop takes beside those of its elements, and that a last vector with
  // empty lanes takes beside itself, as its elements are moved one by one.
  int64_t run_steps = 3;
  int64_t tail_steps = 4;
  // Streams of loads that the processor foresees by itself, and bytes of each that are prefetched
  // where there are more.
  int64_t streams = 2;
  int64_t stream_bytes = 2048;
};

struct Target {
  std::string name;
  // Composite ops that the target runs itself, as a routine or as a kernel: `decompose` keeps them.
  std::vector<std::string> composites;
  std::vector<Routine> routines;
  std::vector<EpilogueClaim> epilogues;
  // Element types that kernels read, write and compute with; empty: all types of the kernel IR
  // (lowering/kernel.h).
  std::vector<DType> kernel_dtypes;
  // Limits of a kernel: fused nodes, tensors read, and elements of a row of values that is kept
  // rather than computed again.
  int64_t max_kernel_nodes = 64;
  int64_t max_kernel_inputs = 48;
  int64_t max_row_elements = int64_t{1} << 16;
  // Bytes of a vector register and of L1. Kernel schedules depend on them
  // (lowering/schedule_kernel.h).
  int64_t vector_bytes = 16;
  int64_t l1_bytes = 32 << 10;
  KernelCosts costs;

  friend bool operator==(const Target& a, const Target& b);
  friend bool operator!=(const Target& a, const Target& b) { return !(a == b); }
};

// The first routine that accepts the node, or null.
const Routine* FindRoutine(const Target& target, const Node& node);

// True if the routine accepts this operand (kResult: its result) with any strides.
bool TakesStrides(const Routine& routine, int operand);

// True if the routine can apply `op` as it stores its result, which is operand `operand` of `op`.
bool TakesEpilogue(const Target& target, const Routine& routine, const Node& op, int operand);

// The same for an op that has no node: `op`, with these attributes and a result of this type.
// `other` is the type of the other operand; Type() for unary ops.
bool TakesEpilogue(const Target& target, const Routine& routine, const OpDef& op,
                   const AttrList* attrs, int operand, Type result, Type other);

// How an operand broadcasts to a result of at least its rank, whose channels are dim `channel`.
OperandSizes OperandSizesOf(absl::Span<const SymInt> operand, absl::Span<const SymInt> result,
                            int channel);

}  // namespace weft

#endif  // WEFT_GRAPH_TARGET_TARGET_H_
