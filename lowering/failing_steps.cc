#include "lowering/failing_steps.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace weft {
namespace {

bool HasTerms(const Kernel& kernel) {
  for (const Nest& nest : kernel.nests) {
    for (const Stage& stage : nest.stages) {
      for (const Instr& i : stage.body) {
        if (!i.access.terms.empty()) return true;
      }
      for (const Store& s : stage.stores) {
        if (!s.access.terms.empty()) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool FailingSteps::MayFail(const Step& step) {
  switch (step.kind) {
    case StepKind::kReference:
    case StepKind::kControl:
      return true;
    case StepKind::kKernel:
      return HasTerms(plan_.kernels[step.kernel]);
    case StepKind::kCopy:
      return false;
    case StepKind::kLibrary:
      if (step.finds_sizes) return true;
      break;
  }
  if (step.indices < 0 || !step.args[step.indices].present()) return false;
  const View& indices = step.args[step.indices];
  std::vector<SymInt> sizes = {SymInt(indices.buffer), SymInt(indices.type.rank()), indices.offset};
  const auto append = [&](absl::Span<const SymInt> more) {
    sizes.insert(sizes.end(), more.begin(), more.end());
  };
  append(indices.type.dims());
  append(indices.strides);
  if (step.args[0].type.is_tensor()) append(step.args[0].type.dims());
  return checked_.emplace(step.op_name, step.attrs, std::move(sizes)).second;
}

}  // namespace weft
