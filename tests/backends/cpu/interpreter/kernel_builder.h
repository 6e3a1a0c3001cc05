// Kernels made by hand, for tests of code that runs them.
#ifndef WEFT_TESTS_BACKENDS_CPU_INTERPRETER_KERNEL_BUILDER_H_
#define WEFT_TESTS_BACKENDS_CPU_INTERPRETER_KERNEL_BUILDER_H_

#include <initializer_list>
#include <utility>
#include <vector>

#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

// Adds instructions to a stage; functions return the number of the value.
class StageBuilder {
 public:
  explicit StageBuilder(Stage* stage) : stage_(stage) {}

  int Op(ScalarOp op, DType dtype, std::initializer_list<int> operands) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    int k = 0;
    for (int operand : operands) instr.operands[k++] = operand;
    return Add(std::move(instr));
  }
  int Load(DType dtype, int arg, std::vector<SymInt> strides, SymInt offset = 0) {
    Instr instr;
    instr.op = ScalarOp::kLoad;
    instr.dtype = dtype;
    instr.access = At(arg, std::move(strides), offset);
    return Add(std::move(instr));
  }
  int Const(DType dtype, double value) {
    Instr instr;
    instr.dtype = dtype;
    instr.imm = value;
    instr.int_imm = static_cast<int64_t>(value);
    return Add(std::move(instr));
  }
  int Number(ScalarOp op, DType dtype, int number) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.loop = number;
    return Add(std::move(instr));
  }
  void Store(int value, int arg, std::vector<SymInt> strides, SymInt offset = 0) {
    stage_->stores.push_back({value, At(arg, std::move(strides), offset)});
  }
  void Reduce(ReduceOp op, int value, DType dtype = DType::kF32) {
    stage_->reductions.push_back({op, value, dtype});
  }
  void Keep(int value, int row) { stage_->keeps.push_back({value, row}); }
  Instr& instr(int value) { return stage_->body[value]; }

  static Access At(int arg, std::vector<SymInt> strides, SymInt offset = 0) {
    Access access;
    access.arg = arg;
    access.offset = offset;
    access.strides = std::move(strides);
    return access;
  }

 private:
  int Add(Instr instr) {
    stage_->body.push_back(std::move(instr));
    return static_cast<int>(stage_->body.size()) - 1;
  }

  Stage* stage_;
};

inline Kernel MakeKernel(std::vector<KernelArg> args, std::vector<SymInt> outer,
                         std::vector<SymInt> inner, size_t stages, std::vector<DType> rows = {}) {
  Kernel kernel;
  kernel.name = "test";
  kernel.args = std::move(args);
  Nest nest;
  nest.outer = std::move(outer);
  nest.inner = std::move(inner);
  nest.rows = std::move(rows);
  nest.stages.resize(stages);
  kernel.nests.push_back(std::move(nest));
  return kernel;
}

}  // namespace weft::cpu

#endif  // WEFT_TESTS_BACKENDS_CPU_INTERPRETER_KERNEL_BUILDER_H_
