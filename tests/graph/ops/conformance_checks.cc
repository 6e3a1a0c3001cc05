#include "tests/graph/ops/conformance_checks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;
using TypeList = std::vector<Type>;

constexpr uint64_t kSeed = 20240229;

// A sample of the same op with other types.
Sample WithTypes(const Sample& sample, const TypeList& types) {
  Sample s = sample;
  for (size_t i = 0; i < types.size(); ++i) s.operands[i].type = types[i];
  return s;
}

std::string Show(const TypeList& types) {
  std::string text;
  for (Type t : types) absl::StrAppend(&text, t.ToString(), " ");
  return text;
}

void ExpectExact(const Tensors& got, const Tensors& want, std::string what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(ExactDifference(got[i], want[i]), "") << what << ", result " << i;
  }
}

}  // namespace

absl::StatusOr<Types> InferCase(const OpDef& op, absl::Span<const Type> types,
                                const AttrList* attrs, SymbolTable* symbols) {
  OpArgs args;
  args.op = &op;
  args.types = types;
  args.attr_list = attrs;
  args.symbols = symbols;
  return InferTypes(args);
}

std::optional<OpCase> MakeCase(const Sample& original) {
  const Sample sample = Instantiate(original);
  OpCase c{*sample.op, sample, SampleTypes(sample), {}, {}};
  c.inputs = SampleInputs(sample, kSeed);
  SymbolTable symbols;
  auto types = InferCase(c.op, c.types, sample.attrs, &symbols);
  auto outputs = Evaluate(c.op, sample.attrs, c.inputs);
  EXPECT_TRUE(types.ok()) << types.status();
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!types.ok() || !outputs.ok()) return std::nullopt;
  c.outputs = *std::move(outputs);
  return c;
}

// --- Symbolic sizes
// ------------------------------------------------------------

namespace {

bool MentionsUnknown(SymInt size, const std::map<std::string, int64_t>& known) {
  bool unknown = false;
  ForEachSymbol(size, [&](SymInt s) {
    if (known.count(std::string(s.name())) == 0) unknown = true;
  });
  return unknown;
}

// `symbolic`, inferred on symbols, against `want`, inferred on their values.
void ExpectInstance(const Types& symbolic, const Types& want,
                    const std::map<std::string, int64_t>& values) {
  ASSERT_EQ(symbolic.size(), want.size());
  const auto value_of = [&](SymInt s) -> std::optional<SymInt> {
    auto it = values.find(std::string(s.name()));
    if (it == values.end()) return std::nullopt;
    return SymInt(it->second);
  };
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(symbolic[i].kind(), want[i].kind());
    if (!want[i].is_tensor()) continue;
    EXPECT_EQ(symbolic[i].dtype(), want[i].dtype());
    ASSERT_EQ(symbolic[i].rank(), want[i].rank());
    for (int d = 0; d < want[i].rank(); ++d) {
      // Sizes that depend on data have a symbol of their own in each run.
      if (MentionsUnknown(symbolic[i].dim(d), values)) continue;
      EXPECT_EQ(Substitute(symbolic[i].dim(d), value_of), want[i].dim(d))
          << "dim " << d << " of " << symbolic[i].ToString() << " where " << want[i].ToString()
          << " is right";
    }
  }
}

// The decomposition on symbolic types can be built, and has the types of the
// case's results. It may know less of them than Infer.
void ExpectDecomposes(const OpCase& c, const TypeList& types, const SymbolTable& symbols,
                      const std::map<std::string, int64_t>& values) {
  Module module(ops::Registry());
  for (const SymbolInfo& info : symbols.symbols()) {
    module.symbols().Declare(info);
  }
  Graph* graph = module.AddFunction("main");
  std::vector<Value*> operands;
  for (Type t : types) {
    const bool absent = t.kind() == Type::Kind::kNone;
    operands.push_back(absent ? nullptr : graph->AddInput(t));
  }
  Builder b(graph);
  OpArgs args;
  args.op = &c.op;
  args.operands = operands;
  args.types = types;
  args.attr_list = c.sample.attrs;
  args.symbols = &module.symbols();
  const std::vector<Value*> results = c.op.decompose()(b, args);
  ASSERT_TRUE(b.status().ok()) << b.status() << " in the decomposition";
  ASSERT_EQ(results.size(), c.outputs.size());
  Types got, want;
  for (const Value* v : results) got.push_back(v->type());
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    want.push_back(TypeOfValue(c.outputs[i], got[i].is_symint()));
  }
  SCOPED_TRACE("decomposition");
  ExpectInstance(got, want, values);
}

}  // namespace

