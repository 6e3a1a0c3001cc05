#include "tests/graph/ops/conformance_checks.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/conformance_case.h"
#include "tests/support/tensor_compare.h"

namespace weft {
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

}  // namespace weft
