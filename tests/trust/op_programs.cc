#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "tests/trust/samples.h"
#include "tests/trust/schema_programs.h"

namespace weft::trust {
namespace {

using OpList = std::vector<const OpDef*>;

bool TakesTensorsAlone(const OpDef& op) {
  for (const OperandSpec& operand : op.schema().operands) {
    if (operand.variadic || operand.symint) return false;
  }
  return true;
}

bool HasDefaults(const OpDef& op) {
  for (const AttrSpec& attr : op.schema().attrs) {
    if (!attr.optional && !attr.default_value) return false;
  }
  return true;
}

OpList PointwiseOps(size_t operands) {
  OpList found;
  for (const OpDef* op : ops::Registry().All()) {
    if (op->has(kPointwise) && op->is_mergeable() && TakesTensorsAlone(*op) && HasDefaults(*op) &&
        op->schema().operands.size() == operands) {
      found.push_back(op);
    }
  }
  return found;
}

const OpList& Unary() {
  static const OpList& list = *new OpList(PointwiseOps(1));
  return list;
}

const OpList& Binary() {
  static const OpList& list = *new OpList(PointwiseOps(2));
  return list;
}

// Functions that turn the last bit of their operand into any value somewhere.
bool IsSteep(const OpDef& op) {
  static const auto& names = *new absl::flat_hash_set<absl::string_view>{
      "acos",  "acosh",     "asin",    "ceil",   "digamma",  "erfcx",      "erfinv",
      "floor", "igamma",    "igammac", "lgamma", "ndtri",    "atanh",      "round",
      "trunc", "polygamma", "rsqrt",   "sign",   "tan",      "reciprocal", "zeta",
      "log",   "log2",      "fmod",    "pow",    "remainder"};
  return absl::StartsWith(op.name(), "bessel") || names.contains(op.name());
}

// Ops that follow a routine in models more than once.
const OpDef* CommonUnary(Random& random) {
  return random.Of({&ops::relu, &ops::gelu, &ops::sigmoid, &ops::tanh, &ops::silu, &ops::hardswish,
                    &ops::hardsigmoid, &ops::abs, &ops::neg, &ops::exp, &ops::leaky_relu, &ops::elu,
                    &ops::hardtanh, &ops::mish, &ops::softplus});
}

const OpDef* CommonBinary(Random& random) {
  return random.Of({&ops::add, &ops::add, &ops::mul, &ops::mul, &ops::sub, &ops::div, &ops::maximum,
                    &ops::minimum});
}

// Ops that a dtype refuses are tried and dropped: the status of a builder sticks.
bool Accepts(const OpDef& op, const std::vector<Value*>& operands) {
  std::vector<Type> types;
  for (Value* v : operands) types.push_back(v == nullptr ? Type() : v->type());
  const auto attrs = MakeAttrs(op, {});
  if (!attrs.ok()) return false;
  SymbolTable symbols;
  OpArgs args;
  args.op = &op;
  args.operands = operands;
  args.types = types;
  args.attr_list = *attrs;
  args.symbols = &symbols;
  return InferTypes(args).ok();
}

Value* Apply(ProgramBuilder& p, const OpDef& op, const std::vector<Value*>& operands) {
  // A number that a dtype does not have leaves an operand out.
  if (!p.builder().status().ok() || !Accepts(op, operands)) return nullptr;
  return p.builder().Op(op, absl::MakeConstSpan(operands));
}

// Another operand for a result of these sizes.
Value* Other(ProgramBuilder& p, Value* value, const Dims& dims) {
  Random& random = p.random();
  const DType dtype = value->type().dtype();
  if (random.OneIn(10)) return value;
  if (random.OneIn(6)) {
    Value* existing = p.Existing(dtype, dims);
    if (existing != nullptr) return existing;
  }
  if (!IsComplex(dtype) && random.OneIn(8))
    return p.builder().Scalar(dtype, random.Of({0.5, 1.0, -2.0, 3.0, 0.0}));
  return p.Broadcast(dtype, dims);
}

Value* OnePointwise(ProgramBuilder& p, Value* value, const Dims& dims) {
  Random& random = p.random();
  switch (random.Pick(0, 9)) {
    case 0: {
      const OpDef* op = random.Of(Unary());
      return IsSteep(*op) ? nullptr : Apply(p, *op, {value});
    }
    case 1:
    case 2:
    case 3:
      return Apply(p, *CommonUnary(random), {value});
    case 4: {
      if (IsComplex(value->type().dtype())) return nullptr;
      Value* low = random.OneIn(3) ? nullptr : p.builder().Scalar(value->type().dtype(), -1);
      Value* high = random.OneIn(3) ? nullptr : p.builder().Scalar(value->type().dtype(), 1);
      if (low == nullptr && high == nullptr) return nullptr;
      return Apply(p, ops::clamp, {value, low, high});
    }
    default: {
      const OpDef* op = random.OneIn(4) ? random.Of(Binary()) : CommonBinary(random);
      // The result of a routine may be 0 up to rounding.
      const bool divides = op == &ops::div || op == &ops::atan2;
      std::vector<Value*> operands = {
          value, divides ? p.Leaf(value->type().dtype(), dims) : Other(p, value, dims)};
      if (!divides && random.OneIn(3)) std::swap(operands[0], operands[1]);
      return IsSteep(*op) ? nullptr : Apply(p, *op, operands);
    }
  }
}

constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF16, DType::kBF16,
                             DType::kF64, DType::kI8,  DType::kU8,  DType::kI16, DType::kU16,
                             DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kBool};

// Ranks 0 to 5, sizes 0, 1, odd and large.
Dims DrawDims(Random& random) {
  Dims dims;
  for (int rank = random.Pick(0, 5); rank > 0; --rank) {
    dims.push_back(random.OneIn(30)  ? 0
                   : random.OneIn(4) ? 1
                                     : random.Of<int64_t>({2, 3, 4, 5, 7, 8, 9, 16, 17, 33}));
  }
  if (random.OneIn(8) && !dims.empty()) dims.back() = random.Pick(60, 700);
  while (NumElements(dims) > 20000) *std::max_element(dims.begin(), dims.end()) /= 2;
  return dims;
}

Value* AddBroadcastOp(ProgramBuilder& p) {
  Random& random = p.random();
  const Dims dims = DrawDims(random);
  const DType dtype = random.Of(std::vector<DType>(std::begin(kDTypes), std::end(kDTypes)));
  Value* x = p.random().OneIn(2) ? p.Operand(dtype, dims) : p.Broadcast(dtype, dims);
  if (random.OneIn(3)) return Apply(p, *random.Of(Unary()), {x});
  Value* y = random.OneIn(8) ? x : p.Broadcast(dtype, dims);
  if (random.OneIn(8)) {
    return Apply(p, ops::where, {p.Broadcast(DType::kBool, dims), x, y});
  }
  return Apply(p, *random.Of(Binary()), {x, y});
}

// A float operand of a sample, computed by a linear of an earlier tensor.
Value* ByLinear(ProgramBuilder& p, const HostTensor& tensor) {
  Dims dims(tensor.dims().begin(), tensor.dims().end());
  const int64_t n = dims.back(), k = p.random().Pick(1, 9);
  dims.back() = k;
  Value* x = p.Operand(tensor.dtype(), dims);
  return AddPointwise(p, p.builder().Op(ops::linear, {x, p.Leaf(tensor.dtype(), {n, k}), nullptr}),
                      2);
}

Value* AddSample(ProgramBuilder& p) {
  Random& random = p.random();
  const Sample& sample = random.Of(OpSamples());
  std::vector<Value*> operands;
  // Ops such as convolutions with padding have values of their own for infinities.
  p.AllowEdges(false);
  for (const HostTensor& tensor : SampleInputs(sample, random.Next())) {
    if (!tensor.valid()) {
      operands.push_back(nullptr);
      continue;
    }
    const bool computed = tensor.dtype() == DType::kF32 && tensor.rank() > 0 && random.OneIn(3);
    if (computed && tensor.rank() > 1 && tensor.rank() < 6 && random.OneIn(2)) {
      operands.push_back(ByLinear(p, tensor));
    } else {
      Value* value = random.OneIn(3) ? p.builder().Constant(tensor) : p.Input(tensor);
      operands.push_back(computed ? AddPointwise(p, value, 2) : value);
    }
  }
  p.AllowEdges(true);
  if (!p.builder().status().ok()) return nullptr;
  const std::vector<Value*> results = p.builder().Create(*sample.op, operands, sample.attrs);
  return results.empty() ? nullptr : random.Of(results);
}

}  // namespace

