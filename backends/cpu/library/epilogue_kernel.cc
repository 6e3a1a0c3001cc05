#include "backends/cpu/library/epilogue_kernel.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_schema.h"
#include "graph/target/target.h"
#include "lowering/kernel_body.h"
#include "lowering/plan_ops.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {
namespace {

// The view's strides along the dims of `to`; 0 where it broadcasts.
std::vector<SymInt> BroadcastStrides(const RunView& view, const RunView& to) {
  std::vector<SymInt> strides(to.rank());
  for (int d = 0; d < to.rank(); ++d) {
    const int own = d - (to.rank() - view.rank());
    if (own >= 0 && view.dims[own] != 1) strides[d] = SymInt(view.strides[own]);
  }
  return strides;
}

std::vector<SymInt> OperandStrides(RoutineOp routine, const Epilogue& e, const RunView& view,
                                   const RunView& to) {
  if (e.kind != Epilogue::Kind::kBias) return BroadcastStrides(view, to);
  std::vector<SymInt> strides(to.rank());
  strides[routine == RoutineOp::kConvolution ? 1 : to.rank() - 1] = SymInt(view.strides[0]);
  return strides;
}

// Joins the bodies of the chain to one stage.
class EpilogueStage {
 public:
  explicit EpilogueStage(Kernel* kernel) : kernel_(kernel) {}

  int AddLoad(DType dtype, std::vector<SymInt> strides) {
    Instr load;
    load.op = ScalarOp::kLoad;
    load.dtype = KernelDType(dtype);
    load.access.arg = static_cast<int>(kernel_->args.size());
    load.access.strides = std::move(strides);
    kernel_->args.push_back({dtype});
    return body_.Add(std::move(load));
  }
  DType dtype(int value) const { return body_.dtype(value); }

  // The op's result; `operands` are the values that the body loads.
  int AddBody(const ScalarBody& body, absl::Span<const int> operands) {
    const Stage& stage = body.kernel.nests[0].stages[0];
    std::vector<int> made;
    for (Instr instr : stage.body) {
      if (instr.op == ScalarOp::kLoad) {
        made.push_back(operands[instr.access.arg]);
        continue;
      }
      for (int& operand : instr.operands) operand = operand < 0 ? -1 : made[operand];
      made.push_back(body_.Add(std::move(instr)));
    }
    return made[stage.stores[0].value];
  }

  // The sum of two values in f32.
  int AddSum(int a, int b) {
    Instr sum;
    sum.op = ScalarOp::kAdd;
    sum.operands[0] = a;
    sum.operands[1] = b;
    return body_.Add(std::move(sum));
  }

  Stage Finish(int value, DType dtype, std::vector<SymInt> strides) {
    Stage stage;
    Store store;
    store.value = value;
    store.access.arg = static_cast<int>(kernel_->args.size());
    store.access.strides = std::move(strides);
    kernel_->args.push_back({dtype, /*written=*/true});
    stage.body = body_.Take();
    stage.stores.push_back(std::move(store));
    return stage;
  }

 private:
  Kernel* kernel_;
  KernelBody body_;
};

}  // namespace

absl::StatusOr<TileProgram> CompileEpilogue(const LibraryStep& step,
                                            absl::Span<const Epilogue> chain, const RunView& from,
                                            const TileTable& table) {
  const RunView& to = step.result;
  Kernel kernel;
  kernel.name = "epilogue";
  EpilogueStage stage(&kernel);
  // The arguments of the program are in the order of these loads.
  int value = stage.AddLoad(from.dtype, BroadcastStrides(from, to));
  std::vector<int> loads;
  for (const Epilogue& e : chain) {
    if (e.kind == Epilogue::Kind::kUnary) continue;
    const RunView& view = step.args[e.arg];
    loads.push_back(stage.AddLoad(view.dtype, OperandStrides(step.op, e, view, to)));
  }
  size_t next = 0;
  for (const Epilogue& e : chain) {
    const ScalarBody* body =
        step.bodies == nullptr ? nullptr : FindScalarBody(*step.bodies, e, to.dtype);
    // A plan has no body for a bias that was an operand of the op.
    const bool plain_bias =
        body == nullptr && e.kind == Epilogue::Kind::kBias && to.dtype == DType::kF32;
    if (body == nullptr && !plain_bias) {
      return absl::UnimplementedError(absl::StrCat("the plan has no body of ",
                                                   e.schema == nullptr ? "an op" : e.schema->name,
                                                   " for ", DTypeName(to.dtype)));
    }
    const int operands[] = {value, e.kind == Epilogue::Kind::kUnary ? value : loads[next++]};
    for (int operand : operands) {
      if (stage.dtype(operand) == KernelDType(to.dtype)) continue;
      return absl::UnimplementedError("an operand of another dtype");
    }
    value = plain_bias ? stage.AddSum(operands[0], operands[1]) : stage.AddBody(*body, operands);
  }
  Nest nest;
  for (int64_t d : to.dims) nest.outer.push_back(SymInt(d));
  nest.stages.push_back(stage.Finish(value, to.dtype, BroadcastStrides(to, to)));
  kernel.nests.push_back(std::move(nest));
  // An epilogue reduces nothing, so its result does not depend on the target.
  kernel.schedule = DecideSchedule(kernel, Target());
  return CompileTiles(kernel, table, [](SymInt) { return std::nullopt; });
}

}  // namespace weft::cpu
