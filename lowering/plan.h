// Plans: what an executor runs, step by step, and where every tensor lies.
//
// A plan is made from a graph without writes (lower.h). Sizes are symbolic: one
// plan serves every assignment of the symbols that the signature admits. What
// depends on an assignment, the offsets of temporaries in one arena, is found
// by memory_plan.h and remembered by whoever runs the plan.
//
//   plan @main(%x: f32[s0, 128]) -> (%y: f32[s0, 64]) where 1 <= s0 <= 4096 {
//     constant 0 "fc.weight" : f32[128, 64] id 0x8c1f2e90a4b7d365
//     assume (s0 <= 4096) from "the where clause"
//     input 0 "tokens" unread
//     buffer %x : f32[128*s0] input 0
//     buffer %w : f32[8192] constant 0
//     buffer %t : f32[64*s0] temporary
//     buffer %y : f32[64*s0] output 0
//     condition (s1 == 128) from "matmul, from \"fc\""
//     kernel @relu.0(%a0: f32, %a1: f32 out) {...}
//     library matmul (%x: f32[s0, 128], %w: f32[128, 64]) -> (%t: f32[s0, 64]) node 1 from "fc"
//     launch @relu.0 (%t: f32[s0, 64]) -> (%y: f32[s0, 64]) node 2
//   }
//
// A plan is self-contained: it holds its constants, the facts about its symbols, and the names of
// the source nodes of its steps, and does not point into the module that it was made from. Plans
// that are nested in it share its constants and facts, which the text has once, in the outermost
// plan: `where` gives ranges, divisors and hints of symbols, `assume` the conditions among the
// facts, and `constant` the number, the name of the model's parameter, the type and the content id
// (HostTensor::Fingerprint) of each constant. The data of constants is not in the text.
//
// An input has a line of its own where it is named otherwise than its buffer, where nothing reads
// it, or where the plan holds for one value of it (`is constant 3`). `writes back 0, 2` says that
// the last outputs are the new values of these inputs.
//
// An output that is the new value of an input may have that input's buffer as its
// donor: `output 1 donor %x`. Where the caller gives the input's memory away, the
// output lies in it (write_backs.h).
//
// Conditions say under which sizes the steps stay inside of their buffers, as far as
// the facts leave that open: what two tensors share, that windows fit.
// The executor refuses inputs and data that break one.
//
// Symbols: those of the inputs' types have values before the first step. A step
// with data-dependent results gives values to the symbols of their types; its
// results, and buffers whose size mentions such a symbol, are allocated when
// the symbols are known, apart from the arena.
#ifndef WEFT_LOWERING_PLAN_H_
#define WEFT_LOWERING_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor/type.h"
#include "lowering/kernel.h"

namespace weft {

class AttrList;
class OpDef;
class SymbolTable;
struct Plan;
struct PlanConstants;

enum class BufferKind : uint8_t {
  kInput,      // The caller's; read only, but for outputs whose donor it is.
  kOutput,     // Handed to the caller.
  kConstant,   // One of the plan's constants; read only.
  kTemporary,  // In the arena.
};

// Memory for `numel` elements. Values are views of buffers; two values may have
// one buffer: views, in-place results, slices of a concatenation.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  DType dtype = DType::kF32;
  SymInt numel;
  int index = -1;        // Number of the input, output or constant.
  bool dynamic = false;  // The size depends on data: allocated on the way.
  int donor = -1;        // The input buffer that an output may lie in; -1: none.
  // Why an output that is an input's new value has no donor.
  std::string remark;
};

// A tensor in a buffer, as a memref: element (i...) is at offset + strides * i,
// in elements of `type`'s dtype. Strides may be negative or 0 where it is read.
// A symint has no buffer: its type says what it is; as a result of a step it
// gives its symbol a value.
struct View {
  int buffer = -1;  // -1: a symint, or an absent operand or result.
  Type type;
  SymInt offset;
  std::vector<SymInt> strides;

