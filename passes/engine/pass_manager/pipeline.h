// A pipeline: passes in order, with fixpoints, and its text form.
//
//   functionalize,decompose{keep=softmax;gelu},fixpoint{max=8}(canonicalize,cse)
//
// An item is a pass; the name of a pipeline, which is replaced by its items; fixpoint{max=10}(...),
// which repeats its items until a round changes nothing; or if(CONDITION,...), which runs its items
// if the condition holds:
//
//   has_op(NAME)  a node of that op is in the module, nested graphs included;
//   nodes<N       the module has fewer nodes than that;
//   changed       an item before it in the same list (in this round) changed
//                 something;
//   !CONDITION    the condition does not hold.
//
// Options are in braces; a value with a space or one of ,{}()"= is quoted. The name alone sets a
// bool option to true: decompose{all}.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_PIPELINE_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/engine/pass.h"
#include "passes/engine/registry.h"

namespace weft {

class Pipeline {
 public:
  static constexpr int kDefaultRounds = 10;

  struct Condition {
    enum class Kind { kHasOp, kNodesBelow, kChanged };
    Kind kind = Kind::kChanged;
    bool negated = false;
    std::string op;
    int64_t nodes = 0;
    // The text form: "!has_op(relu)".
    std::string ToString() const;
  };

  struct Step {
    std::unique_ptr<Pass> pass;          // Null: a group of `steps`...
    std::optional<Condition> condition;  // ... an if, or else a fixpoint.
    int max_rounds = kDefaultRounds;
    std::vector<Step> steps;
  };

  // Errors name the column, and names similar to an unknown one.
  static absl::StatusOr<Pipeline> Parse(absl::string_view text, const PassRegistry& registry);

  Pipeline& Add(std::unique_ptr<Pass> pass);
  Pipeline& AddFixpoint(Pipeline body, int max_rounds = kDefaultRounds);
  Pipeline& AddIf(Condition condition, Pipeline body);

  const std::vector<Step>& steps() const { return steps_; }
  // Text that parses back to an equal pipeline. Options with their default in `registry` are left
  // out.
  std::string ToString(const PassRegistry& registry) const;

 private:
  std::vector<Step> steps_;
};

// A pass, or a step, with all options, as text of an item.
std::string PassToString(Pass& pass);
std::string StepToString(const Pipeline::Step& step);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_PIPELINE_H_
