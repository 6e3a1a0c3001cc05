// What the files of the C++ emitter share.
#ifndef WEFT_LOWERING_EMIT_CC_INTERNAL_H_
#define WEFT_LOWERING_EMIT_CC_INTERNAL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "lowering/emit_cc.h"

namespace weft::cc {

// The sizes that a kernel reads, and how the code writes an expression: a
// literal, or an element of `sizes`.
class SizeTable {
 public:
  std::string Text(SymInt s);
  std::vector<SymInt> Take() { return std::move(sizes_); }

 private:
  std::vector<SymInt> sizes_;
  absl::flat_hash_map<SymInt, int> index_;
};

// A function of the math library, by its name in the code (w_exp) and in SLEEF.
struct MathFn {
  ScalarOp op;
  const char* name;  // libm's name for f64: "exp".
  // The accuracy of SLEEF's: "u10"; empty: libm's is taken, SLEEF's fmod is
  // slower.
  const char* sleef;
  int arity = 1;
};
// Null for instructions that are no such function.
const MathFn* FindMathFn(ScalarOp op);

// Types and functions that every unit starts with; those of `functions` as well.
std::string Prelude(const CcTarget& target, const std::set<ScalarOp>& functions);

// The name of a dtype in the code: in memory ("m_bf16"), as a scalar ("f32") or
// as a vector of the target's lanes ("v_f32"). A bool is a mask, 0 or -1.
std::string MemoryType(DType dtype);
std::string ValueType(DType dtype, bool vector);
// What a load of a dtype in memory gives.
DType LoadedType(DType memory);

// Where an instruction stands: the innermost loop that it depends on, as a
// level of the nest's code, and whether its lanes differ.
struct Placement {
  int level = 0;
  bool vector = false;
};

// The loops of a nest as code.
struct LoopOrder {
  int num_outer = 0;
  int vector_loop = -1;            // Outer loops, then inner ones; -1: none.
  std::vector<std::string> names;  // Of the loop variables.
  std::vector<int> levels;         // The level at which a loop's variable exists.
  int vector_level = 0;            // Of the code inside of the vector loop.
};

// One stage's body as statements, a list for each level.
struct StageCode {
  std::vector<std::string> at_level;
  std::vector<Placement> placements;  // By instruction.
  bool checks = false;                // May set the error flag.
};

// `reduced`: the placement of each reduction of earlier stages and their types.
struct ReducedValue {
  DType dtype;
  Placement placement;
};
absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const LoopOrder& order,
                      absl::Span<const ReducedValue> reduced, SizeTable* sizes,
                      std::set<ScalarOp>* functions, StageCode* code);

// One nest as statements that run the points [from, to) of it.
struct NestCode {
  std::string text;
  SymInt points;
  SymInt scratch_bytes;
};
absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const CcTarget& target,
                      SizeTable* sizes, std::set<ScalarOp>* functions, NestCode* code);

// offset + sum of strides * loop variables; `lane` is added to the vector loop's
// variable when it is not empty.
std::string LinearText(SymInt offset, absl::Span<const SymInt> strides, const LoopOrder& order,
                       absl::string_view lane, SizeTable* sizes);

}  // namespace weft::cc

#endif  // WEFT_LOWERING_EMIT_CC_INTERNAL_H_
