// Products of matrices on the emulated driver, with epilogues, compared with the reference.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using Dims = std::vector<int64_t>;

// The program with each matmul and the pointwise ops behind it in a group.
std::string WithEpilogues(const std::string& text) {
  const auto module = Parse(text);
  CompileOptions options;
  options.passes = "fuse_epilogue,dce";
  const auto done = weft::Compile(*module, options);
  EXPECT_TRUE(done.ok()) << done.status();
  return PrintModule(*module);
}

// Runs the program, whose steps are all on the device, and compares it with the reference.
void ExpectOnDevice(EmulatedProgram& program, const std::vector<HostTensor>& inputs, int64_t steps,
                    double tolerance = 1e-4) {
  program.ExpectAsReference(inputs, tolerance);
  EXPECT_EQ(CounterOf(program.counters(), "steps"), steps);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

TEST(CudaMatmul, AppliesEpilogues) {
  for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
    // The result so far is the second operand of `mul`; %r broadcasts to columns, %q to rows.
    EmulatedProgram program(WithEpilogues(absl::StrReplaceAll(R"(
      func @main(%x: T[s0, 40], %w: T[70, 40], %b: T[70], %r: T[s0, 1], %q: T[70], %t: T[70, s0],
                 %s: T[]) -> (T[s0, 70]) where 1 <= s0 {
        %p = permute(%t, dims=[1, 0])
        %0 = linear(%x, %w, %b)
        %1 = gelu(%0)
        %2 = mul(%r, %1)
        %3 = sub(%2, %q)
        %4 = add(%p, %3)
        %5 = maximum(%4, %s)
        return %5
      })",
                                                              {{"T", dtype}})));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {1, 9, 130}) {
      ExpectOnDevice(program,
                     {Ramp({n, 40}, type), Ramp({70, 40}, type), Ramp({70}, type),
                      Ramp({n, 1}, type), Ramp({70}, type), Ramp({70, n}, type), Ramp({}, type)},
                     1, DTypeBits(type) == 16 ? 2e-2 : 1e-4);
    }
  }
}

// Tiles, few rows, few columns and parts of k.
TEST(CudaMatmul, WrapsSumsOfIntegers) {
  for (const char* dtype : {"i32", "i64", "u32"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: T[2, s0, s1], %w: T[s1, 70], %v: T[5, s1], %b: T[5]) -> (T[2, s0, 70], T[2, s0, 5])
          where 1 <= s0, 0 <= s1 {
        %0 = matmul(%x, %w)
        %1 = linear(%x, %v, %b)
        return %0, %1
      })",
                                                {{"T", dtype}}));
    const DType type = *ParseDType(dtype);
    for (const auto& [rows, k] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 40}, {33, 40}, {2, 600}, {2, 0}}) {
      ExpectOnDevice(
          program,
          {Ramp({2, rows, k}, type), Ramp({k, 70}, type), Ramp({5, k}, type), Ramp({5}, type)}, 2,
          0);
    }
  }
}

// Integers of 8 bits with zero points: tiles, few rows, few columns, parts of k and batches.
TEST(CudaMatmul, MultipliesBytes) {
  for (const auto& [left, right] :
       std::vector<std::pair<DType, DType>>{{DType::kU8, DType::kI8}, {DType::kI8, DType::kU8}}) {
    EmulatedProgram program(absl::StrReplaceAll(
        R"(
      func @main(%x: A[2, s0, s1], %w: B[s1, 70], %v: B[3, s1], %z: A[], %y: B[70], %t: B[3],
                 %u: B[2, s1, 48]) -> (i32[2, s0, 70], i32[2, s0, 3], i32[2, s0, 48])
          where 1 <= s0, 0 <= s1 {
        %0 = matmul_integer(%x, %w, %z, %y)
        %p = permute(%v, dims=[1, 0])
        %1 = matmul_integer(%x, %p, %z, %t)
        %2 = matmul_integer(%x, %u, none, none)
        return %0, %1, %2
      })",
        {{"A", std::string(DTypeName(left))}, {"B", std::string(DTypeName(right))}}));
    for (const auto& [rows, k] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 48}, {33, 40}, {1, 601}, {3, 64}, {2, 0}}) {
      ExpectOnDevice(
          program,
          {Ramp({2, rows, k}, left), Ramp({k, 70}, right), Ramp({3, k}, right),
           Ints({}, {77}, left), Ramp({70}, right), Ramp({3}, right), Ramp({2, k, 48}, right)},
          3, 0);
    }
  }
}

