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
// a call of the first routine that takes it.
struct Routine {
  // Stands for the result in `strided`.
  static constexpr int kResult = -1;

  std::string name;
  std::vector<std::string> ops;
  // Element types of operand 0 and of result 0; empty: all types.
  std::vector<DType> dtypes;
  std::vector<DType> result_dtypes;
  // Ranks of operand 0.
  int min_rank = 0;
  int max_rank = 64;
  // Attributes whose numbers must be constants that are not negative; and those whose numbers must
  // all be 1.
  std::vector<std::string> constant_attrs;
  std::vector<std::string> unit_attrs;
  // Operands that must be left out, and results that nothing may use.
  std::vector<int> absent_operands;
  std::vector<int> unused_results;
  // Operands (or kResult) that may have any strides; all others are dense and row-major.
  std::vector<int> strided;
  // Dim of result 0 that holds its channels, or columns; negative: counted from the end. Operands
  // of epilogues that broadcast as OperandSizes::kChannels lie along it.
  int channel_dim = -1;
  // Faster on activations whose channels (dim 1) lie innermost, in memory of any strides.
  bool prefers_channels_last = false;
  // Against the op's evaluation by the reference executor.
  NumericContract contract = NumericContract::kReassociating;
};

// How the second operand of an epilogue's op is laid over the routine's result.
enum class OperandSizes : uint8_t {
  kSame,      // It has the result's sizes.
  kChannels,  // A vector along Routine::channel_dim.
  kScalar,    // One element.
  kOther,     // Any other broadcast.
};

// Ops that routines apply to their result before they store it. The op's result has the type of
// the routine's.
struct EpilogueClaim {
  std::vector<std::string> ops;
  std::vector<std::string> routines;  // By name.
  // Element types of the result; empty: all types.
  std::vector<DType> dtypes;
  // Ops of two operands: sizes that the other operand may have; empty for ops of one operand.
  std::vector<OperandSizes> operand_sizes;
  // The routine's result may be either operand of the op; else it is the first.
  bool either_operand = false;
  // Attributes that must be left out.
  std::vector<std::string> absent_attrs;
};

// What the loops of kernels cost, for choices among schedules. Computation is counted in additions
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
};

struct Target {
  std::string name;
  // Composite ops that the target runs itself, as a routine or as a kernel: `decompose` keeps them.
  std::vector<std::string> composites;
  std::vector<Routine> routines;
  std::vector<EpilogueClaim> epilogues;
  // Element types that kernels read, write and compute with; empty: all that the kernel IR has
  // (lowering/kernel.h).
  std::vector<DType> kernel_dtypes;
  // Bounds of a kernel: nodes that are fused, tensors that it reads, and elements of a row of
  // values that is kept rather than computed again.
  int64_t max_kernel_nodes = 64;
  int64_t max_kernel_inputs = 48;
  int64_t max_row_elements = int64_t{1} << 16;
  // Bytes of a vector register, and of L1. Schedules of kernels depend on them
  // (lowering/schedule_kernel.h).
  int64_t vector_bytes = 16;
  int64_t l1_bytes = 32 << 10;
  KernelCosts costs;

  friend bool operator==(const Target& a, const Target& b);
  friend bool operator!=(const Target& a, const Target& b) { return !(a == b); }
};

// The routine that takes the node, or null.
const Routine* FindRoutine(const Target& target, const Node& node);

// The routine takes this operand (kResult: its result) with any strides.
bool TakesStrides(const Routine& routine, int operand);

// The routine applies `op` as it stores its result, which is operand `operand` of `op`.
bool TakesEpilogue(const Target& target, const Routine& routine, const Node& op, int operand);

// The same of an op that is not a node: `op`, with these attributes, of a result of this type.
// `other` is the type of the other operand; a Type() for ops of one operand.
bool TakesEpilogue(const Target& target, const Routine& routine, const OpDef& op,
                   const AttrList* attrs, int operand, Type result, Type other);

// How an operand is laid over a result of at least its rank, whose channels are dim `channel`.
OperandSizes OperandSizesOf(absl::Span<const SymInt> operand, absl::Span<const SymInt> result,
                            int channel);

}  // namespace weft

#endif  // WEFT_GRAPH_TARGET_TARGET_H_
