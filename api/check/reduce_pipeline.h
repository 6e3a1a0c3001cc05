// Shortens a pipeline while a predicate holds.
#ifndef WEFT_API_CHECK_REDUCE_PIPELINE_H_
#define WEFT_API_CHECK_REDUCE_PIPELINE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/engine/registry.h"

namespace weft {

// Drops passes one by one, the last first, and replaces a fixpoint by its body. The predicate holds
// for the result. InvalidArgument for a malformed pipeline, or one for which the predicate does not
// hold.
absl::StatusOr<std::string> ReducePipeline(const std::string& passes, const PassRegistry& registry,
                                           const std::function<bool(const std::string&)>& holds);

}  // namespace weft

#endif  // WEFT_API_CHECK_REDUCE_PIPELINE_H_
