#include "api/check/target/region_runs.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/check/compare.h"
#include "api/check/target/snapshot.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"

namespace weft {
namespace {

// Limit of the bytes of outputs kept for one node.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

std::vector<uint64_t> Fingerprints(absl::Span<const HostTensor> tensors) {
  std::vector<uint64_t> all;
  for (const HostTensor& tensor : tensors) all.push_back(tensor.Fingerprint());
  return all;
}

NodeJudgement Different(std::string difference) {
  NodeJudgement judged;
  judged.same = false;
  judged.excess = std::numeric_limits<double>::infinity();
  judged.difference = std::move(difference);
  return judged;
}

}  // namespace

void RegionRuns::Begin(int region, absl::Span<const HostTensor> inputs) {
  if (!complete_) return;
  runs_.emplace_back();
  runs_.back().region = region;
  runs_.back().inputs = Fingerprints(inputs);
}

void RegionRuns::End(absl::Span<const HostTensor> outputs) {
  if (!complete_) return;
  for (const HostTensor& output : outputs) bytes_ += output.valid() ? output.bytes() : 0;
  if (bytes_ > kMaxBytes) {
    complete_ = false;
    for (Run& run : runs_) run.outputs.clear();
    return;
  }
  for (const HostTensor& output : outputs) {
    runs_.back().outputs.push_back(Snapshot(output));
  }
}

std::string RegionRuns::Mismatch(size_t index, int region,
                                 absl::Span<const HostTensor> inputs) const {
  if (index >= runs_.size()) {
    return absl::StrCat("the target runs nested graphs ", runs_.size(),
                        " times, the reference goes on");
  }
  const Run& run = runs_[index];
  const std::string which = absl::StrCat("run ", index, " of nested graphs");
  if (run.region != region) {
    return absl::StrCat(which, ": got graph ", run.region, ", want ", region);
  }
  const std::vector<uint64_t> want = Fingerprints(inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    if (i < run.inputs.size() && run.inputs[i] == want[i]) continue;
    return absl::StrCat(which, ": input ", i, " is not what the operands and runs before give");
  }
  return "";
}

absl::StatusOr<NodeJudgement> RegionRuns::Judge(const Node& node,
                                                absl::Span<const HostTensor> operands,
                                                const SymbolEnv& env,
                                                absl::Span<const HostTensor> got) const {
  size_t next = 0;
  std::string mismatch;
  reference::RunOptions options;
  options.run_region = [&](const Node&, int region, absl::Span<const HostTensor> inputs,
                           std::vector<HostTensor>* outputs) {
    mismatch = Mismatch(next, region, inputs);
    if (!mismatch.empty()) return absl::AbortedError(mismatch);
    *outputs = runs_[next++].outputs;
    return absl::OkStatus();
  };
  auto want = reference::RunNode(node, operands, env, options);
  if (!mismatch.empty()) return Different(std::move(mismatch));
  WEFT_RETURN_IF_ERROR(want.status());
  if (next < runs_.size()) {
    return Different(absl::StrCat("the target runs nested graphs ", runs_.size(),
                                  " times, the reference ", next, " times"));
  }
  CompareOptions exact;
  exact.rtol = exact.atol = 0;
  exact.signed_zeros = true;
  for (size_t r = 0; r < got.size() && r < want->size(); ++r) {
    if (!got[r].valid() || !(*want)[r].valid()) continue;
    const absl::Status same = Compare(got[r], (*want)[r], exact);
    if (same.ok()) continue;
    return Different(
        absl::StrCat("result ", r, ", from the runs of nested graphs: ", same.message()));
  }
  NodeJudgement judged;
  judged.want = *std::move(want);
  return judged;
}

}  // namespace weft