void CheckSymbolicInfer(const OpCase& c) {
  SymbolTable symbols;
  std::map<std::string, int64_t> values;
  TypeList types = c.types;
  for (Type& t : types) {
    if (!t.is_tensor()) continue;
    std::vector<SymInt> dims(t.dims().begin(), t.dims().end());
    for (SymInt& d : dims) {
      if (d.value() <= 1) continue;
      const std::string name = absl::StrCat("n", d.value());
      values[name] = d.value();
      d = SymInt::Symbol(name);
      symbols.Declare({d, {0, SymRange::kMax}, 1, values[name], false});
    }
    t = t.WithDims(dims);
  }
  auto symbolic = InferCase(c.op, types, c.sample.attrs, &symbols);
  // With symbolic sizes an op may need attributes that follow them.
  if (!symbolic.ok()) return;
  if (c.op.is_composite()) ExpectDecomposes(c, types, symbols, values);
  for (int64_t growth : {0, 1, 3}) {
    std::map<std::string, int64_t> grown = values;
    for (auto& [name, value] : grown) value += growth;
    TypeList instance = types;
    for (Type& t : instance) {
      if (t.kind() == Type::Kind::kNone) continue;
      t = t.Substitute([&](SymInt s) -> std::optional<SymInt> {
        return SymInt(grown.at(std::string(s.name())));
      });
    }
    SCOPED_TRACE(absl::StrCat("symbolic ", Show(types), "as ", Show(instance)));
    SymbolTable none;
    auto want = InferCase(c.op, instance, c.sample.attrs, &none);
    EXPECT_TRUE(want.ok() || growth != 0) << want.status();
    if (want.ok()) ExpectInstance(*symbolic, *want, grown);
  }
}

// --- Other ways to the same result
// -----------------------------------------------

void CheckDecomposition(const OpCase& c) {
  if (!c.op.is_composite()) return;
  auto got = EvaluateDecomposed(c.op, c.sample.attrs, c.inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), c.outputs.size());
  for (size_t i = 0; i < got->size(); ++i) {
    const Tolerance tolerance =
        c.op.has(kDataMovement) ? Tolerance{} : ToleranceOf(c.outputs[i].dtype());
    EXPECT_EQ(Difference((*got)[i], c.outputs[i], tolerance), "") << "decomposition, result " << i;
  }
}

void CheckRefusals(const OpCase& c) {
  if (!c.op.is_composite()) return;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const HostTensor& input = c.inputs[i];
    const bool is_size = i < c.op.schema().operands.size() && c.op.schema().operands[i].symint;
    if (is_size || !input.valid() || input.numel() == 0) continue;
    const DType dtype = input.dtype();
    if (dtype != DType::kI32 && dtype != DType::kI64) continue;
    for (int64_t value : {int64_t{-1}, IntMin(dtype), IntMax(dtype)}) {
      std::vector<int64_t> values = input.ReadInts();
      values.back() = value;
      Tensors inputs = c.inputs;
      inputs[i] = HostTensor::FromInts(dtype, input.dims(), values);
      const auto want = Evaluate(c.op, c.sample.attrs, inputs);
      const auto got = EvaluateDecomposed(c.op, c.sample.attrs, inputs);
      EXPECT_EQ(got.ok(), want.ok()) << "operand " << i << " ends with " << value << ": Eval says "
                                     << want.status() << ", its decomposition " << got.status();
    }
  }
}

namespace {

// A module that holds the op once, with some operands as constants.
struct OpModule {
  std::unique_ptr<Module> module;
  Graph* graph = nullptr;
  std::vector<Value*> operands;
  Tensors inputs;
  absl::Status status;
  std::vector<Value*> results;

  OpModule(const OpDef& op, const Tensors& tensors, const AttrList* attrs, bool fold,
           uint64_t constants, bool share = false)
      : module(std::make_unique<Module>(ops::Registry())), graph(module->AddFunction("main")) {
    Builder b(graph, nullptr, {fold});
    const OpSchema& schema = op.schema();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool symint = i < schema.operands.size() && schema.operands[i].symint;
      if (!tensors[i].valid()) {
        operands.push_back(nullptr);
      } else if (share && i > 0) {
        operands.push_back(operands[0]);
      } else if ((constants >> i & 1) && !symint) {
        operands.push_back(b.Constant(tensors[i]));
      } else {
        operands.push_back(graph->AddInput(TypeOfValue(tensors[i], symint)));
        inputs.push_back(tensors[i]);
      }
    }
    results = b.Create(op, operands, attrs);
    Finish(b);
  }

