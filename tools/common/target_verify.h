// The flags --verify=target and --compare=reference: compare a model on a target step by step with
// the reference.
#ifndef WEFT_TOOLS_COMMON_TARGET_VERIFY_H_
#define WEFT_TOOLS_COMMON_TARGET_VERIFY_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/check/target/target_check.h"
#include "api/compiler.h"
#include "tools/common/flags.h"

namespace weft {
class HostTensor;
class Module;
}  // namespace weft

namespace weft::tools {

struct TargetVerifyFlags {
  std::string verify;   // "target" or "".
  std::string compare;  // "reference" or "".
  std::string case_file = "case.weft";

  bool asked() const { return !verify.empty() || !compare.empty(); }
};

// Adds --verify, --compare and --case.
void AddTargetVerifyFlags(FlagSet& flags, TargetVerifyFlags* to);

class TargetVerifier {
 public:
  // InvalidArgument for other values of the flags. `module` is cloned and compiled.
  static absl::StatusOr<std::unique_ptr<TargetVerifier>> Create(const TargetVerifyFlags& flags,
                                                                const Module& module,
                                                                const CompileOptions& compile,
                                                                const TargetCheckOptions& options);

  // Checks a run on the inputs of a call.
  absl::Status Check(absl::Span<const HostTensor> inputs);
  // With --verify=target, also checks seeded runs. Prints the result. A difference is reduced and
  // its case file written, unless only --compare was given; the exit status is then kExitBad.
  absl::StatusOr<int> Finish(const SeedOptions& first, std::ostream& out);

  const TargetCheckResult& result() const { return result_; }

 private:
  absl::Status WriteCase(std::ostream& out);

  TargetVerifyFlags flags_;
  TargetCheckOptions options_;
  std::unique_ptr<TargetChecker> checker_;
  TargetCheckResult result_;
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_TARGET_VERIFY_H_
