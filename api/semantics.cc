#include "api/semantics.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compare.h"
#include "api/seeded_inputs.h"
#include "backends/reference/executor.h"

namespace weft {
namespace {

absl::Status CompareOutputs(const std::vector<HostTensor>& got,
                            const std::vector<HostTensor>& want,
                            NumericContract contract) {
  if (got.size() != want.size()) return CompareAll(got, want);
  for (size_t i = 0; i < got.size(); ++i) {
    // The first two contracts differ in the sign of zero, which the comparison
    // of values does not see; bits decide for the first.
    if (contract == NumericContract::kBitExact && got[i].BitEqual(want[i])) {
      continue;
    }
    CompareOptions exact;
    exact.rtol = exact.atol = 0;
    absl::Status status = Compare(
        got[i], want[i],
        contract <= NumericContract::kValueSafe ? exact
                                                : ToleranceFor(want[i].dtype()));
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("output ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SemanticsResult> CompareSemantics(
    const Module& before, const Module& after, NumericContract contract,
    const SemanticsOptions& options) {
  SemanticsResult result;
  for (int run = 0; run < options.runs; ++run) {
    SeedOptions seed;
    seed.seed = options.seed + run;
    const bool last = run + 1 == options.runs;
    if (last && options.runs > 1) seed.values = SeedOptions::Values::kEdge;
    auto inputs = MakeSeededInputs(*before.main(), seed);
    if (!inputs.ok()) return inputs.status();
    auto want = reference::Run(*before.main(), *inputs);
    if (!want.ok()) {
      if (want.status().code() == absl::StatusCode::kInternal) {
        return want.status();
      }
      ++result.refused;
      continue;
    }
    const auto failed = [&](const absl::Status& status) {
      return absl::FailedPreconditionError(absl::StrCat(
          "results change (seed ", seed.seed,
          last && options.runs > 1 ? ", edge values" : "", "): ",
          status.message()));
    };
    auto got = reference::Run(*after.main(), *inputs);
    if (!got.ok()) return failed(got.status());
    absl::Status status = CompareOutputs(*got, *want, contract);
    if (!status.ok()) return failed(status);
    ++result.compared;
  }
  return result;
}

}  // namespace weft