  // The op on its own result.
  void ApplyAgain(const OpDef& op, const AttrList* attrs, bool fold) {
    Builder b(graph, nullptr, {fold});
    results = b.Create(op, {results[0]}, attrs);
    Finish(b);
  }

 private:
  void Finish(const Builder& b) {
    status = b.status();
    if (status.ok()) graph->SetOutputs(results);
  }
};

}  // namespace

void CheckText(const OpCase& c) {
  OpModule m(c.op, c.inputs, c.sample.attrs, false, 0);
  ASSERT_TRUE(m.status.ok()) << m.status;
  absl::Status status = Verify(*m.module);
  EXPECT_TRUE(status.ok()) << status;
  const std::string text = PrintModule(*m.module);
  auto parsed = ParseModule(text, ops::Registry());
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(PrintModule(**parsed), text);
}

namespace {

// The elements of `t` in a larger buffer, every second one from the third on.
HostTensor Strided(const HostTensor& t) {
  const int64_t n = t.numel();
  HostTensor wide(t.dtype(), {2 * n + 3});
  std::vector<int64_t> target(n);
  for (int64_t i = 0; i < n; ++i) target[i] = 2 * i + 3;
  ops::Scatter(t, target, &wide);
  std::vector<int64_t> strides = ContiguousStrides(t.dims());
  for (int64_t& s : strides) s *= 2;
  auto view = HostTensor::View(wide.buffer(), t.dtype(), t.dims(), strides, 3);
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *view : t;
}

}  // namespace

void CheckStrides(const OpCase& c) {
  Tensors inputs = c.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid() && c.types[i].is_tensor()) {
      inputs[i] = Strided(inputs[i]);
    }
  }
  auto got = Evaluate(c.op, c.sample.attrs, inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectExact(*got, c.outputs, "with strided inputs");
}

// --- Other sizes, dtypes and values
// --------------------------------------------

namespace {

// OK, or what a caller may have caused.
bool IsAcceptable(const absl::Status& status) {
  return status.ok() || absl::IsInvalidArgument(status) || absl::IsOutOfRange(status);
}

}  // namespace

void CheckSmallSizes(const OpCase& c) {
  std::map<int64_t, bool> sizes;
  for (Type t : c.types) {
    if (!t.is_tensor()) continue;
    for (SymInt d : t.dims()) sizes[d.value()] = true;
  }
  for (const auto& [size, unused] : sizes) {
    for (int64_t small : {0, 1}) {
      TypeList types = c.types;
      for (Type& t : types) {
        if (!t.is_tensor()) continue;
        std::vector<SymInt> dims(t.dims().begin(), t.dims().end());
        for (SymInt& d : dims) d = d.Is(size) ? SymInt(small) : d;
        t = t.WithDims(dims);
      }
      SymbolTable symbols;
      if (!InferCase(c.op, types, c.sample.attrs, &symbols).ok()) continue;
      auto got = Evaluate(c.op, c.sample.attrs, SampleInputs(WithTypes(c.sample, types), kSeed));
      EXPECT_TRUE(IsAcceptable(got.status())) << Show(types) << got.status();
    }
  }
}

namespace {

// The sample with all operands of one dtype changed to another; nothing when
// Infer refuses.
std::optional<Sample> WithDType(const OpCase& c, DType from, DType to) {
  TypeList types = c.types;
  for (Type& t : types) {
    if (t.is_tensor() && t.dtype() == from) t = t.WithDType(to);
  }
  SymbolTable symbols;
  if (!InferCase(c.op, types, c.sample.attrs, &symbols).ok()) {
    return std::nullopt;
  }
  return WithTypes(c.sample, types);
}

// Calls `fn(sample, dtype)` for all these changes that Infer accepts.
void ForEachDType(const OpCase& c, absl::FunctionRef<void(const Sample&, DType)> fn) {
  std::set<DType> used;
  for (Type t : c.types) {
    if (t.is_tensor()) used.insert(t.dtype());
  }
  for (DType from : used) {
    for (int d = 0; d < kNumDTypes; ++d) {
      const DType to = static_cast<DType>(d);
      const auto sample = WithDType(c, from, to);
      if (!sample) continue;
      SCOPED_TRACE(absl::StrCat(DTypeName(from), " as ", DTypeName(to)));
      fn(*sample, to);
    }
  }
}

bool IsTiny(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) == 8; }

}  // namespace

