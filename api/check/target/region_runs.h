// Runs of nested graphs that a target made for one node, and the judgement of the node by them.
//
// The steps of each run are judged by themselves, on the operands that the target gave them. Left
// to judge is the node's use of the runs: which graph it runs and how often, the inputs of each
// run, and what becomes of its outputs. All of that moves data, so the node is
// evaluated with the target's own runs in place of the reference's, and has to agree in every
// bit. A recurrence that doubles its rounding errors in each step is judged as sharply as one
// that does not.
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
  // A run of nested graph `region` begins; Begin() and End() take turns.
  void Begin(int region, absl::Span<const HostTensor> inputs);
  // The run is over. The outputs are copied.
  void End(absl::Span<const HostTensor> outputs);

  bool empty() const { return runs_.empty(); }
  // False where the outputs took too much memory to be kept: Judge() must not be called.
  bool complete() const { return complete_; }

  // `got` has one tensor for each result of `node`; invalid ones are not judged. An error is the
  // reference's: it refuses these operands.
  absl::StatusOr<NodeJudgement> Judge(const Node& node, absl::Span<const HostTensor> operands,
                                      const SymbolEnv& env, absl::Span<const HostTensor> got) const;

 private:
  struct Run {
    int region = 0;
    std::vector<uint64_t> inputs;  // Fingerprints.
    std::vector<HostTensor> outputs;
  };

  // Says how run `index` differs from one of `region` on `inputs`; empty when it does not.
  std::string Mismatch(size_t index, int region, absl::Span<const HostTensor> inputs) const;

  std::vector<Run> runs_;
  int64_t bytes_ = 0;  // Bytes of all outputs.
  bool complete_ = true;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_REGION_RUNS_H_
