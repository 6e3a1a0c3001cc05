// Detects cycles of a fixpoint: the graph after a round equals, up to ids and order, the graph
// after an earlier round.
//
// The first rounds cost nothing; each later one costs a fingerprint, which is
// linear in nodes.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_FIXPOINT_WATCH_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_FIXPOINT_WATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/engine/pass_manager/report.h"

namespace weft {

class Module;

class FixpointWatch {
 public:
  static constexpr int kQuietRounds = 2;

  // Called after a round that changed something. Returns the length of the cycle in rounds, or 0 if
  // the graph is new.
  int EndRound(int round, const Module& module);

 private:
  absl::flat_hash_map<uint64_t, int> rounds_;  // By fingerprint.
};

// Records the work of the passes in one cycle, with the nodes that were removed and added.
class CycleTrace {
 public:
  void Add(const PassReport& pass, const Module& before, const Module& after);
  // "left(rule.up=1), right(rule.down=1)"
  std::string Firing() const;
  // A line for each pass, then the nodes, as graph text.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> firing_;
  std::vector<std::string> lines_;
};

// "canonicalize(rule.x=1)": the rules and folds that fired, or else the counters of the pass.
std::string FiringText(const PassReport& pass);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_FIXPOINT_WATCH_H_
