// Steps whose failure depends on data.
#ifndef WEFT_LOWERING_FAILING_STEPS_H_
#define WEFT_LOWERING_FAILING_STEPS_H_

#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lowering/plan.h"

namespace weft {

// Which steps may fail because of their operands' values: assertions, indices, ops that run by
// their own evaluation.
class FailingSteps {
 public:
  explicit FailingSteps(const Plan& plan) : plan_(plan) {}

  // Takes the steps in their order: a routine does not fail on indices that an earlier one has
  // checked against the same sizes.
  bool MayFail(const Step& step);

 private:
  // An op, the view of its indices, and the sizes that they are compared with.
  using Checked = std::tuple<std::string, const AttrList*, std::vector<SymInt>>;

  const Plan& plan_;
  absl::flat_hash_set<Checked> checked_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_FAILING_STEPS_H_
