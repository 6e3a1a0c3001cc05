// Matmuls and convolutions of bf16 with constant weights and what follows them. Operands are small
// integers, so that all sums are exact, and results must have the bits of the reference: rounded
// after the sum and after each op behind it.
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

struct Product {
  const char* name;
  const char* inputs;  // %w, the last one, becomes a constant.
  const char* node;    // %y is the result.
  const char* dims;    // Of the result.
  const char* channels;
  bool is_own = true;  // With AVX512_BF16 it is a kernel of ours.
};

const Product kProducts[] = {
    {"linear", "%b: bf16[72], %x: bf16[31, 130], %w: bf16[72, 130]", "%y = linear(%x, %w, %b)",
     "31, 72", "72"},
    {"one_row", "%x: bf16[1, 64], %w: bf16[64, 40]", "%y = matmul(%x, %w)", "1, 40", "40"},
    {"batch", "%x: bf16[2, 50, 48], %w: bf16[48, 19]", "%y = matmul(%x, %w)", "2, 50, 19", "19"},
    {"long", "%x: bf16[300, 700], %w: bf16[33, 700]", "%y = linear(%x, %w, none)", "300, 33", "33"},
    {"odd_depth", "%x: bf16[6, 35], %w: bf16[35, 40]", "%y = matmul(%x, %w)", "6, 40", "40", false},
    {"odd_channels", "%x: bf16[1, 33, 4, 5], %w: bf16[20, 33, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     "1, 20, 4, 5", "20, 1, 1", false},
    {"points", "%b: bf16[80], %x: bf16[2, 16, 9, 7], %w: bf16[80, 16, 1, 1]",
     "%p = relu(%x) %y = convolution(%p, %w, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])",
     "2, 80, 9, 7", "80, 1, 1"},
    {"windows", "%b: bf16[33], %x: bf16[1, 32, 11, 10], %w: bf16[33, 32, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, %b, stride=[2, 1], padding=[1, 1], dilation=[1, 1])",
     "1, 33, 6, 10", "33, 1, 1"},
    {"colours", "%b: bf16[16], %x: bf16[2, 3, 21, 23], %w: bf16[16, 3, 7, 7]",
     "%y = convolution(%x, %w, %b, stride=[2, 2], padding=[3, 3], dilation=[1, 1])",
     "2, 16, 11, 12", "16, 1, 1"},
    {"colours_last", "%x: bf16[1, 9, 20, 3], %w: bf16[24, 3, 3, 3]",
     "%p = permute(%x, dims=[0, 3, 1, 2])"
     "%y = convolution(%p, %w, none, stride=[1, 2], padding=[0, 1], dilation=[1, 1])",
     "1, 24, 7, 10", "24, 1, 1"},
    {"five_channels", "%x: bf16[1, 5, 8, 9], %w: bf16[24, 5, 2, 2]",
     "%y = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[2, 1])",
     "1, 24, 6, 8", "24, 1, 1", false},
};

const Product kDepthwise[] = {
    {"three_by_three", "%b: bf16[40], %x: bf16[2, 40, 9, 8], %w: bf16[40, 1, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, %b, stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
     "groups=40)",
     "2, 40, 9, 8", "40, 1, 1"},
    {"halved", "%b: bf16[72], %x: bf16[2, 72, 9, 8], %w: bf16[72, 1, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, %b, stride=[2, 2], padding=[1, 1], dilation=[1, 1], "
     "groups=72)",
     "2, 72, 5, 4", "72, 1, 1"},
    {"halved_lines", "%x: bf16[1, 48, 8, 7], %w: bf16[48, 1, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[2, 1], padding=[0, 2], "
     "dilation=[1, 1], groups=48)",
     "1, 48, 3, 9", "48, 1, 1"},
    {"thirds", "%x: bf16[1, 33, 10, 13], %w: bf16[33, 1, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[3, 3], padding=[1, 1], "
     "dilation=[1, 1], groups=33)",
     "1, 33, 4, 5", "33, 1, 1"},
    {"one_point", "%x: bf16[1, 200, 1, 1], %w: bf16[200, 1, 3, 3]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 1], "
     "dilation=[1, 1], groups=200)",
     "1, 200, 1, 1", "200, 1, 1"},
    {"five_by_five", "%x: bf16[1, 96, 12, 9], %w: bf16[96, 1, 5, 5]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[2, 2], padding=[2, 2], "
     "dilation=[1, 1], groups=96)",
     "1, 96, 6, 5", "96, 1, 1"},
    {"even_taps", "%x: bf16[1, 33, 7, 9], %w: bf16[33, 1, 2, 2]",
     "%p = relu(%x) %y = convolution(%p, %w, none, stride=[1, 1], padding=[1, 0], "
     "dilation=[1, 2], groups=33)",
     "1, 33, 8, 7", "33, 1, 1"},
};

// %q, %v and %n are operands of the result's sizes, in its layout, of its channels, and of one
// element.
constexpr const char* kEpilogues[] = {
    "%z = relu(%y)",
    "%z = hardtanh(%y, min_val=0.0, max_val=6.0)",
    "%z = hardtanh(%y, min_val=-300.3, max_val=257.1)",
    "%z = add(%y, %q)",
    "%0 = add(%q, %y) %z = relu(%0)",
    "%0 = relu(%y) %z = add(%0, %q)",
    "%0 = add(%y, %v) %1 = add(%0, %q) %z = hardtanh(%1, min_val=-100.0, max_val=400.0)",
    "%0 = mul(%y, %n) %1 = maximum(%0, %v) %z = minimum(%q, %1)",
    "%0 = add(%y, %q) %1 = mul(%0, %v) %2 = relu(%1) %z = add(%2, %n)",
};

// Integers from -largest to largest.
HostTensor Integers(Type type, int largest, uint32_t seed) {
  std::vector<int64_t> dims;
  for (SymInt d : type.dims()) dims.push_back(d.value());
  HostTensor t(type.dtype(), dims);
  std::vector<double> values(t.numel());
  for (double& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<int>((seed >> 16) % (2 * largest + 1)) - largest;
  }
  t.WriteDoubles(values);
  return t;
}

std::unique_ptr<Module> ProgramOf(const Product& product, const std::string& epilogue) {
  return Parse(absl::StrCat("func @main(%s: bf16[", product.dims, "], %v: bf16[", product.channels,
                            "], %n: bf16[], ", product.inputs, ") {\n %q = relu(%s) ", product.node,
                            " ", epilogue, "\n return %z\n}"));
}

// The last input becomes a constant.
void FreezeWeights(Module& module, const HostTensor& weights) {
  Graph& graph = *module.main();
  Builder builder(&graph, graph.first_node(), {/*fold=*/false});
  graph.input(graph.num_inputs() - 1)->ReplaceAllUsesWith(builder.Constant(weights));
}

struct Outcome {
  HostTensor got;
  HostTensor want;
  int64_t bf16_products = 0;
};

Outcome RunBoth(const Product& product, const std::string& epilogue,
                const std::vector<HostTensor>& inputs, int threads) {
  const auto module = ProgramOf(product, epilogue);
  const auto want = reference::Run(*module->main(), inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  FreezeWeights(*module, inputs.back());
  CompileOptions compile;
  compile.passes = "cpu";
  EXPECT_TRUE(Compile(*module, compile).ok());
  auto plan = Lower(*module->main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = threads;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto got = (*executable)->Run(inputs);
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
  return {(*got)[0], (*want)[0], (*executable)->stats().bf16_products};
}

std::vector<HostTensor> InputsOf(const Product& product) {
  const auto module = ProgramOf(product, kEpilogues[0]);
  const Graph& graph = *module->main();
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    inputs.push_back(Integers(graph.input(i)->type(), 7, static_cast<uint32_t>(i + 1)));
  }
  return inputs;
}

// Other machines compute in f32, and round as often. oneDNN is asked last: its first answer decides
// which instructions it uses.
int64_t NumOwn(bool is_own) {
  const bool native = std::string(WEFT_TEST_ISA) == "native";
  return is_own && native && FindBf16Unit() == DnnUnit::kVectors ? 1 : 0;
}

class Bf16Products : public testing::TestWithParam<Product> {};

TEST_P(Bf16Products, HaveTheBitsOfTheReference) {
  const std::vector<HostTensor> inputs = InputsOf(GetParam());
  for (const std::string epilogue : kEpilogues) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(absl::StrCat(epilogue, ", threads ", threads));
      const Outcome run = RunBoth(GetParam(), epilogue, inputs, threads);
      EXPECT_EQ(Difference(run.got, run.want, {}), "");
      EXPECT_EQ(run.bf16_products, NumOwn(GetParam().is_own));
    }
  }
}

