// Makes the body of one stage; equal instructions are shared.
#ifndef WEFT_LOWERING_KERNEL_BODY_H_
#define WEFT_LOWERING_KERNEL_BODY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/sym/sym_int.h"
#include "graph/target/target.h"
#include "lowering/kernel.h"

namespace weft {

bool operator==(const IndexTerm& a, const IndexTerm& b);
bool operator==(const Access::Guard& a, const Access::Guard& b);
bool operator==(const Access& a, const Access& b);
bool operator==(const Instr& a, const Instr& b);

// The dtype in which kernels compute with elements of this dtype: f32 for f16 and bf16, else the
// dtype itself.
DType KernelDType(DType dtype);
// False for dtypes that kernels do not support.
bool IsKernelDType(DType dtype);
// Also false for dtypes that kernels of this target do not support.
bool IsKernelDType(const Target& target, DType dtype);

class KernelBody {
 public:
  // Functions return the number of an instruction.
  int Add(Instr instr);
  int Const(DType dtype, double value);
  int ConstInt(DType dtype, int64_t value);
  int Size(SymInt value);  // i64; a kConst if it is constant.
  int Op(ScalarOp op, DType dtype, int a, int b = -1, int c = -1);
  int Compare(ScalarOp op, int a, int b) { return Op(op, DType::kBool, a, b); }
  // The operand itself if it has the dtype.
  int Convert(int a, DType dtype);
  // Converts to f16 or bf16 and back; the operand itself for other dtypes.
  int Round(int a, DType via);

  DType dtype(int instr) const { return instrs_[instr].dtype; }
  const Instr& instr(int i) const { return instrs_[i]; }
  int size() const { return static_cast<int>(instrs_.size()); }
  std::vector<Instr> Take() { return std::move(instrs_); }

 private:
  std::vector<Instr> instrs_;
  absl::flat_hash_map<uint64_t, std::vector<int>> by_hash_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_BODY_H_
