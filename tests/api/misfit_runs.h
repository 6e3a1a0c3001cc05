// Runs of a program whose sizes or data may not fit.
#ifndef WEFT_TESTS_API_MISFIT_RUNS_H_
#define WEFT_TESTS_API_MISFIT_RUNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/check/seeded_inputs.h"
#include "api/session.h"

namespace weft {

class Module;

using Outputs = absl::StatusOr<std::vector<HostTensor>>;

// The ways to run a program.
struct Way {
  const char* name;
  const char* target;
  const char* passes;
  const char* code = "none";
};
inline constexpr Way kWays[] = {
    {"reference", "reference", ""},    {"reference, after the passes", "reference", "cpu"},
    {"cpu without passes", "cpu", ""}, {"cpu, default", "cpu", "default"},
    {"cpu, cpu", "cpu", "cpu"},        {"cpu, cpu, generated code", "cpu", "cpu", "before"},
};

absl::StatusOr<Session> MakeSession(const Module& model, const Way& way);

// A plan by itself: nothing has put conditions into its module.
Outputs RunPlan(const Module& model, const std::vector<HostTensor>& inputs);

// "a=4 b=2"
SeedOptions Sizes(absl::string_view text);
// Seeded inputs of these sizes.
std::vector<HostTensor> InputsOf(const Module& model, absl::string_view sizes);

}  // namespace weft

#endif  // WEFT_TESTS_API_MISFIT_RUNS_H_
