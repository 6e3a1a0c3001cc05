// Matmuls and convolutions with epilogues, compared with the reference executor.
#include <string>
#include <vector>

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
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Numbers from -1 to 1 that differ along every dim.
HostTensor Ramp(absl::Span<const int64_t> dims) {
  HostTensor t(DType::kF32, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 997) - 498) / 500;
  }
  t.WriteDoubles(values);
  return t;
}

std::vector<HostTensor> InputsOf(const Graph& graph) {
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    std::vector<int64_t> dims;
    for (SymInt d : graph.input(i)->type().dims()) dims.push_back(d.value());
    inputs.push_back(Ramp(dims));
  }
  return inputs;
}

// The inputs whose names begin with "w" or "b" become constants.
void Freeze(Module& module, absl::Span<const HostTensor> inputs) {
  Graph& graph = *module.main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const char first = graph.input_info(i).name[0];
    if (first != 'w' && first != 'b') continue;
    Builder builder(&graph, graph.first_node());
    graph.input(i)->ReplaceAllUsesWith(builder.Constant(inputs[i]));
  }
}

struct RunOptions {
  bool frozen = false;
  std::string isa = "native";
  int threads = 2;
};

// Runs the program with epilogues fused, twice; its counts.
CpuStats ExpectAsReference(const std::string& text, const RunOptions& run) {
  const auto module = Parse(text);
  const std::vector<HostTensor> inputs = InputsOf(*module->main());
  const auto want = reference::Run(*module->main(), inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  if (run.frozen) Freeze(*module, inputs);
  CompileOptions compile;
  compile.passes = "fuse_epilogue,dce";
  const auto compiled = Compile(*module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  auto plan = Lower(*module->main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = run.threads;
  options.isa = run.isa;
  const auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  for (int i = 0; i < 2; ++i) {
    const auto got = (*executable)->Run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok() || !want.ok()) return {};
    EXPECT_EQ(Difference((*got)[0], (*want)[0], {1e-4, 1e-4}), "");
  }
  return (*executable)->stats();
}

TEST(Library, ProductsAndConvolutionsWithWhatFollows) {
  const char* const programs[] = {
      // A batch that is not one of the weights becomes rows.
      "func @main(%x: f32[2, 5, 30], %w: f32[30, 20], %r: f32[2, 5, 20]) -> (f32[2, 5, 20]) {"
      " %0 = matmul(%x, %w) %1 = add(%0, %r) %2 = relu(%1) return %2 }",
      "func @main(%x: f32[3, 4, 30], %y: f32[3, 30, 8]) -> (f32[3, 8, 4]) {"
      " %0 = matmul(%x, %y) %1 = permute(%0, dims=[0, 2, 1]) %2 = tanh(%1) return %2 }",
      // Operands that are one row or one element, seen many times.
      "func @main(%x: f32[4, 2], %y: f32[3]) -> (f32[4, 3]) {"
      " %0 = expand(%y, size=[2, 3]) %1 = matmul(%x, %0) return %1 }",
      "func @main(%x: f32[2, 65], %w: f32[65, 1]) -> (f32[2, 48]) {"
      " %0 = expand(%w, size=[65, 48]) %1 = matmul(%x, %0) return %1 }",
      "func @main(%x: f32[2, 65], %w: f32[1, 65]) -> (f32[2, 48]) {"
      " %0 = expand(%w, size=[48, 65]) %1 = linear(%x, %0) return %1 }",
      "func @main(%x: f32[4, 1], %y: f32[5, 3]) -> (f32[4, 3]) {"
      " %0 = expand(%x, size=[4, 5]) %1 = matmul(%0, %y) return %1 }",
      // A sum of one product, of rows that lie side by side.
      "func @main(%x: f32[4, 13, 1], %w: f32[3, 1], %b: f32[3]) -> (f32[4, 13, 3]) {"
      " %0 = linear(%x, %w, %b) return %0 }",
      "func @main(%x: f32[2, 8, 9, 9], %w: f32[16, 4, 3, 3], %b: f32[16], %r: f32[2, 16, 9, 9])"
      " -> (f32[2, 16, 9, 9]) { %0 = convolution(%x, %w, %b, stride=[1, 1], padding=[1, 1],"
      " dilation=[1, 1], groups=2) %1 = add(%0, %r) %2 = relu(%1) return %2 }",
      "func @main(%x: f32[1, 8, 20], %w: f32[8, 6, 3]) -> (f32[1, 6, 40]) {"
      " %0 = convolution(%x, %w, none, stride=[2], padding=[1], dilation=[1],"
      " transposed=true, output_padding=[1]) %1 = sigmoid(%0)"
      " return %1 }",
      "func @main(%x: f32[1, 3, 6, 7, 5], %w: f32[4, 3, 2, 3, 3]) -> (f32[1, 4, 5, 5, 3]) {"
      " %0 = convolution(%x, %w, none, stride=[1, 1, 1], padding=[0, 0, 0],"
      " dilation=[1, 1, 1]) %1 = silu(%0) return %1 }",
  };
  for (const char* program : programs) {
    SCOPED_TRACE(program);
    for (bool frozen : {false, true}) {
      EXPECT_EQ(ExpectAsReference(program, {frozen}).fallbacks, 0);
    }
  }
}

// The sum lies where the operand did that dies there: two temporaries are enough.
TEST(Library, WhatIsAddedToAProductMakesRoomForTheSum) {
  const char* const programs[] = {
      "func @main(%x: f32[2, 16, 9, 9], %w: f32[16, 16, 1, 1], %b: f32[16]) -> (f32[2, 16]) {"
      " %a = abs(%x)"
      " %c = convolution(%a, %w, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])"
      " %d = convolution(%c, %w, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])"
      " %e = add(%d, %a) %f = relu(%e) %g = amax(%f, dim=[2, 3]) return %g }",
      "func @main(%x: f32[9, 288], %w: f32[288, 288], %b: f32[288]) -> (f32[9]) {"
      " %a = abs(%x) %c = linear(%a, %w, %b) %d = linear(%c, %w, %b)"
      " %e = add(%a, %d) %f = relu(%e) %g = amax(%f, dim=[1]) return %g }",
      "func @main(%x: f32[1, 2592], %w: f32[2592, 2592]) -> (f32[1]) {"
      " %a = abs(%x) %c = matmul(%a, %w) %d = matmul(%c, %w)"
      " %e = add(%d, %a) %g = amax(%e, dim=[1]) return %g }",
  };
  for (const char* program : programs) {
    SCOPED_TRACE(program);
    for (bool frozen : {false, true}) {
      const CpuStats stats = ExpectAsReference(program, {frozen});
      EXPECT_EQ(stats.fallbacks, 0);
      EXPECT_EQ(stats.arena_bytes, 2 * 2592 * 4);
    }
  }
}

constexpr const char* kIsas[] = {"avx2", "native"};

// Rows, columns and sums that end within a block, a panel, a part.
TEST(Gemm, OfAllSizes) {
  for (int64_t rows : {1, 2, 7, 8, 9, 25, 131}) {
    for (int64_t columns : {1, 5, 16, 33, 48, 64, 100, 131}) {
      for (int64_t length : {1, 3, 64, 257, 600}) {
        const std::string program = absl::StrCat(
            "func @main(%x: f32[", rows, ", ", length, "], %w: f32[", columns, ", ", length,
            "], %b: f32[", columns, "], %r: f32[", rows, ", ", columns, "]) -> (f32[", rows, ", ",
            columns, "]) { %0 = linear(%x, %w, %b) %1 = add(%0, %r) %2 = relu(%1) return %2 }");
        SCOPED_TRACE(program);
        for (const char* isa : kIsas) {
          const CpuStats stats = ExpectAsReference(program, {true, isa});
          EXPECT_EQ(stats.fallbacks, 0);
          EXPECT_EQ(stats.panel_bytes > 0, columns >= 16 && length >= 32);
        }
      }
    }
  }
}

TEST(Gemm, WhatFollows) {
  const char* const follows[] = {
      "%1 = gelu(%0)",
      "%1 = gelu(%0, approximate=\"tanh\")",
      "%1 = silu(%0)",
      "%1 = hardswish(%0)",
      "%1 = leaky_relu(%0, negative_slope=0.25)",
      "%1 = hardtanh(%0, min_val=-0.5, max_val=0.75)",
      "%lo = constant(dense<-0.5>) : f32[] %hi = constant(dense<0.75>) : f32[]"
      " %1 = clamp(%0, %lo, %hi)",
      "%lo = constant(dense<0.25>) : f32[] %a = clamp(%0, %lo, none) %1 = mul(%a, %r)",
      "%a = tanh(%0) %1 = mul(%a, %r)",
      "%a = sigmoid(%0) %b1 = add(%a, %r) %1 = relu(%b1)",
      "%a = add(%0, %v) %b1 = maximum(%a, %r) %1 = minimum(%b1, %v)",
      "%a = relu(%0) %b1 = add(%r, %a) %1 = relu(%b1)",
      "%a = mul(%0, %c) %1 = add(%a, %r)",
  };
  for (const char* follow : follows) {
    const std::string program = absl::StrCat(
        "func @main(%x: f32[13, 40], %w: f32[40, 50], %r: f32[13, 50], %v: f32[50], %c: f32[13, "
        "1]) -> (f32[13, 50]) { %0 = matmul(%x, %w) ",
        follow, " return %1 }");
    SCOPED_TRACE(program);
    for (const char* isa : kIsas) {
      const CpuStats stats = ExpectAsReference(program, {true, isa});
      EXPECT_EQ(stats.fallbacks, 0);
      EXPECT_GT(stats.panel_bytes, 0);
    }
  }
}

// Channels last, as propagate_layout has them.
TEST(Gemm, Convolutions) {
  struct Case {
    int64_t channels, results, size, kernel, stride, padding, dilation;
  };
  const Case cases[] = {
      {40, 24, 9, 1, 1, 0, 1},  {32, 70, 7, 3, 1, 1, 1},   {20, 16, 11, 3, 2, 1, 1},
      {300, 20, 5, 3, 1, 2, 2}, {17, 130, 12, 5, 3, 0, 1}, {64, 64, 8, 2, 2, 0, 1},
  };
  for (const Case& c : cases) {
    const int64_t out = (c.size + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
    const std::string program = absl::StrCat(
        "func @main(%x: f32[2, ", c.size, ", ", c.size, ", ", c.channels, "], %w: f32[", c.results,
        ", ", c.channels, ", ", c.kernel, ", ", c.kernel, "], %b: f32[", c.results,
        "], %r: f32[2, ", out, ", ", out, ", ", c.results, "]) -> (f32[2, ", out, ", ", out, ", ",
        c.results, "]) { %0 = permute(%x, dims=[0, 3, 1, 2]) %1 = convolution(%0, %w, %b, stride=[",
        c.stride, ", ", c.stride, "], padding=[", c.padding, ", ", c.padding, "], dilation=[",
        c.dilation, ", ", c.dilation,
        "]) %2 = permute(%r, dims=[0, 3, 1, 2]) %3 = add(%1, %2) %4 = relu(%3)"
        " %5 = permute(%4, dims=[0, 2, 3, 1]) return %5 }");
    SCOPED_TRACE(program);
    for (const char* isa : kIsas) {
      for (int threads : {1, 2, 3}) {
        const CpuStats stats = ExpectAsReference(program, {true, isa, threads});
        EXPECT_EQ(stats.fallbacks, 0);
        EXPECT_GT(stats.panel_bytes, 0);
      }
    }
  }
}

struct TransposedCase {
  std::vector<int64_t> size, kernel, stride, padding, dilation, more;
  int64_t channels = 16;
  int64_t results = 16;  // Of a group.
  int64_t groups = 1;
};

std::vector<int64_t> ResultDims(const TransposedCase& c) {
  std::vector<int64_t> dims = {2, c.groups * c.results};
  for (size_t d = 0; d < c.size.size(); ++d) {
    dims.push_back((c.size[d] - 1) * c.stride[d] - 2 * c.padding[d] +
                   c.dilation[d] * (c.kernel[d] - 1) + 1 + c.more[d]);
  }
  return dims;
}

std::string TransposedText(const TransposedCase& c, bool with_bias) {
  const auto list = [](const std::vector<int64_t>& v) { return absl::StrJoin(v, ", "); };
  return absl::StrCat(
      "func @main(%x: f32[2, ", c.channels, ", ", list(c.size), "], %w: f32[", c.channels, ", ",
      c.results, ", ", list(c.kernel), "], %b: f32[", c.groups * c.results, "]) -> (f32[",
      list(ResultDims(c)), "]) { %0 = convolution(%x, %w, ", with_bias ? "%b" : "none",
      ", stride=[", list(c.stride), "], padding=[", list(c.padding), "], dilation=[",
      list(c.dilation), "], transposed=true, output_padding=[", list(c.more),
      "], groups=", c.groups, ") ", with_bias ? "%1 = relu(%0) return %1 }" : "return %0 }");
}

// Results of one remainder by the strides are a convolution; kernels that do not reach all of them
// leave zeros.
TEST(Gemm, TransposedConvolutions) {
  const TransposedCase cases[] = {
      {{9}, {16}, {8}, {4}, {1}, {0}, 20, 35},
      {{70}, {5}, {3}, {0}, {1}, {2}, 33, 16},
      {{5}, {2}, {4}, {0}, {1}, {1}},
      {{7}, {3}, {2}, {2}, {2}, {1}},  // Only even places are reached.
      {{6, 7}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, 32, 17},
      {{6, 1}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 0}},
      {{4, 5}, {3, 3}, {1, 3}, {2, 1}, {2, 1}, {0, 1}, 34, 18, 2},
      {{3, 4, 5}, {2, 3, 2}, {2, 2, 1}, {0, 1, 0}, {1, 1, 2}, {1, 0, 0}},
  };
  for (const TransposedCase& c : cases) {
    for (const bool with_bias : {false, true}) {
      const std::string program = TransposedText(c, with_bias);
      SCOPED_TRACE(program);
      for (const char* isa : kIsas) {
        for (int threads : {1, 3}) {
          const CpuStats stats = ExpectAsReference(program, {true, isa, threads});
          EXPECT_EQ(stats.fallbacks, 0);
          EXPECT_GT(stats.panel_bytes, 0);
        }
      }
    }
  }
}

TEST(Gemm, TransposedConvolutionsWithChannelsLast) {
  const std::string program =
      "func @main(%x: f32[2, 5, 6, 24], %w: f32[24, 20, 3, 2]) -> (f32[2, 11, 12, 20]) {"
      " %0 = permute(%x, dims=[0, 3, 1, 2]) %1 = convolution(%0, %w, none, stride=[2, 2],"
      " padding=[0, 0], dilation=[1, 1], transposed=true, output_padding=[0, 0])"
      " %2 = permute(%1, dims=[0, 2, 3, 1]) return %2 }";
  for (const char* isa : kIsas) {
    const CpuStats stats = ExpectAsReference(program, {true, isa});
    EXPECT_EQ(stats.fallbacks, 0);
    EXPECT_GT(stats.panel_bytes, 0);
  }
}

// One weight, as it is and turned: its taps differ in their places alone.
TEST(Gemm, AConvolutionAndItsTransposeShareNoPanels) {
  const char program[] =
      "func @main(%x: f32[1, 6, 6, 32], %w: f32[32, 32, 3, 3]) -> (f32[1, 4, 4, 32]) {"
      " %0 = permute(%x, dims=[0, 3, 1, 2]) %1 = permute(%w, dims=[0, 1, 3, 2])"
      " %2 = convolution(%0, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])"
      " %3 = convolution(%0, %1, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])"
      " %4 = mul(%2, %3) %5 = permute(%4, dims=[0, 2, 3, 1]) return %5 }";
  const CpuStats stats = ExpectAsReference(program, {true});
  EXPECT_EQ(stats.fallbacks, 0);
  EXPECT_GT(stats.panel_bytes, 0);
}

}  // namespace
}  // namespace weft::cpu
