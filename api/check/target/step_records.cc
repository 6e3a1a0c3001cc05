#include "api/check/target/step_records.h"

#include <cmath>
#include <utility>

#include "api/check/target/snapshot.h"
#include "backends/step_reference.h"
#include "graph/ir/attr.h"

namespace weft {
namespace {

constexpr double kFar = 1e-3;

// A copy of the elements of the view; invalid if it is absent or cannot be read.
HostTensor SnapshotOf(const ObservedStep& seen, const View& view) {
  if (!view.present()) return HostTensor();
  const auto tensor = seen.read(view);
  return tensor.ok() ? Snapshot(*tensor) : HostTensor();
}

bool AreFar(const HostTensor& got, const HostTensor& want) {
  if (!got.valid() || got.BitEqual(want)) return false;
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return true;
  if (!IsFloat(got.dtype())) return true;
  const std::vector<double> a = got.ReadDoubles();
  const std::vector<double> b = want.ReadDoubles();
  double sum = 0;
  int64_t count = 0;
  for (double x : b) {
    if (!std::isfinite(x)) continue;
    sum += std::abs(x);
    ++count;
  }
  const double typical = count > 0 ? sum / static_cast<double>(count) : 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= kFar * (std::abs(b[i]) + typical))) return true;
  }
  return false;
}

}  // namespace

void StepRecords::BeforeStep(const ObservedStep& seen) {
  const Step& step = seen.plan.steps[seen.index];
  if (step.kind == StepKind::kKernel && kernel_ < 0) kernel_ = seen.index;
  if (step.kind != StepKind::kLibrary && step.kind != StepKind::kCopy) return;
  Record record;
  record.index = seen.index;
  record.step = &step;
  if (step.attrs != nullptr) {
    record.attrs = step.attrs->Substitute([&](SymInt s) { return seen.env.Replacement(s); });
  }
  for (const View& view : step.args) {
    record.operands.push_back(SnapshotOf(seen, view));
  }
  records_.push_back(std::move(record));
}

void StepRecords::AfterStep(const ObservedStep& seen) {
  if (records_.empty() || records_.back().index != seen.index) return;
  Record& record = records_.back();
  for (const View& view : record.step->results) {
    record.results.push_back(SnapshotOf(seen, view));
  }
}

bool StepRecords::IsWrong(const Record& record) {
  const auto want = EvaluateStep(*record.step, record.attrs, record.operands);
  if (!want.ok()) return false;
  for (size_t r = 0; r < record.results.size() && r < want->size(); ++r) {
    if (AreFar(record.results[r], (*want)[r])) return true;
  }
  return false;
}

int StepRecords::FirstWrong() const {
  for (const Record& record : records_) {
    if (IsWrong(record)) return record.index;
  }
  return kernel_;
}

}  // namespace weft
