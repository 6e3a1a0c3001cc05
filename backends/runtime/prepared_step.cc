#include "backends/runtime/prepared_step.h"

#include <algorithm>

namespace weft {
namespace {

bool KnownAll(const std::vector<SymInt>& values, const SymbolEnv& env) {
  return std::all_of(values.begin(), values.end(),
                     [&](SymInt s) { return env.Eval(s).has_value(); });
}

bool KnownAccess(const Access& access, const SymbolEnv& env) {
  bool known = env.Eval(access.offset).has_value() && KnownAll(access.strides, env);
  for (const IndexTerm& term : access.terms) {
    known = known && KnownAll({term.stride, term.bound}, env);
  }
  for (const Access::Guard& guard : access.guards) {
    known = known && KnownAll({guard.offset, guard.bound}, env) && KnownAll(guard.strides, env);
  }
  return known;
}

bool KnownKernel(const Kernel& kernel, const SymbolEnv& env) {
  for (const Nest& nest : kernel.nests) {
    if (!KnownAll(nest.outer, env) || !KnownAll(nest.inner, env)) return false;
    for (const Stage& stage : nest.stages) {
      for (const Instr& instr : stage.body) {
        if (instr.op == ScalarOp::kLoad && !KnownAccess(instr.access, env)) return false;
        if (instr.op == ScalarOp::kSize && !env.Eval(instr.size)) return false;
      }
      for (const Store& store : stage.stores) {
        if (!KnownAccess(store.access, env)) return false;
      }
    }
  }
  return true;
}

}  // namespace

const AttrList* AttrsOf(const Step& step, const SymbolEnv& env) {
  if (step.attrs == nullptr) return nullptr;
  return step.attrs->Substitute([&](SymInt s) { return env.Replacement(s); });
}

bool IsKnown(const Plan& plan, const Step& step, const SymbolEnv& env) {
  for (const View& view : step.args) {
    if (!IsKnown(view, env)) return false;
  }
  for (const View& view : step.results) {
    if (!MayFindSizes(step) && !IsKnown(view, env)) return false;
  }
  if (step.kernel >= 0 && !KnownKernel(plan.kernels[step.kernel], env)) return false;
  const AttrList* attrs = AttrsOf(step, env);
  return attrs == nullptr || !attrs->is_symbolic();
}

}  // namespace weft
