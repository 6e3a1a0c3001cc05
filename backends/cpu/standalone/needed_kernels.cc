#include "backends/cpu/standalone/needed_kernels.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/library/library.h"
#include "backends/cpu/library/routine_ops.h"
#include "graph/tensor/dtype.h"
#include "lowering/kernel.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_ops.h"

namespace weft::cpu {
namespace {

class Needs {
 public:
  // Conversions, indices and conditions are of these.
  Needs() {
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) Add(dtype);
  }

  void Add(const Plan& plan) {
    for (const Buffer& buffer : plan.buffers) {
      Add(buffer.dtype);
      // Any buffer may be copied.
      if (DTypeBits(buffer.dtype) >= 8) Add(CopyDType(buffer.dtype));
    }
    for (const Kernel& kernel : plan.kernels) Add(kernel);
    for (const Step& step : plan.steps) Add(step);
    if (plan.ops == nullptr) return;
    for (const ScalarBody& body : plan.ops->bodies) Add(body.kernel);
  }

  std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  // Narrow floats are f32 in tiles. 4-bit and complex elements have no kernels.
  void Add(DType memory) {
    const DType dtype = ComputeDType(memory);
    if (IsComplex(dtype) || DTypeBits(dtype) < 8) return;
    lines_.insert(absl::StrCat("dtype ", DTypeName(dtype)));
  }

  void Add(const std::vector<Instr>& body) {
    for (const Instr& instr : body) {
      Add(instr.dtype);
      if (instr.op == ScalarOp::kRound) Add(instr.via);
    }
  }

  void Add(const Kernel& kernel) {
    for (const KernelArg& arg : kernel.args) Add(arg.dtype);
    for (const Nest& nest : kernel.nests) {
      for (const DType row : nest.rows) Add(row);
      for (const Stage& stage : nest.stages) {
        Add(stage.body);
        for (const Reduction& reduction : stage.reductions) Add(reduction.dtype);
      }
    }
  }

  void Add(const Step& step) {
    if (step.kind != StepKind::kLibrary) return;
    const std::optional<RoutineOp> op = FindRoutineOp(step.op_name);
    if (!op.has_value() || step.args.empty()) return;
    // An epilogue may change the dtype of the result.
    const std::string routine(RoutineName(*op, step.args[0].type.dtype()));
    lines_.insert(absl::StrCat("routine ", routine));
    // Routines have kernels of their own for it.
    if (step.args[0].type.dtype() == DType::kBF16) lines_.insert("dtype bf16");
    // Sums and scales of integers.
    if (!absl::StrContains(routine, '_')) return;
    for (const DType dtype : {DType::kI32, DType::kI8, DType::kU8}) Add(dtype);
  }

  std::set<std::string> lines_;
};

bool IsThere(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  return HasKernels(words[0].c_str(), words[1].c_str());
}

}  // namespace

std::vector<std::string> NeededKernels(const Plan& plan) {
  Needs needs;
  for (const Plan* p : AllPlans(plan)) needs.Add(*p);
  return needs.lines();
}

std::vector<std::string> MissingKernels(const Plan& plan) {
  std::vector<std::string> lines = NeededKernels(plan);
  lines.erase(std::remove_if(lines.begin(), lines.end(), IsThere), lines.end());
  return lines;
}

}  // namespace weft::cpu
