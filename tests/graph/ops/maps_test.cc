// The Map of every op against its Eval, element by element, on the op's samples: with the sizes
// that they have, and with symbols in the place of sizes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_map.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/ops/support/eval.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;

// --- Maps as numbers -----------------------------------------------------------

// Sizes of at least `least` become symbols, one for each number.
Type WithSymbols(Type type, int64_t least) {
  if (!type.is_tensor()) return type;
  std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
  for (SymInt& d : dims) {
    if (d.value() >= least) d = SymInt::Symbol(absl::StrCat("n", d.value()));
  }
  return type.WithDims(dims);
}

int64_t NumberOf(SymInt s) {
  const auto value = Evaluate(s, [](SymInt symbol) -> std::optional<int64_t> {
    return std::stoll(std::string(symbol.name().substr(1)));
  });
  EXPECT_TRUE(value.has_value()) << s;
  return value.value_or(0);
}

int64_t FloorMod(int64_t a, int64_t b) { return (a % b + b) % b; }

int64_t NumberOf(const MapIndex& index, const std::vector<int64_t>& vars) {
  int64_t at = NumberOf(index.offset);
  for (const MapTerm& term : index.terms) at += NumberOf(term.factor) * vars[term.var];
  const int64_t n = NumberOf(index.size);
  switch (index.boundary) {
    case MapBoundary::kNone:
      return at;
    case MapBoundary::kWrap:
      return FloorMod(at, n);
    case MapBoundary::kEdge:
      return std::min(std::max<int64_t>(at, 0), n - 1);
    case MapBoundary::kReflect:
      if (n == 1) return 0;
      at = FloorMod(at, 2 * (n - 1));
      return at < n ? at : 2 * (n - 1) - at;
  }
  return at;
}

// Row-major number of the element at `at`, which must lie inside.
int64_t ElementAt(const std::vector<MapIndex>& at, const std::vector<int64_t>& vars,
                  const HostTensor& t) {
  EXPECT_EQ(static_cast<int>(at.size()), t.rank());
  if (static_cast<int>(at.size()) != t.rank()) return 0;
  int64_t number = 0;
  for (int d = 0; d < t.rank(); ++d) {
    const int64_t index = NumberOf(at[d], vars);
    EXPECT_GE(index, 0) << "dim " << d;
    EXPECT_LT(index, t.dim(d)) << "dim " << d;
    number = number * t.dim(d) + index;
  }
  return number;
}

// The values of the variables at an element of the result, but for reduced ones, which are 0.
std::vector<int64_t> VariablesAt(const ElementMap& map, absl::Span<const int64_t> index,
                                 const Tensors& inputs) {
  std::vector<int64_t> vars(index.begin(), index.end());
  vars.resize(map.first_gathered(), 0);
  for (const MapGather& gather : map.gathers) {
    const HostTensor& in = inputs[gather.operand];
    const int64_t value = in.ReadInts()[ElementAt(gather.at, vars, in)];
    vars.push_back(value < 0 ? value + NumberOf(gather.size) : value);
  }
  return vars;
}

bool Holds(const OperandAccess& access, const std::vector<int64_t>& vars) {
  for (const MapGuard& guard : access.guards) {
    const int64_t index = NumberOf(guard.index, vars);
    if (index < 0) return false;
    if (guard.size.is_valid() && index >= NumberOf(guard.size)) return false;
  }
  return true;
}

int64_t ElementOf(const OperandAccess& access, const std::vector<int64_t>& vars, int64_t number,
                  const HostTensor& in) {
  if (access.form == OperandAccess::Form::kIndices) return ElementAt(access.at, vars, in);
  if (access.form == OperandAccess::Form::kNumber) number = NumberOf(access.at[0], vars);
  EXPECT_GE(number, 0);
  EXPECT_LT(number, in.numel());
  return number;
}

// The result that a map which moves elements says.
HostTensor Moved(const ElementMap& map, const Tensors& inputs, const HostTensor& want) {
  HostTensor out(want.dtype(), want.dims());
  std::vector<std::vector<int64_t>> sources(inputs.size(), std::vector<int64_t>(want.numel(), -1));
  int64_t number = -1;
  ops::ForEachIndex(want.dims(), [&](absl::Span<const int64_t> index) {
    ++number;
    const std::vector<int64_t> vars = VariablesAt(map, index, inputs);
    for (const OperandAccess& access : map.accesses) {
      if (!Holds(access, vars)) continue;
      sources[access.operand][number] = ElementOf(access, vars, number, inputs[access.operand]);
      return;
    }
    if (map.otherwise >= 0) sources[map.otherwise][number] = 0;
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid() && inputs[i].dtype() == want.dtype()) {
      ops::Gather(inputs[i], sources[i], &out);
    }
  }
  return out;
}