void CheckDTypes(const OpCase& c) {
  ForEachDType(c, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = SampleInputs(sample, kSeed);
    auto got = Evaluate(c.op, c.sample.attrs, inputs);
    EXPECT_TRUE(IsAcceptable(got.status())) << got.status();
    if (!got.ok() || c.op.eval() == nullptr) return;
    // Eight-bit floats round too coarsely for a comparison.
    if (IsTiny(dtype)) return;
    CheckDecomposition({c.op, sample, SampleTypes(sample), inputs, *got});
  });
}

namespace {

std::vector<double> SpecialValues(DType dtype) {
  if (!IsFloat(dtype)) {
    return {0,
            1,
            2,
            3,
            -1,
            -2,
            7,
            63,
            64,
            100,
            -100,
            static_cast<double>(IntMin(dtype)),
            static_cast<double>(IntMax(dtype))};
  }
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {0.0, -0.0, 1,   -1,   0.5,  -2.5,  3,   1e-3, 1e-40, -1e-310,
          240, 1e4,  3e9, -3e9, 1e20, -1e38, inf, -inf, nan};
}

// For operand `k` of several rank-1 operands: all combinations come up.
HostTensor Combination(DType dtype, int k, int64_t per_operand, int64_t n) {
  const std::vector<double> special = SpecialValues(dtype);
  int64_t stride = 1;
  for (int i = 0; i < k; ++i) stride *= per_operand;
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = special[i / stride % per_operand % special.size()];
  }
  return HostTensor::FromDoubles(dtype, {n}, values);
}

// Rank-1 inputs with all combinations of special values; empty when the op
// does not take them.
Tensors SpecialInputs(const OpDef& op, const Sample& sample) {
  constexpr int64_t kPerOperand = 19;
  int64_t n = 1;
  for (const SampleOperand& o : sample.operands) {
    if (!o.type.is_tensor()) continue;
    if (IsComplex(o.type.dtype())) return {};
    n *= kPerOperand;
  }
  if (n > kPerOperand * kPerOperand * kPerOperand) return {};
  Tensors inputs;
  TypeList types;
  int k = 0;
  for (const SampleOperand& o : sample.operands) {
    inputs.push_back(o.type.is_tensor() ? Combination(o.type.dtype(), k++, kPerOperand, n)
                                        : HostTensor());
    types.push_back(TypeOfValue(inputs.back(), false));
  }
  SymbolTable symbols;
  if (!InferCase(op, types, sample.attrs, &symbols).ok()) return {};
  return inputs;
}

}  // namespace

void CheckSpecialValues(const OpCase& c) {
  if (!c.op.has(kPointwise)) return;
  ForEachDType(c, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = SpecialInputs(c.op, sample);
    if (inputs.empty()) return;
    auto want = Evaluate(c.op, c.sample.attrs, inputs);
    ASSERT_TRUE(want.ok()) << "special values: " << want.status();
    // Folds are exact for these values too.
    for (bool share : {false, true}) {
      OpModule plain(c.op, inputs, c.sample.attrs, false, 0, share);
      OpModule folded(c.op, inputs, c.sample.attrs, true, 0, share);
      if (!plain.status.ok()) continue;
      auto a = EvaluateGraph(*plain.graph, plain.inputs);
      auto b = EvaluateGraph(*folded.graph, folded.inputs);
      ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
      ExpectExact(*b, *a, "special values, folded");
    }
  });
}

// --- Folds ------------------------------------------------------------------

