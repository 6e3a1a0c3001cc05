// The text form of targets:
//
//   target cpu {
//     composites = [gelu, softmax]
//     max_kernel_nodes = 64
//     routine gemm {
//       ops = [matmul, linear]
//       dtypes = [f32, bf16]
//       strided = [0, 1, result]
//     }
//     epilogue {
//       ops = [add, mul]
//       routines = [gemm]
//       operand_sizes = [same, channels, scalar]
//     }
//   }
//
// Names of fields are those of target.h, with those of `costs` among the target's own. A field that
// has its default is left out. `//` begins a comment.
#ifndef WEFT_GRAPH_TARGET_TARGET_TEXT_H_
#define WEFT_GRAPH_TARGET_TARGET_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/target/target.h"

namespace weft {

// The text of the target; equal targets give equal text in every process.
std::string PrintTarget(const Target& target);

// Errors are InvalidArgument, as "FILE:LINE:COLUMN: ...". Op names are not looked up, because a
// target may name ops of a library that is not loaded.
absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view filename = "target");

// A hash of the printed form.
uint64_t HashTarget(const Target& target);

}  // namespace weft

#endif  // WEFT_GRAPH_TARGET_TARGET_TEXT_H_
