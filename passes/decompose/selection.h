// Which composites `decompose` leaves as they are, and why.
#ifndef WEFT_PASSES_DECOMPOSE_SELECTION_H_
#define WEFT_PASSES_DECOMPOSE_SELECTION_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/decompose.h"

namespace weft {

class Node;
class OpDef;
class OpRegistry;

class DecomposeSelection {
 public:
  // Names that are no composite are an error with a close one. The context
  // outlives the selection.
  static absl::StatusOr<DecomposeSelection> Make(const DecomposeOptions& options,
                                                 const OpRegistry& registry,
                                                 const PassContext& context);

  // The counter of the reason why a composite stays; empty when it is decomposed. Besides the
  // composites that the target names, those stay that a routine of the target accepts.
  absl::string_view Stays(const Node& node) const;
  // For people: "the target reference runs it".
  std::string WhyStays(const Node& node) const;

 private:
  using OpSet = absl::flat_hash_set<const OpDef*>;

  explicit DecomposeSelection(const PassContext& context) : context_(&context) {}

  const PassContext* context_;
  OpSet keep_;
  OpSet claimed_;
  OpSet ops_;
  bool all_ = false;  // The target's claims do not count.
};

}  // namespace weft

#endif  // WEFT_PASSES_DECOMPOSE_SELECTION_H_
