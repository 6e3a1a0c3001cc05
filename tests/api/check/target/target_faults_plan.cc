// Faults of a backend when it compiles a plan.
#include <functional>
#include <utility>

#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "tests/api/check/target/target_faults.h"

namespace weft {

const char kPointwiseProgram[] = R"(
func @main(%x: f32[s0, 7], %b: f32[s0, 1]) -> f32[s0, 7] where 1 <= s0 <= 64 {
  %0 = exp(%x) : f32[s0, 7]  loc("first")
  %1 = fused(%0, %b, kind="pointwise") : f32[s0, 7]  loc("second") {
    body(%a: f32[s0, 7], %c: f32[s0, 1]) -> f32[s0, 7] {
      %1 = sub(%a, %c) : f32[s0, 7]
      %2 = maximum(%1, %a) : f32[s0, 7]
      %3 = neg(%2) : f32[s0, 7]
      return %3
    }
  }
  %2 = relu(%1) : f32[s0, 7]  loc("third")
  %3 = mul(%2, %0) : f32[s0, 7]  loc("fourth")
  return %3
}
)";
const char kSoftmaxProgram[] = R"(
func @main(%x: f32[3, 5, 17]) -> f32[3, 17] {
  %0 = softmax(%x, dim=2) : f32[3, 5, 17]  loc("attention")
  %1 = sum(%0, dim=[1]) : f32[3, 17]  loc("total")
  return %1
}
)";
const char kLinearProgram[] = R"(
func @main(%x: f32[6, 10], %w: f32[10, 10], %r: f32[6, 10]) -> f32[6, 10] {
  %0 = tanh(%x) : f32[6, 10]  loc("act")
  %1 = fused(%0, %w, %r, kind="gemm") : f32[6, 10]  loc("fc") {
    body(%a: f32[6, 10], %b: f32[10, 10], %c: f32[6, 10]) -> f32[6, 10] {
      %1 = matmul(%a, %b) : f32[6, 10]
      %2 = add(%1, %c) : f32[6, 10]
      %3 = mul(%2, %c) : f32[6, 10]
      return %3
    }
  }
  return %1
}
)";
const char kConvolutionProgram[] = R"(
func @main(%x: f32[2, 3, 8, 9], %w: f32[5, 3, 3, 3]) -> f32[2, 5, 8, 9] {
  %0 = convolution(%x, %w, stride=[1, 1], padding=[1, 1], dilation=[1, 1]) : f32[2, 5, 8, 9]  loc("conv")
  %1 = abs(%0) : f32[2, 5, 8, 9]
  return %1
}
)";
const char kConcatProgram[] = R"(
func @main(%x: f32[4, 6], %y: f32[6, 4]) -> f32[4, 18] {
  %0 = exp(%x) : f32[4, 6]  loc("left")
  %1 = permute(%y, dims=[1, 0]) : f32[4, 6]
  %2 = tanh(%1) : f32[4, 6]  loc("right")
  %3 = cat(%0, %x, %2, dim=1) : f32[4, 18]  loc("join")
  %4 = neg(%3) : f32[4, 18]
  return %4
}
)";
const char kIntegerProgram[] = R"(
func @main(%x: i64[5, 8]) -> i64[5] {
  %0 = mul(%x, %x) : i64[5, 8]
  %1 = argmax(%0, dim=1) : i64[5]
  return %1
}
)";
const char kPadProgram[] = R"(
func @main(%x: f32[4, 6]) -> f32[6, 9] {
  %0 = pad(%x, pad=[1, 2, 1, 1]) : f32[6, 9]
  %1 = abs(%0) : f32[6, 9]
  return %1
}
)";

namespace {

// The step of kind `kind`; with an op of its kernel, one that has that.
int FindStep(const Plan& plan, StepKind kind,
             const std::function<bool(const Step&)>& fits = nullptr) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind == kind && (!fits || fits(plan.steps[i]))) return static_cast<int>(i);
  }
  return -1;
}

Instr* FindInstr(Kernel* kernel, ScalarOp op) {
  for (Nest& nest : kernel->nests) {
    for (Stage& stage : nest.stages) {
      for (Instr& instr : stage.body) {
        if (instr.op == op) return &instr;
      }
    }
  }
  return nullptr;
}

// Changes the first instruction with that op, in whichever kernel has one.
std::function<int(Plan*)> EditInstr(ScalarOp op, std::function<void(Instr*)> change) {
  return [op, change = std::move(change)](Plan* plan) {
    const int step = FindStep(*plan, StepKind::kKernel, [&](const Step& s) {
      return FindInstr(&plan->kernels[s.kernel], op) != nullptr;
    });
    if (step >= 0) change(FindInstr(&plan->kernels[plan->steps[step].kernel], op));
    return step;
  };
}

std::function<int(Plan*)> EditNest(std::function<bool(Nest*)> change) {
  return [change = std::move(change)](Plan* plan) {
    return FindStep(*plan, StepKind::kKernel,
                    [&](const Step& s) { return change(&plan->kernels[s.kernel].nests[0]); });
  };
}

std::function<int(Plan*)> EditLibrary(std::function<void(Step*)> change) {
  return [change = std::move(change)](Plan* plan) {
    const int step = FindStep(*plan, StepKind::kLibrary);
    if (step >= 0) change(&plan->steps[step]);
    return step;
  };
}

