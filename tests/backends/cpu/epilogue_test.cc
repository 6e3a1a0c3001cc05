// Epilogues of matmuls and convolutions, compared with the reference executor: every operand that
// broadcasts in every way, and numbers that are not finite. This shows that the target's claims are
// right; the same programs with a target that claims everything show that a routine refuses the
// cases that it does not support.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

// A product or a convolution: its inputs, what comes before it, and its result.
struct Routine {
  const char* inputs;
  const char* nodes;  // %y is the result.
  Dims result;
};

const Routine kProducts[] = {
    {"%x: f32[7, 40], %w: f32[40, 33]", "%y = matmul(%x, %w)", {7, 33}},
    {"%x: f32[3, 6, 40], %w: f32[33, 40]", "%y = linear(%x, %w)", {3, 6, 33}},
    {"%x: f32[3, 6, 40], %w: f32[33, 40], %b: f32[33]", "%y = linear(%x, %w, %b)", {3, 6, 33}},
    {"%x: f32[3, 6, 40], %w: f32[3, 40, 5]", "%y = matmul(%x, %w)", {3, 6, 5}},
    {"%x: f32[2, 3, 6, 8], %w: f32[2, 3, 8, 6]", "%y = matmul(%x, %w)", {2, 3, 6, 6}},
    {"%x: f32[2, 1, 6, 8], %w: f32[3, 8, 5]", "%y = matmul(%x, %w)", {2, 3, 6, 5}},
    {"%x: f32[5, 8], %w: f32[8]", "%y = matmul(%x, %w)", {5}},
    {"%x: f32[3, 5, 8], %w: f32[8]", "%y = matmul(%x, %w)", {3, 5}},
    {"%x: f32[1, 40], %w: f32[40, 33]", "%y = matmul(%x, %w)", {1, 33}},
    {"%x: f32[900, 16], %w: f32[16, 12]", "%y = matmul(%x, %w)", {900, 12}},
};