namespace {

void ExpectFoldAgrees(const OpDef& op, const Tensors& inputs, const AttrList* attrs,
                      uint64_t constants, bool share, bool twice, std::string what) {
  OpModule plain(op, inputs, attrs, false, constants, share);
  OpModule folded(op, inputs, attrs, true, constants, share);
  if (!plain.status.ok()) return;  // Not a legal combination.
  ASSERT_TRUE(folded.status.ok()) << what << ": " << folded.status;
  if (twice) {
    plain.ApplyAgain(op, attrs, false);
    folded.ApplyAgain(op, attrs, true);
    if (!plain.status.ok()) return;
    ASSERT_TRUE(folded.status.ok()) << what << ": " << folded.status;
  }
  ASSERT_EQ(plain.results.size(), folded.results.size()) << what;
  for (size_t i = 0; i < plain.results.size(); ++i) {
    if (op.has(kDataDependent)) break;  // Has its own symbols in each module.
    EXPECT_EQ(folded.results[i]->type(), plain.results[i]->type())
        << "folding changes the type: " << what;
  }
  auto want = EvaluateGraph(*plain.graph, plain.inputs);
  auto got = EvaluateGraph(*folded.graph, folded.inputs);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  ExpectExact(*got, *want, what);
}

// Scalars and full tensors of constants that often are neutral.
void CheckNeutralOperands(const OpCase& c, const Sample& sample) {
  const Tensors special = SpecialInputs(c.op, sample);
  if (special.size() != 2 || !special[0].valid() || !special[1].valid()) return;
  for (int side : {0, 1}) {
    const HostTensor& full = special[side];
    for (double value : {0.0, -0.0, 1.0, -1.0, 2.0}) {
      Tensors inputs = special;
      const std::string what = absl::StrCat("operand ", side, " is ", FloatToString(value), " in ",
                                            DTypeName(full.dtype()));
      inputs[side] = HostTensor::Scalar(full.dtype(), value);
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false, what);
      inputs[side] = HostTensor::FromDoubles(full.dtype(), full.dims(),
                                             std::vector<double>(full.numel(), value));
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false,
                       what + " everywhere");
      // The other operand is smaller than the result.
      inputs[1 - side] = HostTensor::Scalar(special[1 - side].dtype(), 3);
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false,
                       what + " and broadcasts the other");
    }
  }
}

}  // namespace

void CheckFolds(const OpCase& c) {
  if (c.op.fold() == nullptr) return;
  const auto check = [&](uint64_t constants, bool share, bool twice, std::string what) {
    ExpectFoldAgrees(c.op, c.inputs, c.sample.attrs, constants, share, twice, what);
  };
  check(0, false, false, "no constants");
  check(~uint64_t{0}, false, false, "all constants");
  for (size_t i = 0; i < c.inputs.size() && i < 8; ++i) {
    check(uint64_t{1} << i, false, false, absl::StrCat("operand ", i));
  }
  bool same = c.types.size() > 1;
  for (Type t : c.types) same = same && t == c.types[0];
  if (same) check(0, true, false, "equal operands");
  if (c.types.size() == 1) check(0, false, true, "on its own result");
  if (!c.op.has(kPointwise)) return;
  ForEachDType(c, [&](const Sample& sample, DType dtype) { CheckNeutralOperands(c, sample); });
}

// --- Traits
// -------------------------------------------------------------------

namespace {

void ExpectElementsOfOperands(const OpCase& c) {
  for (const HostTensor& out : c.outputs) {
    if (IsComplex(out.dtype())) continue;
    std::set<double> elements;
    for (const HostTensor& in : c.inputs) {
      if (!in.valid() || in.dtype() != out.dtype()) continue;
      for (double v : in.ReadDoubles()) elements.insert(v);
    }
    for (double v : out.ReadDoubles()) {
      ASSERT_TRUE(elements.count(v) > 0) << v << " is in no operand";
    }
  }
}

}  // namespace

void CheckTraits(const OpCase& c) {
  if (c.op.has(kPointwise)) {
    const auto dims = ops::BroadcastDims({}, c.types);
    ASSERT_TRUE(dims.ok()) << dims.status();
    for (const HostTensor& t : c.outputs) {
      EXPECT_EQ(ToSymInts(t.dims()), *dims) << "pointwise";
    }
  }
  if (c.op.has(kDataMovement)) ExpectElementsOfOperands(c);
  if (c.op.has(kCommutative)) {
    ASSERT_EQ(c.inputs.size(), 2u);
    Tensors swapped = {c.inputs[1], c.inputs[0]};
    auto got = Evaluate(c.op, c.sample.attrs, swapped);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectExact(*got, c.outputs, "with swapped operands");
  }
}

// --- Memory
// ---------------------------------------------------------------------

