// Kernels that routines run on their results: a library step with the nodes behind it, whose values
// between them take no memory.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "lowering/epilogues.h"
#include "lowering/finish_kernel.h"
#include "lowering/graph_lowering.h"
#include "lowering/kernel_builder.h"
#include "lowering/kernel_ops.h"
#include "lowering/scalar_ops.h"

namespace weft {
namespace {

bool IsElementwise(const Node& node) {
  return FindScalarOp(node.op()) != nullptr || FindMovementOp(node.op()) != nullptr;
}

// Makes argument `arg` of the kernel argument 0.
void MoveFirst(int arg, Kernel* kernel, std::vector<View>* reads) {
  std::swap(kernel->args[0], kernel->args[arg]);
  std::swap((*reads)[0], (*reads)[arg]);
  for (Instr& i : kernel->nests[0].stages[0].body) {
    if (i.op != ScalarOp::kLoad) continue;
    if (i.access.arg == 0) {
      i.access.arg = arg;
    } else if (i.access.arg == arg) {
      i.access.arg = 0;
    }
  }
}

}  // namespace

absl::StatusOr<Kernel> GraphLowering::FinishKernel(const Node& library, const Nodes& nodes,
                                                   const Value* output, const View& result,
                                                   std::vector<View>* reads) {
  View sum = NewBuffer(library.result()->type(), "sum");
  const Buffer& whole = plan_.buffers[result.buffer];
  if (TakesStrides(*FindRoutine(target_, library), Routine::kResult) && result.offset.Is(0) &&
      sizes_.Equal(whole.numel, result.type.numel())) {
    sum.strides = result.strides;
  }
  Alias(library.result(), sum);
  const auto view_of = [this](const Value* v) { return ViewOf(v); };
  KernelRequest request{{nodes, {output}}, {result}, view_of, &sizes_, &target_};
  request.keeps_loops = true;
  auto made = BuildKernel(request, absl::StrCat("finish.", plan_.kernels.size()));
  views_.erase(library.result());
  WEFT_RETURN_IF_ERROR(made.status());
  Kernel& kernel = made->kernel;
  const auto at = std::find_if(made->args.begin(), made->args.end(), [&](const View& v) {
    return v.present() && v.buffer == sum.buffer;
  });
  if (at == made->args.end()) return absl::UnimplementedError("the sum is not read");
  MoveFirst(static_cast<int>(at - made->args.begin()), &kernel, &made->args);
  WEFT_RETURN_IF_ERROR(CheckFinish(kernel, library.result()->type().dims()));
  made->args.erase(made->args.begin());
  *reads = std::move(made->args);
  return std::move(kernel);
}

absl::Status GraphLowering::LowerFinished(const Node& library, const Nodes& nodes) {
  if (nodes.empty()) return absl::UnimplementedError("nothing is behind it");
  for (const Node* node : nodes) {
    if (!IsElementwise(*node)) return absl::UnimplementedError("more than elements are behind it");
  }
  const std::vector<const Value*> outputs = OutputsOf(nodes);
  const NodeSet behind(nodes.begin(), nodes.end());
  for (const Use* u = library.result()->first_use(); u != nullptr; u = u->next()) {
    if (!behind.contains(u->user())) return absl::UnimplementedError("others read its result, too");
  }
  if (outputs.size() != 1 || !outputs[0]->type().is_tensor() ||
      outputs[0]->type().dims() != library.result()->type().dims()) {
    return absl::UnimplementedError("not one value of the same sizes leaves");
  }
  const View result = DefineResult(outputs[0], /*dense=*/false);
  std::vector<View> reads;
  auto kernel = FinishKernel(library, nodes, outputs[0], result, &reads);
  if (!kernel.ok()) {
    views_.erase(outputs[0]);
    return kernel.status();
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<View> args, LibraryArgs(library));
  Step& step = AddStep(StepKind::kLibrary);
  SetOp(library, &step);
  step.kernel = static_cast<int>(plan_.kernels.size());
  step.args = std::move(args);
  step.args.insert(step.args.end(), reads.begin(), reads.end());
  step.results.push_back(result);
  plan_.kernels.push_back(*std::move(kernel));
  return absl::OkStatus();
}

}  // namespace weft
