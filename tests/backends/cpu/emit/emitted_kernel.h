// Kernels as C++, compiled and run for every instruction set that this machine has.
#ifndef WEFT_TESTS_BACKENDS_CPU_EMIT_EMITTED_KERNEL_H_
#define WEFT_TESTS_BACKENDS_CPU_EMIT_EMITTED_KERNEL_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/kernel_library.h"
#include "graph/sym/sym_expr.h"
#include "graph/target/target.h"
#include "gtest/gtest.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {

inline const SymInt kRows = SymInt::Symbol("rows");
inline const SymInt kCols = SymInt::Symbol("cols");

// Writes bodies line by line; each call gives the instruction's number.
class Body {
 public:
  explicit Body(Stage* stage) : stage_(*stage) {}

  int Op(ScalarOp op, DType dtype, int a = -1, int b = -1, int c = -1) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.operands[0] = a;
    instr.operands[1] = b;
    instr.operands[2] = c;
    return Push(instr);
  }
  int Load(int arg, std::vector<SymInt> strides, DType dtype = DType::kF32) {
    Access access;
    access.arg = arg;
    access.strides = std::move(strides);
    return Load(access, dtype);
  }
  int Load(Access access, DType dtype = DType::kF32) {
    Instr instr;
    instr.op = ScalarOp::kLoad;
    instr.dtype = dtype;
    instr.access = std::move(access);
    return Push(instr);
  }
  int Const(double value) {
    Instr instr;
    instr.imm = value;
    return Push(instr);
  }
  int Numbered(ScalarOp op, DType dtype, int number) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.loop = number;
    return Push(instr);
  }
  void Store(int value, int arg, std::vector<SymInt> strides) {
    weft::Store store;
    store.value = value;
    store.access.arg = arg;
    store.access.strides = std::move(strides);
    stage_.stores.push_back(store);
  }

 private:
  int Push(Instr instr) {
    stage_.body.push_back(std::move(instr));
    return static_cast<int>(stage_.body.size()) - 1;
  }
  Stage& stage_;
};

using Fn = int (*)(void* const*, const long*, void*, long, long);

// An instruction set of the code, and the vector_bytes of a target that may be an edited one.
struct Machine {
  CcTarget cc;
  int64_t vector_bytes = 16;
};

inline std::vector<Machine> Machines() {
  std::vector<Machine> machines(1);
  const bool sleef = LoadSleef();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    machines.push_back({{CcTarget::Isa::kAvx2, sleef}, 32});
    machines.push_back({{CcTarget::Isa::kAvx2, sleef}, 16});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    machines.push_back({{CcTarget::Isa::kAvx512, sleef}, 64});
  }
  return machines;
}

inline int64_t Value(SymInt s, int64_t rows, int64_t cols) {
  return *Evaluate(
      s, [&](SymInt symbol) -> std::optional<int64_t> { return symbol == kRows ? rows : cols; });
}

// Runs `kernel` on the arguments for each target, in three parts. `check` is
// called after each run; the result is what the kernel returned.
template <typename Check>
int RunKernel(Kernel kernel, const std::vector<void*>& args, int64_t rows, int64_t cols,
              Check check) {
  int bad = 0;
  for (const Machine& machine : Machines()) {
    SCOPED_TRACE(absl::StrCat(machine.vector_bytes, " bytes, ", static_cast<int>(machine.cc.isa)));
    Target target;
    target.vector_bytes = machine.vector_bytes;
    kernel.schedule = DecideSchedule(kernel, target);
    const Kernel* one = &kernel;
    const auto unit = EmitCc(absl::MakeConstSpan(&one, 1), machine.cc);
    EXPECT_TRUE(unit.ok()) << unit.status();
    if (!unit.ok()) return -1;
    JitOptions options;
    options.flags = CcFlags(machine.cc);
    const auto library = KernelLibrary::Create(unit->text, options);
    EXPECT_TRUE(library.ok()) << library.status();
    if (!library.ok()) return -1;
    const CcKernel& info = unit->kernels[0];
    std::vector<long> sizes;
    for (SymInt s : info.sizes) sizes.push_back(Value(s, rows, cols));
    const int64_t points = Value(info.points, rows, cols);
    std::vector<char> scratch(Value(info.scratch_bytes, rows, cols) + 64);
    const auto fn = reinterpret_cast<Fn>((*library)->Find(info.symbol));
    const int64_t cuts[] = {0, points / 3, points - points / 4, points};
    for (int i = 0; i < 3; ++i) {
      bad |= fn(args.data(), sizes.data(), scratch.data(), cuts[i], cuts[i + 1]);
    }
    check();
  }
  return bad;
}

inline std::vector<float> Wave(int64_t n) {
  std::vector<float> v(n);
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(3 * std::sin(i * 0.37));
  return v;
}

}  // namespace weft::cpu

#endif  // WEFT_TESTS_BACKENDS_CPU_EMIT_EMITTED_KERNEL_H_
