// Declarations shared by the files of the C++ emitter.
#ifndef WEFT_BACKENDS_CPU_EMIT_INTERNAL_H_
#define WEFT_BACKENDS_CPU_EMIT_INTERNAL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cpu/emit/emit_cc.h"
#include "lowering/emit/loop_text.h"
#include "lowering/emit/placement.h"
#include "lowering/emit/size_table.h"

namespace weft::cpu::cc {

using emit::LoopOrder;
using emit::Placement;
using emit::SizeTable;

// Types and functions at the beginning of every unit, and the math functions in `functions`.
std::string Prelude(const CcTarget& target, int lanes, const std::set<ScalarOp>& functions);
// The parts of the prelude for math functions: what all of them use, then those in `wanted`.
std::string MathBasics(const CcTarget& target);
std::string MathFunctions(const CcTarget& target, std::set<ScalarOp> wanted);

// The name of a dtype in the code: in memory ("m_bf16"), as a scalar ("f32") or
// as a vector of the target's lanes ("v_f32"). A bool is a mask, 0 or -1.
std::string MemoryType(DType dtype);
std::string ValueType(DType dtype, bool vector);
// The dtype of a value loaded from memory of this dtype.
DType LoadedType(DType memory);

// The body of one stage as statements, a list per level.
struct StageCode {
  std::vector<std::string> at_level;
  std::vector<Placement> placements;  // By instruction.
  bool checks = false;                // The code may set the error flag.
};

// `reduced`: placements of the reductions of earlier stages.
absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const LoopOrder& order,
                      absl::Span<const Placement> reduced, SizeTable* sizes,
                      std::set<ScalarOp>* functions, StageCode* code);

// One nest as statements that run its points [from, to).
struct NestCode {
  std::string text;
  SymInt points;
  SymInt scratch_bytes;
};
absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                      int lanes, SizeTable* sizes, std::set<ScalarOp>* functions, NestCode* code);

}  // namespace weft::cpu::cc

#endif  // WEFT_BACKENDS_CPU_EMIT_INTERNAL_H_