// --- One map ---------------------------------------------------------------------

struct OpUse {
  Sample sample;
  std::vector<Type> types;
  Types results;
  SymbolTable symbols;
};

std::optional<OpUse> Infer(const Sample& sample, int64_t least) {
  OpUse use{sample, SampleTypes(sample), {}, {}};
  for (Type& type : use.types) type = WithSymbols(type, least);
  OpArgs args;
  args.op = sample.op;
  args.types = use.types;
  args.attr_list = sample.attrs;
  args.symbols = &use.symbols;
  auto results = InferTypes(args);
  if (!results.ok()) return std::nullopt;  // The sizes must be known.
  use.results = *std::move(results);
  return use;
}

std::optional<ElementMap> MapOfUse(const OpUse& use, int result) {
  return MapOf({use.sample.op, use.sample.attrs, use.types, use.results, result, &use.symbols});
}

// A tensor of the elements of `other` one further, but for those of `base` that `kept` numbers.
HostTensor Mixed(const HostTensor& base, const HostTensor& other, const std::vector<bool>& kept) {
  HostTensor mixed(base.dtype(), base.dims());
  std::vector<int64_t> next(base.numel()), own(base.numel(), -1);
  for (int64_t i = 0; i < base.numel(); ++i) {
    next[i] = (i + 1) % base.numel();
    if (kept[i]) own[i] = i;
  }
  ops::Gather(other, next, &mixed);
  ops::Gather(base, own, &mixed);
  return mixed;
}

HostTensor ElementNumber(const HostTensor& t, int64_t number) {
  HostTensor element(t.dtype(), {1});
  ops::Gather(t, {number}, &element);
  return element;
}

// Which elements of the operands the map names for one element of the result.
std::vector<std::vector<bool>> NamedBy(const ElementMap& map, absl::Span<const int64_t> index,
                                       const Tensors& inputs, int64_t* count) {
  std::vector<std::vector<bool>> named;
  for (const HostTensor& t : inputs) named.emplace_back(t.valid() ? t.numel() : 0, false);
  std::vector<int64_t> extents;
  for (SymInt extent : map.reduced) extents.push_back(NumberOf(extent));
  ops::ForEachIndex(extents, [&](absl::Span<const int64_t> reduced) {
    std::vector<int64_t> vars = VariablesAt(map, index, inputs);
    std::copy(reduced.begin(), reduced.end(), vars.begin() + map.first_reduced());
    for (const OperandAccess& access : map.accesses) {
      if (!Holds(access, vars)) continue;
      named[access.operand][ElementOf(access, vars, 0, inputs[access.operand])] = true;
      ++*count;
    }
  });
  return named;
}

// An element of the result does not change when all others of the operands do.
void CheckCombined(const OpUse& use, const ElementMap& map, int result, const Tensors& inputs,
                   const HostTensor& want) {
  const Tensors others = SampleInputs(use.sample, 77);
  const bool reduction = use.sample.op->has(kReduction);
  constexpr int64_t kMaxChecked = 24;
  int64_t number = -1;
  int64_t count = 0;
  ops::ForEachIndex(want.dims(), [&](absl::Span<const int64_t> index) {
    if (++number >= kMaxChecked && !reduction) return;
    const auto named = NamedBy(map, index, inputs, &count);
    if (number >= kMaxChecked) return;
    Tensors mixed = inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].valid()) mixed[i] = Mixed(inputs[i], others[i], named[i]);
    }
    const auto got = Evaluate(*use.sample.op, use.sample.attrs, mixed);
    if (!got.ok()) return;  // An integer that the op refuses.
    EXPECT_EQ(ExactDifference(ElementNumber((*got)[result], number), ElementNumber(want, number)),
              "")
        << use.sample.text << ", element " << number << " of " << ToString(map);
  });
  if (reduction && want.numel() > 0) {
    EXPECT_EQ(count, inputs[0].numel()) << use.sample.text << ": " << ToString(map);
  }
}

struct Tally {
  int maps = 0;
  int without = 0;
};

void CheckUse(const OpUse& use, const Tensors& inputs, Tally* tally) {
  const auto want = Evaluate(*use.sample.op, use.sample.attrs, inputs);
  if (!want.ok()) return;  // A dtype that the op does not take.
  for (size_t r = 0; r < want->size(); ++r) {
    const auto map = MapOfUse(use, static_cast<int>(r));
    if (!map) {
      ++tally->without;
      continue;
    }
    ++tally->maps;
    SCOPED_TRACE(absl::StrCat(use.sample.text, ": ", ToString(*map)));
    if (map->kind == ElementMap::Kind::kCombine) {
      CheckCombined(use, *map, static_cast<int>(r), inputs, (*want)[r]);
    } else {
      EXPECT_EQ(ExactDifference(Moved(*map, inputs, (*want)[r]), (*want)[r]), "");
    }
  }
}