namespace {

// The row-major numbers of the base's elements that result `result` shows.
std::vector<int64_t> ShownBy(const OpCase& c, int result) {
  const HostTensor& base = c.inputs[0];
  std::vector<int64_t> numbers(base.numel());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  // Seen as another dtype, elements stay where they are.
  if (&c.op == &ops::bitcast) return numbers;
  const auto shown =
      Evaluate(c.op, c.sample.attrs, {HostTensor::FromInts(DType::kI64, base.dims(), numbers)});
  EXPECT_TRUE(shown.ok()) << shown.status();
  return shown.ok() ? (*shown)[result].ReadInts() : numbers;
}

// The inverse of result `result` on the case's input and `update`.
absl::StatusOr<HostTensor> Inverted(const OpCase& c, int result, const HostTensor& update) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Value* base = graph->AddInput(c.types[0]);
  Value* value = graph->AddInput(update.type());
  Builder b(graph);
  Value* const none = nullptr;
  OpArgs args;
  args.op = &c.op;
  args.operands = {&none, 1};
  args.types = {c.types.data(), 1};
  args.attr_list = c.sample.attrs;
  args.symbols = &module.symbols();
  Value* inverse = c.op.invert_view()(b, args, result, base, value);
  if (!b.status().ok()) return b.status();
  EXPECT_EQ(inverse->type(), base->type());
  graph->SetOutputs({inverse});
  auto outputs = EvaluateGraph(*graph, {c.inputs[0], update});
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

bool CheckView(const OpCase& c, int result) {
  const std::vector<int64_t> shown = ShownBy(c, result);
  const HostTensor& now = c.outputs[result];
  Sample other;
  other.operands.push_back({now.type(), {}, {}, {}});
  const HostTensor update = SampleInputs(other, kSeed + 1)[0];
  const auto got = Inverted(c, result, update);
  const bool twice = std::set<int64_t>(shown.begin(), shown.end()).size() != shown.size();
  EXPECT_FALSE(got.ok() && twice) << "shows an element twice";
  if (!got.ok()) return false;
  const DType dtype = c.inputs[0].dtype();
  HostTensor stored = update;
  if (dtype != update.dtype()) {
    stored = (*Evaluate(c.op, AttrList::Get({AttrValue(dtype)}), {update}))[0];
  }
  HostTensor want(dtype, c.inputs[0].dims());
  std::vector<int64_t> all(want.numel());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  ops::Gather(c.inputs[0], all, &want);
  ops::Scatter(stored, shown, &want);
  EXPECT_EQ(ExactDifference(*got, want), "") << "inverse of result " << result;
  return true;
}

}  // namespace

bool CheckViews(const OpCase& c) {
  const OpSchema& schema = c.op.schema();
  EXPECT_EQ(schema.views, c.op.invert_view() != nullptr)
      << "views have an inverse, and nothing else has";
  if (!schema.views) return true;
  bool inverted = true;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const int viewed = schema.ViewedOperand(static_cast<int>(i));
    if (viewed < 0) continue;
    EXPECT_EQ(viewed, 0) << "the base is the first operand";
    inverted = CheckView(c, static_cast<int>(i)) && inverted;
  }
  return inverted;
}

void CheckWrites(const OpCase& c) {
  const OpSchema& schema = c.op.schema();
  EXPECT_EQ(schema.writes, c.op.functional() != nullptr)
      << "ops that write have a functional twin, and nothing else has";
  if (!schema.writes) return;
  EXPECT_TRUE(c.op.has(kSideEffect));
  for (size_t i = 0; i < schema.operands.size(); ++i) {
    bool stands = !schema.operands[i].written;
    for (size_t r = 0; r < schema.results.size(); ++r) {
      stands |= schema.WrittenOperand(static_cast<int>(r)) == static_cast<int>(i);
    }
    EXPECT_TRUE(stands) << "no result is the written " << schema.operands[i].name;
  }
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  std::vector<Value*> operands;
  for (Type t : c.types) operands.push_back(graph->AddInput(t));
  Builder b(graph);
  OpArgs args;
  args.op = &c.op;
  args.operands = operands;
  args.types = c.types;
  args.attr_list = c.sample.attrs;
  args.symbols = &module.symbols();
  graph->SetOutputs(c.op.functional()(b, args));
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_FALSE(module.HasWrites());
  const auto got = EvaluateGraph(*graph, c.inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectExact(*got, c.outputs, "functional twin");
}

}  // namespace weft