// Quantized models scale the sums, add a bias and another tensor of 8 bits, and step back to
// integers, in the launch that computes the sums.
TEST(CudaMatmul, RequantizesSums) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: u8[s0, s1], %w: i8[s1, 24], %z: u8[], %s: f32[24], %b: f32[24], %r: i8[s0, 24],
               %q: f32[], %t: f32[]) -> (i8[s0, 24]) where 1 <= s0, 1 <= s1 {
      %0 = matmul_integer(%x, %w, %z, none)
      %1 = convert(%0, dtype=f32)
      %2 = mul(%1, %s)
      %3 = add(%2, %b)
      %4 = relu(%3)
      %5 = dequantize_linear(%r, %q, none, axis=1)
      %6 = add(%5, %4)
      %7 = quantize_linear(%6, %t, none, axis=1, dtype=i8)
      return %7
    })"));
  // In bf16, [n, m] as [m, n], and without a bias.
  EmulatedProgram half(WithEpilogues(R"(
    func @main(%x: i8[s0, s1], %w: i8[s1, 7], %s: bf16[s0, 1]) -> (bf16[s0, 7])
        where 1 <= s0, 1 <= s1 {
      %0 = matmul_integer(%x, %w, none, none)
      %1 = convert(%0, dtype=bf16)
      %2 = mul(%1, %s)
      return %2
    })"));
  const HostTensor one = Ints({}, {0.5}, DType::kF32), other = Ints({}, {3}, DType::kF32);
  for (const auto& [rows, k] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 48}, {40, 33}, {2, 4100}, {33, 900}}) {
    ExpectOnDevice(
        program,
        {Ramp({rows, k}, DType::kU8), Ramp({k, 24}, DType::kI8), Ints({}, {128}, DType::kU8),
         Ramp({24}), Ramp({24}), Ramp({rows, 24}, DType::kI8), one, other},
        1, 0);
    ExpectOnDevice(
        half,
        {Ramp({rows, k}, DType::kI8), Ramp({k, 7}, DType::kI8), Ramp({rows, 1}, DType::kBF16)}, 1,
        1e-2);
  }
}

// Results of 16 bits are rounded before each op: the sum 1 + 1/512 becomes 1 in bf16, so that the
// difference is 0, and not 1/512.
TEST(CudaMatmul, RoundsBeforeEachOpOfAnEpilogue) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: bf16[3, 2], %w: bf16[2, 5], %o: bf16[5]) -> (bf16[3, 5]) {
      %0 = matmul(%x, %w)
      %1 = sub(%0, %o)
      return %1
    })"));
  HostTensor x(DType::kBF16, {3, 2});
  x.WriteDoubles({1, 1.0 / 512, 1, 1.0 / 512, 1, 1.0 / 512});
  HostTensor w(DType::kBF16, {2, 5});
  HostTensor o(DType::kBF16, {5});
  w.WriteDoubles(std::vector<double>(10, 1));
  o.WriteDoubles(std::vector<double>(5, 1));
  ExpectOnDevice(program, {x, w, o}, 1, 0);
}

// Batches whose dims the operands of the epilogue walk in other ways than the matrices do.
TEST(CudaMatmul, AppliesEpiloguesToBatches) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%a: f32[3, 2, s0, 17], %b: f32[2, 17, 20], %m: f32[3, 1, 1, 20],
               %r: f32[2, s0, 20]) -> (f32[3, 2, s0, 20]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = add(%0, %m)
      %2 = mul(%1, %r)
      return %2
    })"));
  EmulatedProgram rows(WithEpilogues(R"(
    func @main(%a: f32[3, s0, 17], %b: f32[17, 20], %m: f32[3, 1, 1], %v: f32[20])
        -> (f32[3, s0, 20]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = add(%0, %m)
      %2 = mul(%1, %v)
      return %2
    })"));
  EmulatedProgram vectors(WithEpilogues(R"(
    func @main(%a: f32[3, s0, 17], %v: f32[17], %m: f32[3, 1], %r: f32[s0])
        -> (f32[3, s0]) where 1 <= s0 {
      %0 = matmul(%a, %v)
      %1 = add(%0, %m)
      %2 = mul(%1, %r)
      return %2
    })"));
  for (const int64_t n : {1, 6}) {
    ExpectOnDevice(program,
                   {Ramp({3, 2, n, 17}), Ramp({2, 17, 20}), Ramp({3, 1, 1, 20}), Ramp({2, n, 20})},
                   1);
    ExpectOnDevice(rows, {Ramp({3, n, 17}), Ramp({17, 20}), Ramp({3, 1, 1}), Ramp({20})}, 1);
    ExpectOnDevice(vectors, {Ramp({3, n, 17}), Ramp({17}), Ramp({3, 1}), Ramp({n})}, 1);
  }
}

// The result takes the memory of the operand that is added first.
TEST(CudaMatmul, AccumulatesInPlace) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: f32[s0, 24], %w: f32[24, 24]) -> (f32[s0, 24]) where 1 <= s0 {
      %r = tanh(%x)
      %0 = matmul(%x, %w)
      %1 = add(%0, %r)
      %2 = matmul(%1, %w)
      return %2
    })"));
  for (const int64_t n : {1, 70}) ExpectOnDevice(program, {Ramp({n, 24}), Ramp({24, 24})}, 3);
}