Value* AddPointwise(ProgramBuilder& p, Value* value, int most) {
  Dims dims;
  for (int i = p.random().Pick(0, most); i > 0; --i) {
    if (!p.SizesOf(value, &dims)) return value;
    Value* next = OnePointwise(p, value, dims);
    // Comparisons turn on the last bit of what a routine gives.
    if (next == nullptr || next->type().dtype() != value->type().dtype()) continue;
    value = next;
  }
  return value;
}

absl::StatusOr<TestProgram> MakeOpProgram(Random& random) {
  const bool sample = random.OneIn(2);
  ProgramBuilder p(random, {random.OneIn(4), random.OneIn(5), false});
  Value* value = sample ? AddSample(p) : AddBroadcastOp(p);
  if (!p.builder().status().ok()) return p.builder().status();
  if (value == nullptr) return absl::NotFoundError("the op does not take this dtype");
  Dims dims;
  if (!p.SizesOf(value, &dims)) return p.Finish({value});
  Value* result = AddPointwise(p, p.Keep(value), 3);
  const bool floats = result->type().dtype() == DType::kF32;
  if (floats && p.SizesOf(result, &dims) && !dims.empty() && dims.back() < 100 && random.OneIn(3)) {
    Value* weight = p.Operand(DType::kF32, {random.Pick(1, 17), dims.back()});
    result = AddPointwise(p, p.builder().Op(ops::linear, {result, weight, nullptr}), 2);
  }
  if (!p.builder().status().ok()) return p.builder().status();
  return p.Finish({result});
}

absl::StatusOr<TestProgram> MakeSchemaProgram(uint64_t seed, Random& random) {
  if (seed % 4 == 0) {
    // Neighbours in the table are alike; a prime step takes few seeds through all kinds.
    constexpr uint64_t kStep = 1009;
    const std::vector<Coverage::Cell>& cells = ClaimedCells();
    return MakeCellProgram(cells[seed / 4 % cells.size() * kStep % cells.size()], random);
  }
  if (random.OneIn(3)) return MakeOpProgram(random);
  return random.OneIn(4) ? MakeOrderProgram(random) : MakeRoutineProgram(random);
}

}  // namespace weft::trust
