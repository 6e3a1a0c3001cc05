#include "tools/common/target_verify.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/check/target/target_case.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "tools/common/cli.h"

namespace weft::tools {

void AddTargetVerifyFlags(FlagSet& flags, TargetVerifyFlags* to) {
  flags.String("verify", &to->verify, "target",
               "Run the target's plan step by step, in guarded memory, and compare it\n"
               "with the reference: on the inputs of each run, then on seeded ones of several\n"
               "sizes with edge values. The first step that differs is named and a\n"
               "small graph that shows it is written; exit status 1");
  flags.String("compare", &to->compare, "reference",
               "The same only on the inputs of each run, without a small graph");
  flags.String("case", &to->case_file, "FILE",
               "File for that graph of --verify=target. Default: case.weft");
}

absl::StatusOr<std::unique_ptr<TargetVerifier>> TargetVerifier::Create(
    const TargetVerifyFlags& flags, const Module& module, const CompileOptions& compile,
    const TargetCheckOptions& options) {
  if (!flags.verify.empty() && flags.verify != "target") {
    return absl::InvalidArgumentError(
        absl::StrCat("--verify takes target, not \"", flags.verify, "\""));
  }
  if (!flags.compare.empty() && flags.compare != "reference") {
    return absl::InvalidArgumentError(
        absl::StrCat("--compare takes reference, not \"", flags.compare, "\""));
  }
  auto verifier = std::make_unique<TargetVerifier>();
  verifier->flags_ = flags;
  verifier->options_ = options;
  std::unique_ptr<Module> clone = module.Clone();
  WEFT_RETURN_IF_ERROR(Compile(*clone, compile).status());
  WEFT_ASSIGN_OR_RETURN(verifier->checker_, TargetChecker::Create(std::move(clone), options));
  return verifier;
}

absl::Status TargetVerifier::Check(absl::Span<const HostTensor> inputs) {
  return checker_->Check(inputs, &result_);
}

absl::StatusOr<int> TargetVerifier::Finish(const SeedOptions& first, std::ostream& out) {
  if (!flags_.verify.empty()) checker_->CheckSeeded(first, &result_);
  out << "verify: " << result_.ToString() << (result_.differs() ? "" : "\n");
  if (!result_.differs()) return kExitOk;
  if (flags_.verify.empty()) return kExitBad;
  const absl::Status written = WriteCase(out);
  if (absl::IsNotFound(written)) {
    out << "verify: no small graph: " << written.message() << "\n";
  } else if (!written.ok()) {
    return written;
  }
  return kExitBad;
}

absl::Status TargetVerifier::WriteCase(std::ostream& out) {
  WEFT_ASSIGN_OR_RETURN(auto small,
                        MakeTargetCase(checker_->module(), *result_.difference, options_));
  WEFT_RETURN_IF_ERROR(WriteOutput(flags_.case_file, small.Text(flags_.case_file)));
  out << "verify: " << small.nodes_after << " of " << small.nodes_before
      << " nodes show it: " << flags_.case_file << "\n"
      << "  " << small.Command(flags_.case_file) << "\n";
  return absl::OkStatus();
}

}  // namespace weft::tools
