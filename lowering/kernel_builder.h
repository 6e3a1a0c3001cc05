// Makes one kernel of a group of nodes.
//
// The values of a nest are made on demand, from its outputs and reductions back to values from
// outside: an op requests its operands at the indices at which it reads them, so that views,
// slices, pads and gathers are index arithmetic and take no memory. A value that two stages use is
// kept in a row if computing it again costs more than reading it (such as an exponential), and
// computed again otherwise.
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
  // The view of a value from outside of the group.
  absl::FunctionRef<View(const Value*)> view_of;
  const Sizes* sizes = nullptr;
  const Target* target = nullptr;
  // The loops stay those of the first output's dims, each of them, in their order.
  bool keeps_loops = false;
};

struct BuiltKernel {
  Kernel kernel;
  std::vector<View> args;     // Views that it reads.
  std::vector<View> results;  // Views that it writes.
};

// Unimplemented, with the reason, if the group cannot be a kernel.
absl::StatusOr<BuiltKernel> BuildKernel(const KernelRequest& request, std::string name);

// Orders the outer loops by the first result's strides, the smallest last.
void OrderLoops(Nest* nest);
// Drops loops of extent 1 and joins loops that every access walks with one stride.
void CollapseLoops(Nest* nest);

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_BUILDER_H_
