// A group of nodes as one kernel.
//
// The values of a nest are made on demand, from its outputs and reductions back
// to what comes from outside: an op asks for its operands at the indices that
// it reads them at, so that views, slices, pads and gathers are index
// arithmetic and cost no memory. A value that two stages need is kept in a row
// where making it again costs more than reading it (an exponential, say), and
// made again where it does not.
#ifndef WEFT_LOWERING_KERNEL_BUILDER_H_
#define WEFT_LOWERING_KERNEL_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/target/target.h"
#include "lowering/kernel.h"
#include "lowering/loop_space.h"
#include "lowering/plan.h"

namespace weft {

class Value;

struct KernelRequest {
  KernelGroup group;
  std::vector<View> output_views;
  // Where a value from outside of the group lies.
  absl::FunctionRef<View(const Value*)> view_of;
  const Sizes* sizes = nullptr;
  const Target* target = nullptr;
};

struct BuiltKernel {
  Kernel kernel;
  std::vector<View> args;     // What it reads.
  std::vector<View> results;  // What it writes.
};

// Unimplemented, with the reason, when the group is no kernel.
absl::StatusOr<BuiltKernel> BuildKernel(const KernelRequest& request, std::string name);

// Puts the outer loops in the order of the first result's strides, the smallest last.
void OrderLoops(Nest* nest);
// Leaves out loops of extent 1 and joins those that are strided over as one.
void CollapseLoops(Nest* nest);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_BUILDER_H_
