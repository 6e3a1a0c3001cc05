// Makes a module smaller for as long as a predicate holds: delta debugging on
// graphs.
//
// In turns, until none helps: functions and outputs are dropped, the graph is cut
// after and before a position found by halving, runs of nodes become inputs,
// nodes become one of their operands or a constant, nested graphs are inlined,
// inputs are merged, sizes and symbols become small numbers, constants become
// plain. Deterministic; every candidate is verified before it is tested.
#ifndef WEFT_API_CHECK_REDUCE_H_
#define WEFT_API_CHECK_REDUCE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/module.h"

namespace weft {

// True: the module still shows what is looked for.
using ModulePredicate = std::function<bool(const Module&)>;

struct ReduceProgress {
  absl::string_view step;
  int64_t nodes = 0;
  int64_t tests = 0;
};

struct ReduceOptions {
  // Calls of the predicate, at most.
  int64_t max_tests = 5000;
  // Called after each candidate that holds.
  std::function<void(const ReduceProgress&)> progress;
};

struct ReduceResult {
  std::unique_ptr<Module> module;
  int64_t nodes_before = 0;  // Of all functions, nested graphs included.
  int64_t nodes_after = 0;
  int64_t tests = 0;
  bool exhausted = false;  // max_tests was reached.
};

// InvalidArgument when the predicate does not hold for `module` itself.
absl::StatusOr<ReduceResult> Reduce(const Module& module, const ModulePredicate& holds,
                                    const ReduceOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_REDUCE_H_
