// A pipeline: passes in order, with fixpoints, and its text form.
//
//   functionalize,decompose{keep=softmax;gelu},fixpoint{max=8}(canonicalize,cse)
//
// An item is a pass, the name of a pipeline (which stands for its items), or
// fixpoint{max=10}(...), which repeats its items until a round changes nothing.
// Options stand in braces; a value with a space or one of ,{}()"= is quoted.
#ifndef WEFT_PASSES_PASS_MANAGER_PIPELINE_H_
#define WEFT_PASSES_PASS_MANAGER_PIPELINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/pass.h"
#include "passes/registry.h"

namespace weft {

class Pipeline {
 public:
  static constexpr int kDefaultRounds = 10;

  struct Step {
    std::unique_ptr<Pass> pass;  // Null: a fixpoint of `steps`.
    int max_rounds = kDefaultRounds;
    std::vector<Step> steps;
  };

  // Errors name the column, and close names for unknown ones.
  static absl::StatusOr<Pipeline> Parse(absl::string_view text,
                                        const PassRegistry& registry);

  Pipeline& Add(std::unique_ptr<Pass> pass);
  Pipeline& AddFixpoint(Pipeline body, int max_rounds = kDefaultRounds);

  const std::vector<Step>& steps() const { return steps_; }
  // Reads back to an equal pipeline. Options that have their defaults in
  // `registry` are left out.
  std::string ToString(const PassRegistry& registry) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace weft

#endif  // WEFT_PASSES_PASS_MANAGER_PIPELINE_H_
