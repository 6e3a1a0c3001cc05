// Makes a module smaller while a predicate holds: delta debugging on graphs.
//
// The steps are repeated until none succeeds: dropping functions and outputs, cutting the graph
// after and before a position found by bisection, turning runs of nodes into inputs, replacing
// nodes by an operand or a constant, inlining nested graphs, merging inputs, replacing sizes and
// symbols by small numbers, and constants by plain ones. Deterministic; every candidate is verified
// before it is tested.
#ifndef WEFT_API_CHECK_REDUCE_H_
#define WEFT_API_CHECK_REDUCE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/module.h"

namespace weft {

// True if the module still shows the fault.
using ModulePredicate = std::function<bool(const Module&)>;

struct ReduceProgress {
  absl::string_view step;
  int64_t nodes = 0;
  int64_t tests = 0;
};

struct ReduceOptions {
  // Limit of calls of the predicate.
  int64_t max_tests = 5000;
  // Called after each candidate for which the predicate holds.
  std::function<void(const ReduceProgress&)> progress;
};

struct ReduceResult {
  std::unique_ptr<Module> module;
  int64_t nodes_before = 0;  // Of all functions, nested graphs included.
  int64_t nodes_after = 0;
  int64_t tests = 0;
  bool exhausted = false;  // max_tests was reached.
};

// InvalidArgument if the predicate does not hold for `module` itself.
absl::StatusOr<ReduceResult> Reduce(const Module& module, const ModulePredicate& holds,
                                    const ReduceOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_REDUCE_H_