std::vector<TargetFault> KernelFaults() {
  std::vector<TargetFault> faults;
  faults.push_back(
      {"operands of a subtraction are swapped", kPointwiseProgram,
       EditInstr(ScalarOp::kSub, [](Instr* i) { std::swap(i->operands[0], i->operands[1]); })});
  faults.push_back({"minimum for maximum", kPointwiseProgram,
                    EditInstr(ScalarOp::kMaximum, [](Instr* i) { i->op = ScalarOp::kMinimum; })});
  faults.push_back({"a sign is lost", kPointwiseProgram,
                    EditInstr(ScalarOp::kNeg, [](Instr* i) { i->op = ScalarOp::kAbs; })});
  faults.push_back({"another function", kLinearProgram,
                    EditInstr(ScalarOp::kTanh, [](Instr* i) { i->op = ScalarOp::kSin; })});
  faults.push_back(
      {"a load begins one element late", kConvolutionProgram,
       EditInstr(ScalarOp::kLoad, [](Instr* i) { i->access.offset = i->access.offset + 1; })});
  faults.push_back({"a stale stride", kConcatProgram, EditInstr(ScalarOp::kLoad, [](Instr* i) {
                      for (SymInt& s : i->access.strides) s = s == SymInt(6) ? SymInt(4) : s;
                      if (i->access.strides.size() == 1) i->access.strides[0] = 0;
                    })});
  faults.push_back(
      {"a guard reaches one element too far", kPadProgram, EditInstr(ScalarOp::kLoad, [](Instr* i) {
         for (Access::Guard& g : i->access.guards) g.bound = g.bound - 1;
       })});
  return faults;
}

std::vector<TargetFault> NestFaults() {
  std::vector<TargetFault> faults;
  faults.push_back({"a loop ends one short", kConvolutionProgram, EditNest([](Nest* n) {
                      n->outer.back() = n->outer.back() - 1;
                      return true;
                    })});
  faults.push_back(
      {"a reduction leaves out its last element", kSoftmaxProgram, EditNest([](Nest* n) {
         if (n->inner.empty()) return false;
         n->inner.back() = n->inner.back() - 1;
         return true;
       })});
  faults.push_back({"another reduction", kSoftmaxProgram, EditNest([](Nest* n) {
                      for (Stage& stage : n->stages) {
                        for (Reduction& r : stage.reductions) {
                          if (r.op != ReduceOp::kMaximum) continue;
                          r.op = ReduceOp::kSum;
                          stage.reductions[0].value = r.value;
                          return n->stages.size() > 1;
                        }
                      }
                      return false;
                    })});
  faults.push_back(
      {"the last position in place of the first", kIntegerProgram, EditNest([](Nest* n) {
         for (Stage& stage : n->stages) {
           for (Reduction& r : stage.reductions) {
             if (r.op != ReduceOp::kArgMax) continue;
             r.op = ReduceOp::kArgMin;
             return true;
           }
         }
         return false;
       })});
  faults.push_back(
      {"results are stored one element late", kConvolutionProgram, EditNest([](Nest* n) {
         Access& access = n->stages.back().stores[0].access;
         access.offset = access.offset + 1;
         return true;
       })});
  return faults;
}

std::vector<TargetFault> StepFaults() {
  std::vector<TargetFault> faults;
  faults.push_back({"the last op of an epilogue is dropped", kLinearProgram,
                    EditLibrary([](Step* s) { s->epilogue.pop_back(); })});
  faults.push_back({"another op in an epilogue", kLinearProgram, EditLibrary([](Step* s) {
                      s->epilogue[0].op = &ops::sub;
                      s->epilogue[0].schema = &ops::sub.schema();
                    })});
  faults.push_back(
      {"the operand of an epilogue begins one row late", kLinearProgram, EditLibrary([](Step* s) {
         View& v = s->args[s->epilogue[0].arg];
         v.strides = {SymInt(0), v.strides[1]};
       })});
  faults.push_back({"a weight is read transposed", kLinearProgram, EditLibrary([](Step* s) {
                      std::swap(s->args[1].strides[0], s->args[1].strides[1]);
                    })});
  faults.push_back(
      {"a piece of a concatenation lies one element off", kConcatProgram, [](Plan* plan) {
         const int step = FindStep(*plan, StepKind::kCopy);
         if (step >= 0) {
           View& to = plan->steps[step].results[0];
           to.offset = to.offset + 1;
         }
         return step;
       }});
  faults.push_back({"a buffer is too small", kPointwiseProgram, [](Plan* plan) {
                      for (size_t i = 0; i < plan->steps.size(); ++i) {
                        Buffer& b = plan->buffers[plan->steps[i].results[0].buffer];
                        if (b.kind != BufferKind::kTemporary) continue;
                        b.numel = b.numel - 1;
                        return static_cast<int>(i);
                      }
                      return -1;
                    }});
  return faults;
}

}  // namespace

std::vector<TargetFault> PlanFaults() {
  std::vector<TargetFault> faults = KernelFaults();
  for (TargetFault& fault : NestFaults()) faults.push_back(std::move(fault));
  for (TargetFault& fault : StepFaults()) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace weft
