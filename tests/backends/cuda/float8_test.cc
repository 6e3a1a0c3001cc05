// Floats of 8 bits on the emulated driver: conversions and products of matrices, with tensor cores
// for them (compute capability 8.9) and without.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "backends/cuda/routines/matmul_choice.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

// A device of another compute capability.
class Capability {
 public:
  Capability(int major, int minor) { Emulated().emulation.compute(major, minor); }
  ~Capability() { Emulated().emulation.compute(8, 0); }
};

void ExpectOnDevice(EmulatedProgram& program, const std::vector<HostTensor>& inputs, int64_t steps,
                    double tolerance) {
  program.ExpectAsReference(inputs, tolerance);
  EXPECT_EQ(CounterOf(program.counters(), "steps"), steps);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

// All patterns of a dtype of 8 bits.
HostTensor AllPatterns(DType dtype) {
  HostTensor x(dtype, {256});
  for (int i = 0; i < 256; ++i) x.raw()[i] = static_cast<uint8_t>(i);
  return x;
}

// Numbers beside all those of the dtype and beside the ties between them, in f32.
HostTensor NearNumbers(DType dtype) {
  std::vector<double> values;
  std::vector<double> numbers = AllPatterns(dtype).ReadDoubles();
  const size_t count = numbers.size();
  for (size_t i = 0; i + 1 < count; ++i) numbers.push_back((numbers[i] + numbers[i + 1]) / 2);
  for (const double number : numbers) {
    const auto v = static_cast<float>(number);
    const float most = std::numeric_limits<float>::infinity();
    for (const float near : {v, std::nextafterf(v, most), std::nextafterf(v, -most)}) {
      values.push_back(near);
    }
  }
  for (const double v : {464.0, 480.0, 61440.0, 65536.0, 1e30, 1e-30, 0x1p-149, 0x1p-10, 0x1p-17}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

TEST(CudaFloat8, Converts) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%x: f32[s0], %h: f16[s0], %b: bf16[s0], %q: T[256])
          -> (T[s0], T[s0], T[s0], T[s0], f32[256], f16[256], bf16[256]) where 0 <= s0 {
        %0 = convert(%x, dtype=T)
        %1 = convert(%x, dtype=T, saturate=false)
        %2 = convert(%h, dtype=T)
        %3 = convert(%b, dtype=T, saturate=false)
        %4 = convert(%q, dtype=f32)
        %5 = convert(%q, dtype=f16)
        %6 = convert(%q, dtype=bf16)
        return %0, %1, %2, %3, %4, %5, %6
      })",
                                                {{"T", std::string(DTypeName(dtype))}}));
    const HostTensor x = NearNumbers(dtype);
    HostTensor half(DType::kF16, x.dims());
    half.WriteDoubles(x.ReadDoubles());
    HostTensor bf16(DType::kBF16, x.dims());
    bf16.WriteDoubles(x.ReadDoubles());
    ExpectOnDevice(program, {x, half, bf16, AllPatterns(dtype)}, 7, 0);
    // The bits too, as 0 and -0, and two NaN, are equal numbers.
    const auto got = program.Run({x, half, bf16, AllPatterns(dtype)});
    ASSERT_TRUE(got.ok()) << got.status();
    const auto want = reference::Run(
        *Parse(absl::StrCat("func @main(%x: f32[", x.numel(), "]) {",
                            " %0 = convert(%x, dtype=", DTypeName(dtype), ") return %0 }"))
             ->main(),
        {x});
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_TRUE((*got)[0].BitEqual((*want)[0]));
    program.ExpectAsReference({HostTensor(DType::kF32, {0}), HostTensor(DType::kF16, {0}),
                               HostTensor(DType::kBF16, {0}), AllPatterns(dtype)});
  }
}

// Tiles, few rows, few columns, parts of k, and matrices along other dims.
void ExpectMultiplies() {
  for (const auto& [left, right] : std::vector<std::pair<const char*, const char*>>{
           {"f8e4m3", "f8e4m3"}, {"f8e5m2", "f8e4m3"}}) {
    EmulatedProgram program(
        absl::StrReplaceAll(R"(
      func @main(%x: A[2, s0, s1], %w: B[s1, 70], %v: B[3, s1], %u: B[2, s1, 48], %t: A[s1, s0])
          -> (f32[2, s0, 70], f32[2, s0, 3], f32[2, s0, 48], f32[s0, 70])
          where 1 <= s0, 0 <= s1 {
        %0 = matmul_float8(%x, %w)
        %p = permute(%v, dims=[1, 0])
        %1 = matmul_float8(%x, %p)
        %2 = matmul_float8(%x, %u)
        %q = permute(%t, dims=[1, 0])
        %3 = matmul_float8(%q, %w)
        return %0, %1, %2, %3
      })",
                            {{"A[", absl::StrCat(left, "[")}, {"B[", absl::StrCat(right, "[")}}));
    const DType a = *ParseDType(left), b = *ParseDType(right);
    for (const auto& [rows, k] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 48}, {33, 40}, {1, 601}, {3, 64}, {2, 0}, {130, 128}}) {
      ExpectOnDevice(program,
                     {Ramp({2, rows, k}, a), Ramp({k, 70}, b), Ramp({3, k}, b), Ramp({2, k, 48}, b),
                      Ramp({k, rows}, a)},
                     4, 1e-4);
    }
  }
}

