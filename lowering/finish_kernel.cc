#include "lowering/finish_kernel.h"

#include "lowering/kernel.h"

namespace weft {
namespace {

// The loads of argument 0.
std::vector<const Access*> UnfinishedLoads(const Kernel& kernel) {
  std::vector<const Access*> loads;
  for (const Instr& i : kernel.nests[0].stages[0].body) {
    if (i.op == ScalarOp::kLoad && i.access.arg == 0) loads.push_back(&i.access);
  }
  return loads;
}

}  // namespace

bool IsFinished(const Step& step) { return step.kind == StepKind::kLibrary && step.kernel >= 0; }

absl::Status CheckFinish(const Kernel& kernel, absl::Span<const SymInt> dims) {
  const auto refused = [](absl::string_view why) { return absl::UnimplementedError(why); };
  if (kernel.args.size() < 2 || kernel.args[0].written || !kernel.args.back().written) {
    return refused("its arguments are not a result to finish, others, and what is stored");
  }
  for (size_t i = 1; i + 1 < kernel.args.size(); ++i) {
    if (kernel.args[i].written) return refused("it stores several results");
  }
  if (kernel.nests.size() != 1 || !kernel.nests[0].inner.empty() ||
      kernel.nests[0].stages.size() != 1) {
    return refused("it has more than one loop over the elements");
  }
  const Nest& nest = kernel.nests[0];
  const Stage& stage = nest.stages[0];
  if (absl::MakeConstSpan(nest.outer) != dims) return refused("its loops are not the dims");
  if (!stage.reductions.empty() || !stage.keeps.empty() || stage.stores.size() != 1) {
    return refused("it does more than to store one result");
  }
  for (const Instr& i : stage.body) {
    if (i.op == ScalarOp::kLoad && !i.access.terms.empty()) return refused("it gathers");
    if (i.op == ScalarOp::kLoad && !i.access.guards.empty()) return refused("it pads");
    if (i.op == ScalarOp::kIndex || i.op == ScalarOp::kSize) {
      return refused("it depends on places or sizes");
    }
  }
  const std::vector<const Access*> loads = UnfinishedLoads(kernel);
  if (loads.empty()) return refused("it does not read the result to finish");
  for (const Access* load : loads) {
    if (load->strides != loads[0]->strides || !load->offset.Is(0)) {
      return refused("it reads the result to finish elsewhere");
    }
  }
  return absl::OkStatus();
}

std::vector<SymInt> UnfinishedStrides(const Kernel& kernel) {
  return UnfinishedLoads(kernel)[0]->strides;
}

int NumOwnArgs(const Plan& plan, const Step& step) {
  const int all = static_cast<int>(step.args.size());
  return IsFinished(step) ? all - static_cast<int>(plan.kernels[step.kernel].args.size()) + 2 : all;
}

}  // namespace weft