// The sample with distinct i64 elements in operands that have the dtype of operand 0.
Sample Distinct(const Sample& sample, std::vector<bool>* replaced) {
  Sample distinct = sample;
  for (SampleOperand& operand : distinct.operands) {
    const bool same = operand.type.is_tensor() && sample.operands[0].type.is_tensor() &&
                      operand.type.dtype() == sample.operands[0].type.dtype();
    replaced->push_back(same);
    if (same) operand = {operand.type.WithDType(DType::kI64), {}, {}, {}};
  }
  return distinct;
}

Tensors DistinctInputs(const Sample& sample, const std::vector<bool>& replaced) {
  Tensors inputs = SampleInputs(sample, 5);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!replaced[i]) continue;
    std::vector<int64_t> numbers(inputs[i].numel());
    for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = 1000 * (i + 1) + k;
    inputs[i] = HostTensor::FromInts(DType::kI64, inputs[i].dims(), numbers);
  }
  return inputs;
}

Tally CheckAll(const OpDef& op) {
  Tally tally;
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return tally;
  for (const Sample& symbolic : *samples) {
    if (!symbolic.expected_error.empty()) continue;
    const Sample sample = Instantiate(symbolic);
    std::vector<bool> replaced;
    const Sample distinct = Distinct(sample, &replaced);
    // Sizes as they are; those above 1 as symbols; all but 0 as symbols.
    for (int64_t least : {int64_t{1} << 40, int64_t{2}, int64_t{1}}) {
      if (const auto use = Infer(sample, least)) CheckUse(*use, SampleInputs(sample, 3), &tally);
      const auto use = Infer(distinct, least);
      const bool moves = use && op.map() != nullptr && MapOfUse(*use, 0) &&
                         MapOfUse(*use, 0)->kind == ElementMap::Kind::kMove;
      if (moves) CheckUse(*use, DistinctInputs(distinct, replaced), &tally);
    }
  }
  return tally;
}

TEST(Maps, EveryOpHasOneOrSaysWhyNot) {
  for (const OpDef* op : ops::Registry().All()) {
    if (op->schema().results.empty()) continue;
    const bool has = op->map() != nullptr;
    const bool says = op->map_absent() != nullptr && *op->map_absent() != '\0';
    EXPECT_TRUE(has || says) << op->name() << " has no Map and does not say why";
    EXPECT_TRUE(has || !op->has(kPointwise)) << op->name();
  }
}

TEST(Maps, AgreeWithEval) {
  int maps = 0;
  for (const OpDef* op : ops::Registry().All()) {
    if (op->map() == nullptr) continue;
    SCOPED_TRACE(std::string(op->name()));
    const Tally tally = CheckAll(*op);
    EXPECT_GT(tally.maps, 0) << "no sample has a map";
    EXPECT_TRUE(tally.without == 0 || op == &ops::slice_scatter);
    ++maps;
  }
  EXPECT_GT(maps, 100);
}

// --- Text ------------------------------------------------------------------------

