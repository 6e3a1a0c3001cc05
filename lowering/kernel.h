// Kernels: loop nests over symbolic extents with a scalar body.
//
// One launch runs one kernel, which consists of one or more independent nests. A nest runs its
// `outer` loops in any order, in parallel; for each of their points it runs its stages in order. A
// stage runs the nest's `inner` loops over its body, or the body once (`per_row`). A value that a
// stage reduces over the inner loops is a scalar for later stages of the same point. A value that
// it keeps in a row (a temporary with one element per point of the inner loops) can be read by
// later stages at the same inner point.
//
//   softmax over the last dim of f32[s0, 1024]:
//
//   kernel @softmax(%x: f32, %y: f32 out) {
//     nest (i0 < s0) (j0 < 1024) rows(f32) {
//       stage {
//         %0 = load %x[1024*i0 + j0] : f32
//         reduce max %0 -> $0
//       }
//       stage {
//         %0 = load %x[1024*i0 + j0] : f32
//         %1 = sub %0, $0 : f32
//         %2 = exp %1 : f32
//         keep %2 -> row 0
//         reduce sum %2 -> $1
//       }
//       stage {
//         %0 = row 0 : f32
//         %1 = div %0, $1 : f32
//         store %1 -> %y[1024*i0 + j0]
//       }
//     }
//   }
//
// Numbers: an instruction computes in its dtype, which is one of f32, f64, i32, i64, u8 to u64, i8,
// i16 or bool. Half and 8-bit floats exist only in memory: a load widens to f32, a store rounds to
// nearest even. If a graph requires an intermediate to be rounded (strict), there is a `round`
// instruction.
//
// Element types of arguments are bool, integers of 8 to 64 bits, f16, bf16, f32 and f64: steps on
// other dtypes (4-bit, 8-bit floats, complex) are not kernels.
//
// A nest without reductions has only outer loops: `inner` is empty and its single stage runs once
// per point. Loops of extent 1 are dropped, and loops that every access walks with one stride are
// joined. The last outer loop is the fastest one of the result. Values that do not depend on inner
// loops are computed once per row.
//
// A kernel defines the values to compute; its schedule (kernel_schedule.h) defines the order and
// the number of lanes.
//
// Indices are linear in the loop variables with symbolic coefficients, in elements from the
// argument's first one, which is where its view begins; a gather adds terms whose factor is an
// integer value of the body. Extents and coefficients contain symbols; the executor evaluates them
// once per launch.
#ifndef WEFT_LOWERING_KERNEL_H_
#define WEFT_LOWERING_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"
#include "lowering/kernel_schedule.h"

namespace weft {

// The operation of an instruction. Comparisons and logic give bool. Float semantics are those of
// the op with the same name in graph/ops: minimum and maximum propagate NaN, integer division by
// zero gives the op's result.
enum class ScalarOp : uint8_t {
  // Leaves.
  kConst,    // `imm` (floats) or `int_imm` (integers, bool).
  kSize,     // The value of the expression `size`; i64.
  kIndex,    // Loop variable `loop`, outer loops before inner ones; i64.
  kLoad,     // The element of an argument at `access`.
  kRow,      // The element that an earlier stage kept in row `loop`.
  kReduced,  // The result of an earlier stage's reduction number `loop`.
  // Conversions to `dtype` from the operand's; kRound converts to `via` and back.
  kConvert,
  kRound,
  kBitcast,
  // Arithmetic.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kTruncDiv,
  kRemainder,
  kFmod,
  kPow,
  kAtan2,
  kMinimum,
  kMaximum,
  kNeg,
  kAbs,
  kSign,
  kFma,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  // Functions.
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kLgamma,
  kSigmoid,
  kFloor,
  kCeil,
  kRoundEven,
  kTrunc,
  // Comparisons, logic, selection.
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kNot,
  kAnd,
  kOr,
  kXor,
  kIsNan,
  kIsInf,
  kSelect,  // a ? b : c
};

// One term of an index whose factor is a value of the body: value * stride. The value must be in
// [0, bound) after `bound` is added to a negative one; otherwise the run fails with OutOfRange and
// does not read.
struct IndexTerm {
  int value = -1;  // An instruction of the same body.
  SymInt stride;
  SymInt bound;
};

struct Access {
  int arg = -1;  // Argument of the kernel.
  SymInt offset;
  std::vector<SymInt> strides;  // One per loop, outer then inner.
  std::vector<IndexTerm> terms;
  // The access reads nothing at points where one of these (linear in the loops) is outside of [0,
  // bound): the load gives instruction `otherwise` there. Used for padding.
  struct Guard {
    SymInt offset;
    std::vector<SymInt> strides;
    SymInt bound;
  };
  std::vector<Guard> guards;
  int otherwise = -1;
};

struct Instr {
  ScalarOp op = ScalarOp::kConst;
  DType dtype = DType::kF32;
  int operands[3] = {-1, -1, -1};  // Instructions of the same body.
  double imm = 0;
  int64_t int_imm = 0;
  SymInt size;
  int loop = -1;
  Access access;            // kLoad
  DType via = DType::kF32;  // kRound
};

enum class ReduceOp : uint8_t {
  kSum,
  kProduct,
  kMaximum,
  kMinimum,
  kAnd,
  kOr,
  // The smallest inner position (row-major) of the largest or smallest value; i64. NaN counts as
  // the largest (smallest).
  kArgMax,
  kArgMin,
};

struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  int value = -1;
  // Dtype of the accumulators. The schedule defines the order of additions.
  DType dtype = DType::kF32;
};

struct Store {
  int value = -1;
  Access access;
};

// Keeps `value` for later stages, for every inner point.
struct Keep {
  int value = -1;
  int row = -1;
};

struct Stage {
  bool per_row = false;  // No inner loops; nothing is reduced or kept.
  std::vector<Instr> body;
  std::vector<Keep> keeps;
  // Numbered through all stages of the nest, in order.
  std::vector<Reduction> reductions;
  std::vector<Store> stores;
};

struct Nest {
  std::vector<SymInt> outer;  // Extents.
  std::vector<SymInt> inner;
  std::vector<DType> rows;
  std::vector<Stage> stages;
};

struct KernelArg {
  DType dtype = DType::kF32;
  bool written = false;
};

struct Kernel {
  std::string name;
  std::vector<KernelArg> args;
  std::vector<Nest> nests;
  KernelSchedule schedule;
};

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_H_
