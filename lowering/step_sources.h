// Source names and rules of nodes, in the form that steps store.
#ifndef WEFT_LOWERING_STEP_SOURCES_H_
#define WEFT_LOWERING_STEP_SOURCES_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/ids.h"
#include "lowering/plan.h"

namespace weft {

class Node;

// Makes each source once: steps with equal histories share it. Not thread-safe.
class StepSources {
 public:
  // Null if nothing is known of the node, which may be null.
  std::shared_ptr<const StepSource> Of(const Node* node);

 private:
  absl::flat_hash_map<std::pair<ProvenanceId, OriginId>, std::shared_ptr<const StepSource>> made_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_STEP_SOURCES_H_