std::optional<ElementMap> MapOfCall(const std::string& call, int result = 0) {
  const auto samples = ParseSamples(call, ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return std::nullopt;
  OpUse use{(*samples)[0], SampleTypes((*samples)[0]), {}, {}};
  OpArgs args;
  args.op = use.sample.op;
  args.types = use.types;
  args.attr_list = use.sample.attrs;
  args.symbols = &use.symbols;
  auto results = InferTypes(args);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return std::nullopt;
  use.results = *std::move(results);
  return MapOfUse(use, result);
}

std::string TextOf(const std::string& call, int result = 0) {
  const auto map = MapOfCall(call, result);
  return map ? ToString(*map) : "none";
}

TEST(Maps, OfViews) {
  EXPECT_EQ(TextOf("permute(f32[2, 3, 4], dims=[2, 0, 1])"), "(d0, d1, d2) -> %0[d1, d2, d0]");
  EXPECT_EQ(TextOf("expand(f32[s0, 1, 4], size=[7, s0, 5, 4])"),
            "(d0, d1, d2, d3) -> %0[d1, 0, d3]");
  EXPECT_EQ(TextOf("slice(f32[s0, 9], dim=1, start=3, step=2)"), "(d0, d1) -> %0[d0, 2*d1 + 3]");
  EXPECT_EQ(TextOf("select(f32[s0, 4], dim=0, index=-1)"), "(d0) -> %0[s0 - 1, d0]");
  EXPECT_EQ(TextOf("split_with_sizes(f32[5], split_sizes=[2, 3])", 1), "(d0) -> %0[d0 + 2]");
  EXPECT_EQ(TextOf("unfold(f32[9], dimension=0, size=3, step=2)"), "(d0, d1) -> %0[2*d0 + d1]");
  EXPECT_EQ(TextOf("diagonal(f32[4, 5], offset=1)"), "(d0) -> %0[d0, d0 + 1]");
  EXPECT_EQ(TextOf("reshape(f32[2, 3], size=[6])"), "(d0) -> %0#same");
  EXPECT_EQ(TextOf("as_strided(f32[12], size=[3, 2], stride=[4, 1])"),
            "(d0, d1) -> %0#[4*d0 + d1]");
}

TEST(Maps, OfMoves) {
  EXPECT_EQ(TextOf("flip(f32[5], dims=[0])"), "(d0) -> %0[-1*d0 + 4]");
  EXPECT_EQ(TextOf("roll(f32[5], shifts=[2], dims=[0])"), "(d0) -> %0[wrap(d0 + 3, 5)]");
  EXPECT_EQ(TextOf("pad(f32[s0], none, pad=[1, 2])"),
            "(d0) -> %0[d0 + -1] if 0 <= d0 + -1 < s0 else 0");
  EXPECT_EQ(TextOf("pad(f32[4], none, pad=[1, 2], mode=\"reflect\")"),
            "(d0) -> %0[reflect(d0 + -1, 4)]");
  EXPECT_EQ(TextOf("tril(f32[3, 3], diagonal=1)"),
            "(d0, d1) -> %0[d0, d1] if 0 <= -1*d1 + d0 + 1 else 0");
  EXPECT_EQ(TextOf("cat(f32[2], f32[s0])"),
            "(d0) -> %0[d0] if 0 <= d0 < 2 else %1[d0 + -2] if 0 <= d0 + -2 < s0 else 0");
  EXPECT_EQ(TextOf("index_select(f32[5, s0], i64[3]{0, 1, 2}, dim=0)"),
            "(d0, d1), g0 = %1[d0] < 5 -> %0[g0, d1]");
}

TEST(Maps, OfCombinations) {
  EXPECT_EQ(TextOf("add(f32[s0, 4], f32[4])"), "(d0, d1) -> combine(%0[d0, d1], %1[d1])");
  EXPECT_EQ(TextOf("sum(f32[s0, 4], dim=[0])"), "(d0), r0 < s0 -> combine(%0[r0, d0])");
  EXPECT_EQ(TextOf("sum(f32[s0, 4], dim=[0], keepdim=true)"),
            "(d0, d1), r0 < s0 -> combine(%0[r0, d1])");
  EXPECT_EQ(TextOf("matmul(f32[2, 3, 4], f32[4, 5])"),
            "(d0, d1, d2), r0 < 4 -> combine(%0[d0, d1, r0], %1[r0, d2])");
}

TEST(Maps, SayWhichDimsAreWholeAndReduced) {
  using Dims = std::vector<int>;
  EXPECT_EQ(ReducedDims(*MapOfCall("sum(f32[2, s0, 4], dim=[-1, 0])")), (Dims{0, 2}));
  EXPECT_EQ(ReducedDims(*MapOfCall("argmax(f32[2, 3], dim=1)")), Dims{1});
  EXPECT_EQ(PlainVariables(*MapOfCall("sum(f32[2, 3], dim=[0])")), (Dims{1, 0}));
  EXPECT_EQ(PlainVariables(*MapOfCall("permute(f32[2, 3, 4], dims=[2, 0, 1])")), (Dims{1, 2, 0}));
  EXPECT_EQ(PlainVariables(*MapOfCall("slice(f32[9], dim=0, start=3)")), std::nullopt);
  EXPECT_EQ(PlainVariables(*MapOfCall("select(f32[9, 2], dim=0, index=3)")), std::nullopt);
  EXPECT_EQ(PlainVariables(*MapOfCall("reshape(f32[9, 2], size=[18])")), std::nullopt);
  EXPECT_TRUE(MapOfCall("slice(f32[9], dim=0, start=3)")->IsStrided());
  EXPECT_FALSE(MapOfCall("pad(f32[9], none, pad=[1, 0])")->IsStrided());
  EXPECT_FALSE(MapOfCall("roll(f32[9], shifts=[1], dims=[0])")->IsStrided());
}

}  // namespace
}  // namespace weft