const Routine kConvolutions[] = {
    {"%x: f32[3, 4, 11], %w: f32[6, 4, 3]",
     "%y = convolution(%x, %w, none, stride=[1], padding=[1], dilation=[1])",
     {3, 6, 11}},
    {"%x: f32[3, 16, 9, 10], %w: f32[16, 16, 3, 3], %b: f32[16]",
     "%y = convolution(%x, %w, %b, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     {3, 16, 9, 10}},
    // The layout is the routine's after a pointwise node.
    {"%x: f32[3, 16, 9, 10], %w: f32[16, 16, 3, 3]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 1],"
     " dilation=[1, 1])",
     {3, 16, 9, 10}},
    {"%x: f32[2, 8, 7, 9], %w: f32[12, 8, 1, 1]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[0, 0],"
     " dilation=[1, 1])",
     {2, 12, 7, 9}},
    {"%x: f32[2, 8, 9, 9], %w: f32[8, 1, 3, 3]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[2, 2], padding=[1, 1],"
     " dilation=[1, 1], groups=8)",
     {2, 8, 5, 5}},
    {"%x: f32[2, 8, 6, 7], %w: f32[12, 4, 3, 3]",
     "%y = convolution(%x, %w, none, stride=[1, 1], padding=[2, 2], dilation=[2, 2], groups=2)",
     {2, 12, 6, 7}},
    {"%x: f32[2, 3, 4, 5, 6], %w: f32[5, 3, 3, 3, 3]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[1, 1, 1], padding=[1, 1, 1],"
     " dilation=[1, 1, 1])",
     {2, 5, 4, 5, 6}},
    // Groups of channels, side by side in memory.
    {"%x: f32[2, 8, 6, 7], %w: f32[12, 4, 3, 3], %b: f32[12]",
     "%p = silu(%x) %y = convolution(%p, %w, %b, stride=[1, 1], padding=[2, 2],"
     " dilation=[2, 2], groups=2)",
     {2, 12, 6, 7}},
    {"%x: f32[2, 5, 6, 7], %w: f32[10, 1, 3, 3]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 1],"
     " dilation=[1, 1], groups=5)",
     {2, 10, 6, 7}},
    {"%x: f32[2, 5, 4, 5, 3], %w: f32[10, 1, 2, 2, 1], %b: f32[10]",
     "%p = relu(%x) %y = convolution(%p, %w, %b, stride=[1, 1, 1], padding=[1, 1, 0],"
     " dilation=[1, 1, 1], groups=5)",
     {2, 10, 5, 6, 3}},
    {"%x: f32[2, 5, 4, 5, 3], %w: f32[5, 1, 3, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[1, 1, 1], padding=[1, 1, 1],"
     " dilation=[1, 1, 1], groups=5)",
     {2, 5, 4, 5, 3}},
    {"%x: f32[2, 8, 5, 6], %w: f32[8, 6, 3, 3]",
     "%y = convolution(%x, %w, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1],"
     " transposed=true, output_padding=[1, 1])",
     {2, 6, 10, 12}},
    {"%x: f32[2, 17, 5, 6], %w: f32[1, 17, 1, 1]",
     "%y = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])",
     {2, 1, 5, 6}},
    // One pixel, of which every operand with channels has all sizes.
    {"%x: f32[1, 40, 3, 3], %w: f32[40, 1, 3, 3]",
     "%y = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=40)",
     {1, 40, 1, 1}},
    {"%x: f32[1, 24, 1, 1], %w: f32[40, 24, 3, 3]",
     "%p = silu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 1],"
     " dilation=[1, 1])",
     {1, 40, 1, 1}},
    {"%x: f32[1, 24, 1], %w: f32[40, 12, 1]",
     "%y = convolution(%x, %w, none, stride=[1], padding=[0], dilation=[1], groups=2)",
     {1, 40, 1}},
};

// Memory layout of an epilogue's operand.
enum class Form { kDense, kSlice, kPermuted };

// Declares %t of these dims as an input in that form.
std::string OperandOf(const Dims& dims, Form form, std::string* input) {
  const auto type = [](const Dims& d) { return absl::StrCat("f32[", absl::StrJoin(d, ", "), "]"); };
  if (form == Form::kDense || dims.empty()) {
    *input = absl::StrCat("%t: ", type(dims));
    return "";
  }
  const size_t rank = dims.size();
  if (form == Form::kSlice) {
    Dims wide = dims;
    wide.back() *= 3;
    *input = absl::StrCat("%t0: ", type(wide));
    // Each third element of a vector: a part of it would have no gaps.
    const int64_t n = dims.back();
    const std::string places = rank == 1 ? absl::StrCat("start=1, end=", 3 * n, ", step=3")
                                         : absl::StrCat("start=", n, ", end=", 2 * n);
    return absl::StrCat(" %t = slice(%t0, dim=", rank - 1, ", ", places, ")");
  }
  Dims reversed(dims.rbegin(), dims.rend());
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  *input = absl::StrCat("%t0: ", type(reversed));
  return absl::StrCat(" %t = permute(%t0, dims=[", absl::StrJoin(order, ", "), "])");
}

std::string ProgramOf(const Routine& routine, const Dims& operand, Form form,
                      const std::string& follows) {
  std::string input;
  const std::string before = OperandOf(operand, form, &input);
  return absl::StrCat("func @main(", routine.inputs, ", ", input, ") -> (f32[",
                      absl::StrJoin(routine.result, ", "), "]) {", before, " ", routine.nodes, " ",
                      follows, " return %z }");
}

// Numbers from -1 to 1, none of them near 0 (they are divisors, too).
HostTensor Ramp(const Dims& dims, int64_t seed) {
  HostTensor t(DType::kF32, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto k = static_cast<int64_t>((i + seed) * 48271 % 997) - 498;
    values[i] = (static_cast<double>(k) + (k < 0 ? -50.0 : 50.0)) / 600;
  }
  t.WriteDoubles(values);
  return t;
}

std::vector<HostTensor> InputsOf(const Graph& graph) {
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    Dims dims;
    for (SymInt d : graph.input(i)->type().dims()) dims.push_back(d.value());
    inputs.push_back(Ramp(dims, i * 17));
  }
  return inputs;
}

// Inputs of these names become constants.
void Freeze(Module& module, absl::Span<const HostTensor> inputs, absl::string_view names) {
  Graph& graph = *module.main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (!absl::StrContains(names, graph.input_info(i).name[0])) continue;
    Builder builder(&graph, graph.first_node());
    graph.input(i)->ReplaceAllUsesWith(builder.Constant(inputs[i]));
  }
}

// The target as it is, or as if every operand of an epilogue were the routine's.
Target TargetOf(bool greedy) {
  Target target = CpuTarget();
  if (!greedy) return target;
  for (EpilogueClaim& claim : target.epilogues) {
    if (claim.operand_sizes.empty()) continue;
    claim.dtypes.clear();
    claim.operand_sizes.push_back(OperandSizes::kOther);
    claim.either_operand = false;
    claim.absent_attrs.clear();
  }
  return target;
}

