#include "lowering/kernel_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/value.h"
#include "lowering/nest_builder.h"

namespace weft {
namespace {

bool IsValid(const Access& access) {
  bool valid = access.offset.is_valid();
  for (SymInt s : access.strides) valid = valid && s.is_valid();
  for (const IndexTerm& t : access.terms) {
    valid = valid && t.stride.is_valid() && t.bound.is_valid();
  }
  for (const Access::Guard& g : access.guards) {
    valid = valid && g.offset.is_valid() && g.bound.is_valid();
    for (SymInt s : g.strides) valid = valid && s.is_valid();
  }
  return valid;
}

// An index that exceeds the limit of terms is invalid.
absl::Status CheckValid(const Nest& nest) {
  bool valid = true;
  for (const Stage& stage : nest.stages) {
    for (const Instr& i : stage.body) {
      valid = valid && i.size.is_valid() && (i.op != ScalarOp::kLoad || IsValid(i.access));
    }
    for (const Store& s : stage.stores) valid = valid && IsValid(s.access);
  }
  if (valid) return absl::OkStatus();
  return absl::UnimplementedError("an index has too many terms");
}

// Stores refer to outputs; their arguments are numbered after those that are read.
void NumberStores(int reads, Nest* nest) {
  for (Stage& stage : nest->stages) {
    for (Store& s : stage.stores) s.access.arg += reads;
  }
}

}  // namespace

absl::StatusOr<BuiltKernel> BuildKernel(const KernelRequest& request, std::string name) {
  for (const Value* output : request.group.outputs) {
    if (output->type().is_tensor() && IsKernelDType(*request.target, output->type().dtype())) {
      continue;
    }
    return absl::UnimplementedError(
        absl::StrCat("no kernel has elements of ", output->type().ToString()));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<LoopSpace> spaces,
                        PlanLoops(request.group, *request.sizes));
  BuiltKernel built;
  built.kernel.name = std::move(name);
  KernelScope scope(request);
  for (const LoopSpace& space : spaces) {
    WEFT_ASSIGN_OR_RETURN(Nest nest, NestBuilder(&scope, &space).Run());
    WEFT_RETURN_IF_ERROR(CheckValid(nest));
    if (!request.keeps_loops) {
      OrderLoops(&nest);
      CollapseLoops(&nest);
    }
    built.kernel.nests.push_back(std::move(nest));
  }
  const int reads = static_cast<int>(scope.reads().size());
  for (Nest& nest : built.kernel.nests) NumberStores(reads, &nest);
  built.args = scope.reads();
  built.results = request.output_views;
  for (const View& view : built.args) {
    built.kernel.args.push_back({view.type.dtype(), false});
  }
  for (const View& view : built.results) {
    built.kernel.args.push_back({view.type.dtype(), true});
  }
  return built;
}

}  // namespace weft