TEST(CudaFloat8, MultipliesAsHalves) { ExpectMultiplies(); }

TEST(CudaFloat8, MultipliesOnItsTensorCores) {
  const Capability ada(8, 9);
  ExpectMultiplies();
}

TEST(CudaFloat8, MultipliesWithoutTensorCores) {
  const Capability turing(7, 5);
  EmulatedProgram program(R"(
    func @main(%x: f8e4m3[9, 40], %w: f8e5m2[40, 70]) -> (f32[9, 70]) {
      %0 = matmul_float8(%x, %w)
      return %0
    })");
  ExpectOnDevice(program, {Ramp({9, 40}, DType::kF8E4M3), Ramp({40, 70}, DType::kF8E5M2)}, 1, 1e-4);
}

// Infinities and NaN reach their rows and columns alone.
TEST(CudaFloat8, CarriesWhatIsNotFinite) {
  for (const int minor : {0, 9}) {
    const Capability device(8, minor);
    EmulatedProgram program(R"(
      func @main(%x: f8e5m2[9, 40], %w: f8e4m3[40, 70]) -> (f32[9, 70]) {
        %0 = matmul_float8(%x, %w)
        return %0
      })");
    HostTensor x = Ramp({9, 40}, DType::kF8E5M2), w = Ramp({40, 70}, DType::kF8E4M3);
    x.raw()[3 * 40 + 7] = 0x7c;
    w.raw()[5 * 70 + 11] = 0xff;
    ExpectOnDevice(program, {x, w}, 1, 1e-4);
  }
}

// As in a quantized network: activations become f8, and scales and a bias are applied to the sums.
TEST(CudaFloat8, RunsQuantizedLayers) {
  for (const int minor : {0, 9}) {
    const Capability device(8, minor);
    const auto module = Parse(R"(
      func @main(%x: f32[s0, 48], %w: f8e4m3[40, 48], %s: f32[], %t: f32[40], %b: f32[40])
          -> (f32[s0, 40]) where 1 <= s0 {
        %0 = quantize_linear(%x, %s, none, axis=1, dtype=f8e4m3)
        %1 = dequantize_linear(%0, %s, none, axis=1)
        %2 = dequantize_linear(%w, %t, none, axis=0)
        %3 = linear(%1, %2, %b)
        %4 = relu(%3)
        return %4
      })");
    CompileOptions options;
    const auto backend = MakeBackend();
    SetTarget(*backend, &options);
    options.passes = "fuse_quantized{admit=reassociating},dce,fuse_epilogue,dce";
    const auto done = weft::Compile(*module, options);
    ASSERT_TRUE(done.ok()) << done.status();
    EmulatedProgram program(PrintModule(*module));
    for (const int64_t rows : {1, 9, 130}) {
      const std::vector<HostTensor> inputs = {Ramp({rows, 48}), Ramp({40, 48}, DType::kF8E4M3),
                                              HostTensor::Scalar(DType::kF32, 0.003), Ramp({40}),
                                              Ramp({40})};
      program.ExpectAsReference(inputs, 1e-3);
    }
    EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
    EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
  }
}

// The choice depends on the instructions that there are.
TEST(CudaFloat8, ChoosesItsTiles) {
  MatmulProblem problem;
  problem.m = problem.n = problem.k = 4096;
  problem.operands = {DType::kF8E4M3, DType::kF8E4M3};
  problem.a = problem.b = MatmulRead::kGroupsAlongK;
  problem.tensor_cores = true;
  MatmulChoice choice = ChooseMatmul(problem);
  EXPECT_EQ(choice.kernel.form, MatmulForm::kTensor);
  EXPECT_TRUE(choice.kernel.operands.as_halves);
  EXPECT_EQ(choice.kernel.a, MatmulRead::kOneAlongK);
  problem.float8 = true;
  choice = ChooseMatmul(problem);
  EXPECT_FALSE(choice.kernel.operands.as_halves);
  EXPECT_EQ(choice.kernel.a, MatmulRead::kGroupsAlongK);
  EXPECT_EQ(choice.kernel.tile_m, 128);
  problem.b = MatmulRead::kOneAlongK;
  EXPECT_LT(ChooseMatmul(problem).kernel.tile_m, 128);
}

}  // namespace
}  // namespace weft::cuda