struct Setting {
  std::string constants;  // First letters of the inputs that are.
  bool greedy = false;
  int threads = 1;
};

// Runs the program with its epilogue fused, and its counts; `inputs` replaces the ramps.
CpuStats ExpectAsReference(const std::string& text, const Setting& setting,
                           std::vector<HostTensor> inputs = {},
                           Tolerance tolerance = {1e-4, 1e-5}) {
  const auto module = Parse(text);
  if (inputs.empty()) inputs = InputsOf(*module->main());
  const auto want = reference::Run(*module->main(), inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  Freeze(*module, inputs, setting.constants);
  CompileOptions compile;
  compile.passes = "fuse_epilogue,dce";
  const auto compiled = Compile(*module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  auto plan = Lower(*module->main(), TargetOf(setting.greedy));
  EXPECT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = setting.threads;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  for (int i = 0; i < 2; ++i) {
    const auto got = (*executable)->Run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok() || !want.ok()) return {};
    EXPECT_EQ(Difference((*got)[0], (*want)[0], tolerance), "")
        << text << "\nconstants " << setting.constants << (setting.greedy ? ", greedy" : "");
  }
  const CpuStats stats = (*executable)->stats();
  EXPECT_EQ(stats.fallbacks, 0) << text;
  EXPECT_EQ(stats.slow_primitives, 0) << text;
  return stats;
}

// The operand by each set of dims that repeat, whole and without its leading dims of 1.
std::vector<Dims> OperandsFor(const Dims& result) {
  std::vector<Dims> operands;
  for (unsigned mask = 0; mask < 1u << result.size(); ++mask) {
    Dims dims;
    for (size_t d = 0; d < result.size(); ++d) dims.push_back(mask >> d & 1 ? 1 : result[d]);
    operands.push_back(dims);
    size_t ones = 0;
    while (ones < dims.size() && dims[ones] == 1) ++ones;
    if (ones > 0) operands.emplace_back(dims.begin() + ones, dims.end());
  }
  return operands;
}

constexpr const char* kFollows[] = {
    "%z = add(%y, %t)",
    "%a = relu(%y) %z = mul(%a, %t)",
    "%a = mul(%y, %t) %z = sub(%a, %t)",
    "%a = div(%y, %t) %c = maximum(%a, %t) %z = tanh(%c)",
};

void ExpectAllBroadcasts(const Routine& routine) {
  for (const Dims& operand : OperandsFor(routine.result)) {
    for (Form form : {Form::kDense, Form::kSlice, Form::kPermuted}) {
      for (const char* follows : kFollows) {
        const std::string program = ProgramOf(routine, operand, form, follows);
        for (const char* constants : {"", "wb", "wbt"}) {
          for (bool greedy : {false, true}) ExpectAsReference(program, {constants, greedy});
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

class Products : public testing::TestWithParam<int> {};
TEST_P(Products, WithOperandsThatBroadcast) { ExpectAllBroadcasts(kProducts[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(Epilogue, Products, testing::Range(0, int(std::size(kProducts))));

class Convolutions : public testing::TestWithParam<int> {};
TEST_P(Convolutions, WithOperandsThatBroadcast) { ExpectAllBroadcasts(kConvolutions[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(Epilogue, Convolutions, testing::Range(0, int(std::size(kConvolutions))));

// --- Functions of one kind -----------------------------------------------------------

constexpr const char* kOfOneKind[] = {
    "%a = leaky_relu(%y, negative_slope=0.125) %z = leaky_relu(%a, negative_slope=0.5)",
    "%a = relu(%y) %c = sub(%a, %t) %z = leaky_relu(%c, negative_slope=0.25)",
    "%a = hardtanh(%y, min_val=0, max_val=0.5) %c = sub(%a, %t)"
    " %z = hardtanh(%c, min_val=-0.5, max_val=0.25)",
    "%a = hardtanh(%y, min_val=0, max_val=0.5) %c = mul(%a, %t) %d = tanh(%c)"
    " %e = abs(%d) %z = hardtanh(%e, min_val=-0.5, max_val=0.125)",
};

class OfOneKind : public testing::TestWithParam<const char*> {};

TEST_P(OfOneKind, HaveTheirOwnParameters) {
  std::vector<Routine> routines(std::begin(kProducts), std::end(kProducts));
  routines.insert(routines.end(), std::begin(kConvolutions), std::end(kConvolutions));
  for (const Routine& routine : routines) {
    const std::string program = ProgramOf(routine, routine.result, Form::kDense, GetParam());
    for (const char* constants : {"", "wb"}) ExpectAsReference(program, {constants});
  }
}

INSTANTIATE_TEST_SUITE_P(Epilogue, OfOneKind, testing::ValuesIn(kOfOneKind));

// An operand that nothing reads later: the result may take its place in memory.
TEST(Operands, ThatEndWithTheStep) {
  for (const Routine& routine : {kProducts[0], kProducts[2], kProducts[3], kConvolutions[1],
                                 kConvolutions[3], kConvolutions[11], kConvolutions[13]}) {
    for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
      for (const char* operands : {"%y, %u", "%u, %y"}) {
        const std::string follows =
            absl::StrCat("%u = sigmoid(%t) %a = ", op, "(", operands, ") %z = softmax(%a, dim=-1)");
        const std::string program = ProgramOf(routine, routine.result, Form::kDense, follows);
        for (bool greedy : {false, true}) ExpectAsReference(program, {"wb", greedy});
      }
    }
  }
}

// --- Numbers that are not finite -----------------------------------------------------

constexpr const char* kFunctions[] = {
    "%z = relu(%y)",
    "%z = leaky_relu(%y, negative_slope=0.25)",
    "%z = tanh(%y)",
    "%z = sigmoid(%y)",
    "%z = silu(%y)",
    "%z = hardswish(%y)",
    "%z = hardtanh(%y, min_val=-0.5, max_val=0.75)",
    "%z = hardsigmoid(%y)",
    "%z = abs(%y)",
    "%z = exp(%y)",
    "%z = sqrt(%y)",
    "%z = gelu(%y)",
    "%z = gelu(%y, approximate=\"tanh\")",
    "%lo = constant(dense<-0.5>) : f32[] %z = clamp(%y, %lo, none)",
    "%z = maximum(%y, %t)",
    "%z = minimum(%y, %t)",
    "%a = add(%y, %t) %z = relu(%a)",
    "%a = mul(%y, %t) %z = relu(%a)",
    "%a = div(%y, %t) %z = relu(%a)",
    "%a = sqrt(%y) %z = maximum(%a, %t)",
    "%a = tanh(%y) %c = relu(%a) %z = add(%c, %t)",
};

std::vector<float> SpecialNumbers() {
  using Limits = std::numeric_limits<float>;
  return {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 1e30f, -0.0f, 1e-40f};
}

// One element of an input is special: with others, or alone among zeros, where sums are it.
void ExpectKept(const Routine& routine, const char* follows, int input, bool zeros) {
  const std::string program = ProgramOf(routine, routine.result, Form::kDense, follows);
  const auto module = Parse(program);
  for (float special : SpecialNumbers()) {
    std::vector<HostTensor> inputs = InputsOf(*module->main());
    std::vector<double> values = inputs[input].ReadDoubles();
    if (zeros) values.assign(values.size(), 0);
    values[values.size() / 2] = special;
    inputs[input].WriteDoubles(values);
    for (const char* constants : {"", "wb"}) {
      SCOPED_TRACE(
          absl::StrCat("special ", special, " in input ", input, zeros ? " of zeros" : ""));
      // Roots of sums near 0 differ more than the sums.
      const bool root = absl::StrContains(follows, "sqrt");
      ExpectAsReference(program, {constants}, inputs, {1e-4, root ? 1e-3 : 1e-5});
    }
  }
}

class Specials : public testing::TestWithParam<const char*> {};

TEST_P(Specials, AreKept) {
  for (const Routine& routine :
       {kProducts[0], kProducts[3], kProducts[9], kConvolutions[1], kConvolutions[2],
        kConvolutions[3], kConvolutions[4], kConvolutions[7]}) {
    for (bool zeros : {false, true}) ExpectKept(routine, GetParam(), 0, zeros);
    const int operand = absl::StrContains(routine.inputs, "%b") ? 3 : 2;
    ExpectKept(routine, GetParam(), operand, false);
    // Padding times NaN is NaN or is left out.
    const bool pads = absl::StrContains(routine.nodes, "padding=[") &&
                      !absl::StrContains(routine.nodes, "padding=[0");
    if (!pads) ExpectKept(routine, GetParam(), 1, false);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Epilogue, Specials, testing::ValuesIn(kFunctions));

}  // namespace
}  // namespace weft::cpu
