// Declarations that the files of the C++ emitter share.
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

// Types and functions that every unit starts with; those of `functions` as well.
std::string Prelude(const CcTarget& target, int lanes, const std::set<ScalarOp>& functions);
// Its parts for functions of the math library: what all of them need, then those of `wanted`.
std::string MathBasics(const CcTarget& target);
std::string MathFunctions(const CcTarget& target, std::set<ScalarOp> wanted);

// The name of a dtype in the code: in memory ("m_bf16"), as a scalar ("f32") or
// as a vector of the target's lanes ("v_f32"). A bool is a mask, 0 or -1.
std::string MemoryType(DType dtype);
std::string ValueType(DType dtype, bool vector);
// The dtype of a value that is loaded from memory of this dtype.
DType LoadedType(DType memory);

// One stage's body as statements, a list for each level.
struct StageCode {
  std::vector<std::string> at_level;
  std::vector<Placement> placements;  // By instruction.
  bool checks = false;                // May set the error flag.
};

// `reduced`: placements of the reductions of earlier stages.
absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const LoopOrder& order,
                      absl::Span<const Placement> reduced, SizeTable* sizes,
                      std::set<ScalarOp>* functions, StageCode* code);

// One nest as statements that run the points [from, to) of it.
struct NestCode {
  std::string text;
  SymInt points;
  SymInt scratch_bytes;
};
absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                      int lanes, SizeTable* sizes, std::set<ScalarOp>* functions, NestCode* code);

}  // namespace weft::cpu::cc

#endif  // WEFT_BACKENDS_CPU_EMIT_INTERNAL_H_
