// Records a target's runs of nested graphs for one node, and judges the node by them.
//
// The steps of each run are judged separately, on the operands that the target gave them. Here the
// node's use of the runs is judged: which graph it runs and how often, the inputs of each run, and
// the use of its outputs. All of that only moves data, so the node is evaluated with the target's
// recorded runs in place of the reference's, and the results must be equal in every bit. Therefore
// rounding errors that grow from one iteration to the next do not weaken the check.
#ifndef WEFT_API_CHECK_TARGET_REGION_RUNS_H_
#define WEFT_API_CHECK_TARGET_REGION_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/check/target/node_judge.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Node;

class RegionRuns {
 public:
  // Records the beginning of a run of nested graph `region`; Begin() and End() alternate.
  void Begin(int region, absl::Span<const HostTensor> inputs);
  // Records the end of the run, and copies the outputs.
  void End(absl::Span<const HostTensor> outputs);

  bool empty() const { return runs_.empty(); }
  // False if the outputs took too much memory to keep: Judge() must not be called then.
  bool complete() const { return complete_; }

  // `got` has one tensor per result of `node`; invalid ones are not judged. An error means that the
  // reference refuses these operands.
  absl::StatusOr<NodeJudgement> Judge(const Node& node, absl::Span<const HostTensor> operands,
                                      const SymbolEnv& env, absl::Span<const HostTensor> got) const;

 private:
  struct Run {
    int region = 0;
    std::vector<uint64_t> inputs;  // Fingerprints of the inputs.
    std::vector<HostTensor> outputs;
  };

  // How recorded run `index` differs from a run of `region` on `inputs`; empty if it does not.
  std::string Mismatch(size_t index, int region, absl::Span<const HostTensor> inputs) const;

  std::vector<Run> runs_;
  int64_t bytes_ = 0;  // Bytes of all kept outputs.
  bool complete_ = true;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_REGION_RUNS_H_
