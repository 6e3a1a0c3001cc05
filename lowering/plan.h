// Plans: the steps that an executor runs, and the memory of every tensor.
//
// A plan is made from a graph without writes (lower.h). Sizes are symbolic: one plan serves every
// assignment of the symbols that the signature admits. The offsets of temporaries in one arena
// depend on the assignment; memory_plan.h finds them and the executor keeps them.
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
// A plan is self-contained: it has its constants, the facts about its symbols, and the names of the
// source nodes of its steps, and does not point into the module that it was made from. Nested plans
// share its constants and facts, which are printed once, in the outermost plan: `where` gives
// ranges, divisors and hints of symbols, `assume` the conditions among the facts, and `constant`
// the number, the name of the model's parameter, the type and the content id
// (HostTensor::Fingerprint) of each constant. The data of constants is not in the text.
//
// An input has a line of its own if its name differs from its buffer's, if nothing reads it, or if
// the plan is valid only for one value of it (`is constant 3`). `writes back 0, 2` says that the
// last outputs are the new values of these inputs.
//
// An output that is the new value of an input may have that input's buffer as its donor: `output 1
// donor %x`. If the caller gives up the input's memory, the output is stored in it (write_backs.h).
//
// Conditions on sizes under which the steps stay inside of their buffers, as far as the facts do
// not prove them: that two tensors have equal sizes, that windows fit. The executor refuses inputs
// and data that break one.
//
// Symbols: those of the inputs' types have values before the first step. A step with data-dependent
// results gives values to the symbols of their types (a library step then `finds sizes`); its
// results, and buffers whose size mentions such a symbol, are allocated outside of the arena when
// the symbols are known.
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
struct OpSchema;
struct Plan;
struct PlanConstants;
struct PlanOps;

enum class BufferKind : uint8_t {
  kInput,      // The caller's; read only, except for outputs whose donor it is.
  kOutput,     // Returned to the caller.
  kConstant,   // One of the plan's constants; read only.
  kTemporary,  // In the arena.
};

// Memory for `numel` elements. Values are views of buffers; several values may share one: views,
// in-place results, slices of a concatenation.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  DType dtype = DType::kF32;
  SymInt numel;
  int index = -1;        // Number of the input, output or constant.
  bool dynamic = false;  // The size depends on data: allocated during the run.
  int donor = -1;        // The input buffer that an output may be stored in; -1: none.
  // The reason that an output that is an input's new value has no donor.
  std::string remark;
};

// A tensor in a buffer, as a memref: element (i...) is at offset + strides * i, in elements of
// `type`'s dtype. Strides may be negative or 0 in views that are read. A symint has no buffer: its
// type has its value; as a result of a step it gives its symbol a value.
struct View {
  int buffer = -1;  // -1: a symint, or an absent operand or result.
  Type type;
  SymInt offset;
  std::vector<SymInt> strides;

  bool present() const { return buffer >= 0; }
};

enum class StepKind : uint8_t {
  kKernel,     // Launches kernels[kernel] on args, then results, in order.
  kLibrary,    // An op that the target has a routine for, with an epilogue.
  kReference,  // An op through its Eval, on host tensors.
  kCopy,       // results[0] = args[0], any strides.
  kControl,    // cond, loop, scan: nested plans.
};

// An op that a library call applies to its result before it is stored; ops apply in order.
struct Epilogue {
  enum class Kind : uint8_t {
    kBias,    // + args[arg], along the channel (last dim; dim 1 for conv).
    kBinary,  // op(result, args[arg]), broadcast.
    kUnary,   // op(result), `alpha` and `beta` its parameters.
  };
  Kind kind = Kind::kUnary;
  // add, mul, relu, gelu, sigmoid, clamp, ...; null in a plan that was read without ops.
  const OpDef* op = nullptr;
  const OpSchema* schema = nullptr;  // The op's name, and the names of its attributes.
  const AttrList* attrs = nullptr;
  int arg = -1;
};

// The source nodes of a step, for traces and messages.
struct StepSource {
  // Names of the nodes of the source model that the step stands for. A merged kernel may stand for
  // thousands; only the first ones are kept.
  std::vector<std::string> nodes;
  // The passes and rules that led to its node, the latest first, each once: "freeze",
  // "canonicalize.mul-one". Neither the text form of plans nor that of graphs has them.
  std::vector<std::string> rules;
};

struct Step {
  StepKind kind = StepKind::kKernel;
  int kernel = -1;
  // The op of a library, reference or control step, with its name and its attributes, which may
  // contain symbols. Evaluation uses the op, which is null in a plan that was read without ops;
  // routines use the schema, messages and traces the name.
  const OpDef* op = nullptr;
  const OpSchema* schema = nullptr;
  std::string op_name;
  const AttrList* attrs = nullptr;
  // Operations of a library step, epilogue included (step_cost.h); invalid if unknown.
  SymInt flops = SymInt::Invalid();
  std::vector<View> args;  // For a kernel: all views that it reads.
  // For a kernel: all views that it writes. An absent result is unused.
  std::vector<View> results;
  std::vector<Epilogue> epilogue;
  // The argument that the epilogue adds to the result of a matmul or convolution before anything
  // except a bias: the result may take its memory, because the routine accumulates. -1: none.
  int accumulates = -1;
  // The argument whose elements are indices that the routine of a library step checks, and the one
  // whose memory the result may take, because the routine updates it in place (Routine::indices,
  // Routine::in_place). -1: none.
  int indices = -1;
  int updates = -1;
  // The sizes of a library step's results depend on data. Those of reference steps and of control
  // flow may.
  bool finds_sizes = false;
  std::vector<std::unique_ptr<Plan>> regions;
  uint32_t node = 0;                         // Id of its node in the graph.
  std::shared_ptr<const StepSource> source;  // Null: unknown.
  // The reason that the step runs on the reference, or the reader that needs the copy.
  std::string remark;
};

// The view of a graph's value after the steps of its node have run.
struct PlacedValue {
  uint32_t value = 0;  // The value's id in the graph.
  View view;
};

// A condition on sizes, and the node that relies on it. It is checked as soon as its symbols have
// values: before the first step, or after the step that defines the last one. Conditions of a
// nested plan are checked where that plan runs.
struct PlanCondition {
  SymInt condition;
  std::string origin;
};

// An input that the caller gives.
struct PlanInput {
  Type type;
  std::string name;  // May be empty.
  // False: the input is unused and may have any size.
  bool read = true;
  // Number of the constant that the input must equal; -1: any value.
  int value = -1;
};

// Plans are moved, not copied. Reading is thread-safe.
struct Plan {
  std::string name;
  // Shared by a plan and its nested plans, and never changed; plan_facts.h reads and sets them.
  // Null: no constants, and no facts.
  std::shared_ptr<const PlanConstants> constants;
  std::shared_ptr<const SymbolTable> symbols;
  // Shared likewise: what a program without ops knows of the steps' ops. Null: nothing.
  std::shared_ptr<const PlanOps> ops;
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
  // Views of inputs and of results of nodes, in the order of the graph; a check of the plan against
  // its graph reads them. Empty unless LoweringOptions::record_values is set; not part of the text
  // form.
  std::vector<PlacedValue> values;
};

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_H_