TEST_P(Bf16Products, KeepNan) {
  std::vector<HostTensor> inputs = InputsOf(GetParam());
  HostTensor& x = inputs[inputs.size() - 2];
  std::vector<double> values = x.ReadDoubles();
  values[values.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  x.WriteDoubles(values);
  // An operand that is row-major makes the result of a convolution so, too.
  std::vector<std::string> epilogues(std::begin(kEpilogues), std::end(kEpilogues));
  epilogues.push_back("%z = add(%y, %s)");
  for (const std::string& epilogue : epilogues) {
    SCOPED_TRACE(epilogue);
    const Outcome run = RunBoth(GetParam(), epilogue, inputs, 1);
    EXPECT_EQ(Difference(run.got, run.want, {}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bf16Products, testing::ValuesIn(kProducts),
                         [](const auto& info) { return std::string(info.param.name); });

class Bf16Depthwise : public testing::TestWithParam<Product> {};

TEST_P(Bf16Depthwise, HaveTheBitsOfTheReference) {
  const std::vector<HostTensor> inputs = InputsOf(GetParam());
  for (const std::string epilogue : kEpilogues) {
    // A function that is more than a clamp is a kernel behind it.
    const bool clamps = absl::StrContains(epilogue, "%z = relu(%y)") ||
                        absl::StrContains(epilogue, "%z = hardtanh(%y");
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(absl::StrCat(epilogue, ", threads ", threads));
      const Outcome run = RunBoth(GetParam(), epilogue, inputs, threads);
      EXPECT_EQ(Difference(run.got, run.want, {}), "");
      EXPECT_EQ(run.bf16_products, NumOwn(clamps));
    }
  }
}

TEST(Bf16Maxima, HaveTheBitsOfTheReference) {
  for (const char* channels : {"40", "3"}) {
    const auto module = Parse(absl::StrCat(
        "func @main(%x: bf16[2, ", channels,
        ", 9, 8]) {\n %0 = neg(%x)\n"
        " %1, %2 = max_pool(%0, kernel_size=[3, 2], stride=[2, 1], padding=[1, 1, 1, 1], "
        "dilation=[1, 1])\n return %1\n}"));
    HostTensor x = Integers(module->main()->input(0)->type(), 100, 1);
    std::vector<double> values = x.ReadDoubles();
    values[7] = std::numeric_limits<double>::quiet_NaN();
    values[100] = std::numeric_limits<double>::infinity();
    x.WriteDoubles(values);
    const auto want = reference::Run(*module->main(), {x});
    ASSERT_TRUE(want.ok()) << want.status();
    CompileOptions compile;
    compile.passes = "cpu";
    ASSERT_TRUE(Compile(*module, compile).ok());
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.isa = WEFT_TEST_ISA;
    const auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto got = (*executable)->Run({x});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Difference((*got)[0], (*want)[0], {}), "");
    // Few channels lie apart.
    EXPECT_EQ((*executable)->stats().bf16_maxima, NumOwn(std::string(channels) == "40"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bf16Depthwise, testing::ValuesIn(kDepthwise),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