  bool present() const { return buffer >= 0; }
};

enum class StepKind : uint8_t {
  kKernel,     // Launches kernels[kernel] on args, then results, in order.
  kLibrary,    // An op that the backend has a routine for, with an epilogue.
  kReference,  // An op through its Eval, on host tensors.
  kCopy,       // results[0] = args[0], any strides.
  kControl,    // cond, loop, scan: nested plans.
};

// What a library call does to its result before it is stored, in order.
struct Epilogue {
  enum class Kind : uint8_t {
    kBias,    // + args[arg], along the channel (last dim; dim 1 for conv).
    kBinary,  // op(result, args[arg]), broadcast.
    kUnary,   // op(result), `alpha` and `beta` its parameters.
  };
  Kind kind = Kind::kUnary;
  const OpDef* op = nullptr;  // add, mul, relu, gelu, sigmoid, clamp, ...
  const AttrList* attrs = nullptr;
  int arg = -1;
};

// Where a step comes from, for traces and messages.
struct StepSource {
  // Names of the nodes of the source model that the step stands for. A merged kernel may stand for
  // thousands, of which the first ones are named.
  std::vector<std::string> nodes;
  // The passes and rules that led to its node, the latest first, each once: "freeze",
  // "canonicalize.mul-one". The text form has none of them, as that of graphs.
  std::vector<std::string> rules;
};

struct Step {
  StepKind kind = StepKind::kKernel;
  int kernel = -1;
  // The op of a library, reference or control step, with its name and its attributes, which may
  // hold symbols. Routines and evaluation take the op; messages and traces the name.
  const OpDef* op = nullptr;
  std::string op_name;
  const AttrList* attrs = nullptr;
  std::vector<View> args;  // Of a kernel: all that it reads.
  // Of a kernel: all that it writes. Absent: nothing reads the result.
  std::vector<View> results;
  std::vector<Epilogue> epilogue;
  // The argument that the epilogue adds to the result of a matmul or a convolution before anything
  // else but a bias: the result may take its memory, for the routine accumulates. -1: none.
  int accumulates = -1;
  std::vector<std::unique_ptr<Plan>> regions;
  uint32_t node = 0;                         // Id of the node that it was made from, in its graph.
  std::shared_ptr<const StepSource> source;  // Null: nothing is known.
  // Why a reference step is none better, or who needs a copy in another order.
  std::string remark;
};

// Where a value of the graph lies once the steps of its node have run.
struct PlacedValue {
  uint32_t value = 0;  // The value's id in the graph.
  View view;
};

// A condition on sizes, and the node that relies on it. It is checked as soon as its
// symbols have values: before the first step, or behind the step that gives the last
// one its value. Conditions of a nested plan are checked where that plan runs.
struct PlanCondition {
  SymInt condition;
  std::string origin;
};

// What the caller gives.
struct PlanInput {
  Type type;
  std::string name;  // Empty: it has none.
  // false: nothing reads it, and it may have any size.
  bool read = true;
  // The plan holds for this value alone, a constant's number; -1: for all values.
  int value = -1;
};

// Plans are moved, not copied. Reading one from several threads at once is safe.
struct Plan {
  std::string name;
  // Shared by a plan and those nested in it, and never changed; plan_facts.h reads and sets them.
  // Null: no constants, and no facts.
  std::shared_ptr<const PlanConstants> constants;
  std::shared_ptr<const SymbolTable> symbols;
  std::vector<PlanInput> inputs;
  std::vector<Type> outputs;
  // The inputs whose new values are the last outputs, in ascending order.
  std::vector<int> write_backs;
  std::vector<Buffer> buffers;
  std::vector<View> input_views;
  std::vector<View> output_views;
  std::vector<PlanCondition> conditions;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  // Inputs and results of nodes that have a place, in the order of the graph: what a check
  // of the plan against its graph reads. Empty unless LoweringOptions::record_values asks
  // for them; the text form leaves them out.
  std::vector<PlacedValue> values;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_H_
