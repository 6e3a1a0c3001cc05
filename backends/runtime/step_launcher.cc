#include "backends/runtime/step_launcher.h"

#include <utility>

#include "backends/runtime/step_names.h"
#include "base/annotate.h"

namespace weft {

absl::StatusOr<std::vector<std::unique_ptr<StepCode>>> StepLauncher::CompileAll(
    absl::Span<const StepRequest> requests) {
  std::vector<std::unique_ptr<StepCode>> codes;
  for (const StepRequest& request : requests) {
    auto code = Compile(request);
    if (!code.ok()) return Annotate(code.status(), DescribeStep(request.plan, request.step));
    codes.push_back(*std::move(code));
  }
  return codes;
}

}  // namespace weft