// f32 on tensor cores: the error is that of the operands' leading bits, and no less.
TEST(CudaMatmul, ReadsFewerBitsOfFloats) {
  const std::string text = WithEpilogues(R"(
    func @main(%x: f32[s0, 120], %w: f32[60, 120], %b: f32[60]) -> (f32[s0, 60]) where 1 <= s0 {
      %0 = linear(%x, %w, %b)
      %1 = relu(%0)
      return %1
    })");
  const std::vector<HostTensor> inputs = {Ramp({70, 120}), Ramp({60, 120}), Ramp({60})};
  const auto run = [&](const char* precision) {
    EmulatedProgram program(
        text,
        {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}, {"f32-precision", precision}});
    program.ExpectAsReference(inputs, precision == std::string("medium") ? 5e-3 : 2e-5);
    const auto got = program.Run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    return (*got)[0];
  };
  const HostTensor highest = run("highest");
  const HostTensor high = run("high");
  const HostTensor medium = run("medium");
  EXPECT_EQ(Difference(high, highest, {1e-6, 1e-5}), "");
  EXPECT_NE(Difference(high, highest, {0, 0}), "");
  EXPECT_NE(Difference(medium, highest, {1e-5, 1e-5}), "");
  // Numbers that no TF32 number is above; infinity and NaN.
  for (const char* precision : {"high", "medium"}) {
    EmulatedProgram program(
        text,
        {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}, {"f32-precision", precision}});
    HostTensor x = Ramp({5, 120});
    float* const values = x.data<float>();
    values[130] = std::numeric_limits<float>::quiet_NaN();
    values[250] = std::numeric_limits<float>::max() / 2;
    if (precision == std::string("medium")) values[7] = std::numeric_limits<float>::infinity();
    program.ExpectAsReference({x, Ramp({60, 120}), Ramp({60})}, 5e-3);
  }
}

// Sums without terms are the bias; no rows, no columns.
TEST(CudaMatmul, MultipliesEmptyMatrices) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: f32[s0, s1], %w: f32[s2, s1], %b: f32[s2]) -> (f32[s0, s2])
        where 0 <= s0, 0 <= s1, 0 <= s2 {
      %0 = linear(%x, %w, %b)
      %1 = tanh(%0)
      return %1
    })"));
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {3, 0, 4}, {70, 0, 80}, {0, 5, 4}, {3, 5, 0}, {70, 40, 80}, {1, 0, 4}}) {
    ExpectOnDevice(program, {Ramp({m, k}), Ramp({n, k}), Ramp({n})}, 1);
  }
}

// Views at odd places, with gaps, repeated, and reversed rows.
TEST(CudaMatmul, MultipliesViews) {
  for (const char* dtype : {"f32", "bf16"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: T[s0, 50], %w: T[60, 50], %r: T[1, 48])
          -> (T[s0 - 1, 60], T[s0, 57], T[s0 - 1, s0 - 1]) where 2 <= s0 {
        %a = slice(%x, dim=0, start=1, end=s0, step=1)
        %b = permute(%w, dims=[1, 0])
        %0 = matmul(%a, %b)
        %c = slice(%x, dim=1, start=1, end=49, step=1)
        %d = slice(%w, dim=1, start=2, end=50, step=1)
        %e = slice(%d, dim=0, start=3, end=60, step=1)
        %f = permute(%e, dims=[1, 0])
        %1 = matmul(%c, %f)
        %g = expand(%r, size=[s0 - 1, 48])
        %h = slice(%a, dim=1, start=0, end=48, step=1)
        %i = permute(%g, dims=[1, 0])
        %2 = matmul(%h, %i)
        return %0, %1, %2
      })",
                                                {{"T", dtype}}));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {2, 9, 70}) {
      program.ExpectAsReference({Ramp({n, 50}, type), Ramp({60, 50}, type), Ramp({1, 48}, type)},
                                type == DType::kF32 ? 1e-4 : 2e-2);
    }
    EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
  }
}

// Long sums in parts, with operands of an epilogue and a bias.
TEST(CudaMatmul, SplitsLongSums) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: f32[s0, 1200], %w: f32[24, 1200], %b: f32[24], %r: f32[s0, 24])
        -> (f32[s0, 24]) where 1 <= s0 {
      %0 = linear(%x, %w, %b)
      %1 = relu(%0)
      %2 = add(%1, %r)
      return %2
    })"));
  for (const int64_t n : {8, 3}) {
    ExpectOnDevice(program, {Ramp({n, 1200}), Ramp({24, 1200}), Ramp({24}), Ramp({n, 24})}, 1);
  }
}

}  // namespace
}  // namespace weft::cuda
