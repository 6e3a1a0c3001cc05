// The check of --verify=semantics: compares the regions that a pass changed, one by one, on the
// reference executor.
//
// The inputs of a region are drawn freely, which demands more of a rewrite than the graph does. A
// region that differs is therefore compared again with more of the graph before it, and counts as a
// fault only if it still differs with all of it, that is, for inputs of the graph. The graph after
// the region is never considered: a rewrite must keep the value that it replaces. A region that
// cannot be cut out or run alone is compared within its whole function.
//
// Each checker compares regions with equal text once.
#ifndef WEFT_API_CHECK_SEMANTICS_CHECKER_H_
#define WEFT_API_CHECK_SEMANTICS_CHECKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "api/check/changed_regions.h"
#include "api/check/semantics.h"

namespace weft {

class Graph;
class Module;

struct SemanticsStats {
  int64_t regions = 0;     // Regions cut out.
  int64_t widened = 0;     // Regions cut again with more of the graph.
  int64_t remembered = 0;  // Regions of both kinds that equal one compared before.
  int64_t whole = 0;       // Comparisons of whole functions.
  int64_t unknown = 0;     // Comparisons without a possible run.
  int64_t runs = 0;        // Pairs of runs, before and after.
  // "12 changed regions, 52 runs before and after agree, 8 remembered"
  std::string ToString() const;
};

// Ids of the nodes of all functions, in order; see NodeIdsOf(Graph).
using ModuleNodeIds = std::vector<std::vector<uint32_t>>;
ModuleNodeIds NodeIdsOf(const Module& module);

class SemanticsChecker {
 public:
  explicit SemanticsChecker(SemanticsOptions options = {}) : options_(options) {}

  // `before` is a clone of a module with nodes of these ids, taken before the module was edited to
  // `after`. FailedPrecondition shows the region that differs.
  absl::Status Check(const Module& before, const Module& after, NumericContract contract,
                     const ModuleNodeIds& ids);

  const SemanticsStats& stats() const { return stats_; }
  // The smallest differing region of the last failed Check.
  const ChangedRegions::Cut& failed() const { return failed_; }

 private:
  using Verdict = SemanticsResult::Verdict;
  struct Function {
    const Graph& before;
    const Graph& after;
    NumericContract contract;
    bool compared = false;  // The whole function was compared.
    SemanticsResult whole;
  };

  absl::Status CheckFunction(Function& function, absl::Span<const uint32_t> ids);
  absl::Status CheckWhole(Function& function);
  absl::Status CheckRegion(Function& function, const ChangedRegions& regions, int region);
  const SemanticsResult& CompareWhole(Function& function);
  SemanticsResult CompareCut(const ChangedRegions::Cut& cut, NumericContract contract,
                             const SemanticsOptions& options);

  SemanticsOptions options_;
  SemanticsStats stats_;
  ChangedRegions::Cut failed_;
  absl::flat_hash_map<std::string, SemanticsResult> remembered_;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_SEMANTICS_CHECKER_H_
