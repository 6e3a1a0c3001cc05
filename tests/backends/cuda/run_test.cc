// Programs on the emulated driver: results, sizes, errors.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"
#include "tests/support/programs.h"

namespace weft::cuda {
namespace {

using testing::HasSubstr;

constexpr char kBlock[] = R"(
  func @main(%x: f32[s0, 96], %w: f32[70, 96], %b: f32[70]) -> (f32[s0, 70]) where 1 <= s0 {
    %0 = linear(%x, %w, %b)
    %1 = gelu(%0)
    %2 = add(%1, %b)
    %3 = softmax(%2, dim=-1)
    return %3
  })";

std::vector<HostTensor> BlockInputs(int64_t n) {
  return {Ramp({n, 96}), Ramp({70, 96}), Ramp({70})};
}

TEST(CudaRun, RunsABlockAtEverySize) {
  EmulatedProgram program(kBlock);
  for (int64_t n : {1, 7, 65, 7}) program.ExpectAsReference(BlockInputs(n));
  EXPECT_EQ(CounterOf(program.counters(), "assignments"), 3);
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaRun, CompilesAndAllocatesNothingInASteadyState) {
  EmulatedProgram program(kBlock);
  program.ExpectAsReference(BlockInputs(8));
  const auto allocated = [] {
    const EmulationApi& emulation = Emulated().emulation;
    return emulation.counter("calls cuMemAllocFromPoolAsync") +
           emulation.counter("calls cuMemHostAlloc");
  };
  program.ExpectAsReference(BlockInputs(5));
  const int64_t allocations = allocated();
  const int64_t compilations = CounterOf(program.counters(), "compiled_units");
  program.ExpectAsReference(BlockInputs(8));
  program.ExpectAsReference(BlockInputs(5));
  EXPECT_EQ(allocated(), allocations);
  EXPECT_EQ(CounterOf(program.counters(), "compiled_units"), compilations);
}

TEST(CudaRun, ComputesElementsOfAllTypes) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0], %i: i32[s0], %h: bf16[s0], %g: f16[s0], %p: bool[s0])
        -> (f32[s0], i32[s0], bf16[s0], f16[s0], bool[s0], i64[s0], f32[s0]) where 1 <= s0 {
      %0 = exp(%x)
      %1 = mul(%i, %i)
      %2 = tanh(%h)
      %3 = add(%g, %g)
      %4 = logical_not(%p)
      %5 = convert(%x, dtype=i64)
      %6 = where(%p, %x, %0)
      return %0, %1, %2, %3, %4, %5, %6
    })");
  for (int64_t n : {1, 31, 257, 40000}) {
    HostTensor p(DType::kBool, {n});
    std::vector<double> bits(n);
    for (int64_t i = 0; i < n; ++i) bits[i] = i % 3 == 0;
    p.WriteDoubles(bits);
    std::vector<double> ints(n);
    for (int64_t i = 0; i < n; ++i) ints[i] = static_cast<double>(i % 1000 - 500);
    program.ExpectAsReference({Ramp({n}), Ints({n}, ints, DType::kI32), Ramp({n}, DType::kBF16),
                               Ramp({n}, DType::kF16), p},
                              1e-5);
  }
}

TEST(CudaRun, ReducesRowsAndColumns) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1]) -> (f32[s0], f32[s1], f32[], f32[s0], f32[s1], i64[s0], i64[s1])
        where 1 <= s0, 1 <= s1 {
      %0 = sum(%x, dim=[1])
      %1 = sum(%x, dim=[0])
      %2 = sum(%x, dim=[0, 1])
      %3 = amax(%x, dim=[1])
      %4 = amin(%x, dim=[0])
      %5 = argmax(%x, dim=1)
      %6 = argmin(%x, dim=0)
      return %0, %1, %2, %3, %4, %5, %6
    })");
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {3, 5}, {7, 33}, {40, 1000}, {1000, 40}, {2, 5000}}) {
    program.ExpectAsReference({Ramp({n, m})}, 2e-4);
  }
}

TEST(CudaRun, NormalizesRowsOfEveryLength) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1], %w: f32[s1], %b: f32[s1]) -> (f32[s0, s1], f32[s0, s1])
        where 1 <= s0, 1 <= s1 {
      %0, %1, %2 = native_layer_norm(%x, %w, %b, normalized_shape=[s1], eps=1e-05)
      %3 = log_softmax(%x, dim=0)
      return %0, %3
    })");
  // The last rows are too long for shared memory.
  for (int64_t m : {1, 31, 32, 100, 1025, 12000}) {
    program.ExpectAsReference({Ramp({3, m}), Ramp({m}), Ramp({m})}, 1e-4);
  }
  // Sums of columns have two levels.
  program.ExpectAsReference({Ramp({1100, 33}), Ramp({33}), Ramp({33})}, 1e-4);
}

TEST(CudaRun, MultipliesMatricesOfEveryForm) {
  EmulatedProgram program(R"(
    func @main(%a: f32[3, s0, 17], %b: f32[3, 17, 70], %v: f32[17], %c: f32[70, 17])
        -> (f32[3, s0, 70], f32[3, s0], f32[3, 70], f32[3, s0, 70]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = matmul(%a, %v)
      %2 = matmul(%v, %b)
      %3 = permute(%c, dims=[1, 0])
      %4 = matmul(%a, %3)
      return %0, %1, %2, %4
    })");
  for (int64_t n : {1, 64, 65}) {
    program.ExpectAsReference({Ramp({3, n, 17}), Ramp({3, 17, 70}), Ramp({17}), Ramp({70, 17})});
  }
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

// Tiles in part, and groups along each dim of each matrix or none.
TEST(CudaRun, MultipliesMatricesOfEveryLayout) {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    EmulatedProgram program(absl::StrReplaceAll(R"(
      func @main(%a: T[s0, s1], %at: T[s1, s0], %b: T[s1, s2], %bt: T[s2, s1], %c: T[s2])
          -> (T[s0, s2], T[s0, s2], T[s0, s2], T[s0, s2])
          where 1 <= s0, 1 <= s1, 1 <= s2 {
        %0 = permute(%at, dims=[1, 0])
        %1 = permute(%bt, dims=[1, 0])
        %2 = matmul(%a, %b)
        %3 = matmul(%0, %b)
        %4 = matmul(%a, %1)
        %5 = linear(%0, %bt, %c)
        return %2, %3, %4, %5
      })",
                                                {{"T", dtype}}));
    const DType type = *ParseDType(dtype);
    const std::vector<std::vector<int64_t>> sizes = {{1, 1, 1},    {3, 5, 7},    {130, 40, 136},
                                                     {129, 33, 8}, {8, 16, 200}, {64, 100, 12}};
    for (const auto& size : sizes) {
      const int64_t m = size[0], k = size[1], n = size[2];
      program.ExpectAsReference({Ramp({m, k}, type), Ramp({k, m}, type), Ramp({k, n}, type),
                                 Ramp({n, k}, type), Ramp({n}, type)},
                                type == DType::kF32 ? 1e-4 : 2e-2);
    }
    EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
  }
}

TEST(CudaRun, KeepsCompiledKernels) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/cubins");
  const BackendOptions options = {{"cuda-driver", "emulated"}, {"cuda-cache-dir", folder}};
  int64_t units = 0;
  for (const bool again : {false, true}) {
    EmulatedProgram program(kBlock, options);
    program.ExpectAsReference(BlockInputs(3));
    const int64_t compiled = CounterOf(program.counters(), "compiled_units");
    if (!again) units = compiled;
    EXPECT_EQ(compiled, again ? 0 : units);
    EXPECT_EQ(CounterOf(program.counters(), "cached_units"), again ? units : 0);
  }
  EXPECT_GT(units, 0);
  // Damaged files are not used.
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-100, std::ios::end);
    file.put('x').put('y');
  }
  EmulatedProgram program(kBlock, options);
  program.ExpectAsReference(BlockInputs(3));
  EXPECT_EQ(CounterOf(program.counters(), "compiled_units"), units);
}

TEST(CudaRun, MissingLibrariesAreNamed) {
  const auto missing = OpenLibraries("/nowhere/libcuda.so.1", "");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(),
            "the CUDA driver was not found; tried /nowhere/libcuda.so.1");
  const auto nvrtc = OpenLibraries("emulated", testing::TempDir());
  EXPECT_THAT(std::string(nvrtc.status().message()),
              testing::AllOf(HasSubstr("NVRTC"), HasSubstr("libnvrtc.so.13"),
                             HasSubstr("libnvrtc.so.12"), testing::Not(HasSubstr("\n"))));
}

TEST(CudaRun, MultipliesHalvesAndDoubles) {
  EmulatedProgram program(R"(
    func @main(%a: f16[5, 33], %b: f16[33, 9], %c: bf16[5, 33], %d: bf16[33, 9], %e: f64[5, 33],
               %f: f64[33, 9]) -> (f16[5, 9], bf16[5, 9], f64[5, 9]) {
      %0 = matmul(%a, %b)
      %1 = matmul(%c, %d)
      %2 = matmul(%e, %f)
      return %0, %1, %2
    })");
  program.ExpectAsReference(
      {Ramp({5, 33}, DType::kF16), Ramp({33, 9}, DType::kF16), Ramp({5, 33}, DType::kBF16),
       Ramp({33, 9}, DType::kBF16), Ramp({5, 33}, DType::kF64), Ramp({33, 9}, DType::kF64)},
      1e-2);
}

TEST(CudaRun, ReturnsViewsConstantsAndInputs) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 6], %y: f32[4]) -> (f32[6, s0], f32[s0, 2], f32[4], f32[0], f32[3])
        where 1 <= s0 {
      %c = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
      %0 = permute(%x, dims=[1, 0])
      %1 = slice(%x, dim=1, start=2, end=4, step=1)
      %2 = slice(%y, dim=0, start=4, end=4, step=1)
      return %0, %1, %y, %2, %c
    })");
  program.ExpectAsReference({Ramp({5, 6}), Ramp({4})});
}

TEST(CudaRun, EvaluatesOnTheHostWhatHasNoCode) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 4]) -> (f32[u0, 4], i64[s0], f32[s0, 4]) where 1 <= s0 {
      %0 = relu(%x)
      %1, %2, %3, %4 = unique(%0, dim=0) : f32[u0, 4], i64[u0], i64[s0], i64[u0]
      %5 = cumsum(%0, dim=0)
      return %1, %3, %5
    })");
  program.ExpectAsReference({Ramp({3, 4})});
  program.ExpectAsReference({Ramp({9, 4})});
  EXPECT_GT(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaRun, RunsNestedPlans) {
  EmulatedProgram program(kBranchProgram);
  for (const bool p : {true, false}) {
    HostTensor flag(DType::kBool, {});
    flag.WriteDoubles({p ? 1.0 : 0.0});
    program.ExpectAsReference({flag, Ramp({3, 4})});
  }
}

TEST(CudaRun, NamesTheStepThatIsOutOfBounds) {
  EmulatedProgram program(R"(
    func @main(%x: f32[4, 3], %i: i64[2]) -> (f32[2, 3]) {
      %0 = index_select(%x, %i, dim=0)
      return %0
    })");
  program.ExpectAsReference({Ramp({4, 3}), Ints({2}, {3, -4})});
  for (const double outside : {4, -5}) {
    const auto got = program.Run({Ramp({4, 3}), Ints({2}, {3, outside})});
    EXPECT_EQ(got.status().code(), absl::StatusCode::kOutOfRange) << got.status();
    EXPECT_THAT(got.status().message(), HasSubstr("index_select"));
  }
  program.ExpectAsReference({Ramp({4, 3}), Ints({2}, {1, 2})});
}

// Sizes, and views at odd places, for which the functions of groups fit or do not.
TEST(CudaRun, AccessesGroupsWhereTheyFit) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1], %h: bf16[s0, s1], %b: f32[s1])
        -> (f32[s0, s1], bf16[s0, s1], f32[s0 - 1, s1], f32[s1], f32[s0])
        where 2 <= s0, 1 <= s1 {
      %0 = add(%x, %b)
      %1 = relu(%0)
      %2 = add(%h, %h)
      %3 = slice(%x, dim=0, start=1, end=s0, step=1)
      %4 = exp(%3)
      %5 = sum(%x, dim=[0])
      %6 = sum(%0, dim=[1])
      return %1, %2, %4, %5, %6
    })");
  // Multiples of four and of eight, and neither.
  for (const int64_t m : {1, 4, 6, 8, 20, 33, 64}) {
    for (const int64_t n : {2, 5, 64}) {
      program.ExpectAsReference({Ramp({n, m}), Ramp({n, m}, DType::kBF16), Ramp({m})}, 1e-4);
    }
  }
}

// The program behind the passes that make groups for kernels.
std::string Fused(const std::string& text) {
  const auto module = Parse(text);
  CompileOptions options;
  options.passes = "fuse";
  const auto done = weft::Compile(*module, options);
  EXPECT_TRUE(done.ok()) << done.status();
  return PrintModule(*module);
}

// Two rows of values are kept, in shared memory and, where they are too long, behind each other.
TEST(CudaRun, KeepsSeveralRows) {
  EmulatedProgram program(Fused(R"(
    func @main(%x: f32[s0, s1]) -> (f32[s0, s1]) where 1 <= s0, 1 <= s1 {
      %0 = exp(%x)
      %1 = tanh(%x)
      %2 = sum(%0, dim=[1], keepdim=true)
      %3 = sum(%1, dim=[1], keepdim=true)
      %4 = div(%0, %2)
      %5 = div(%1, %3)
      %6 = add(%4, %5)
      return %6
    })"));
  for (const int64_t m : {1, 33, 1000, 12000}) program.ExpectAsReference({Ramp({3, m})}, 1e-4);
}

// Several results of one pass over rows that are reduced in parts.
TEST(CudaRun, SplitsSeveralReductions) {
  EmulatedProgram program(Fused(R"(
    func @main(%x: f32[s0, s1]) -> (f32[s0]) where 1 <= s0, 1 <= s1 {
      %0 = mul(%x, %x)
      %1 = sum(%0, dim=[1])
      %2 = sum(%x, dim=[1])
      %3 = mul(%2, %2)
      %4 = sub(%1, %3)
      return %4
    })"));
  for (const int64_t m : {20000, 40001}) program.ExpectAsReference({Ramp({2, m})}, 1e-3);
}

// Rows of whole groups that lie an odd number of elements apart.
TEST(CudaRun, ReadsRowsWithGapsOneByOne) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1]) -> (f32[s0, s1 - 1], f32[s0]) where 1 <= s0, 2 <= s1 {
      %0 = slice(%x, dim=1, start=0, end=s1 - 1, step=1)
      %1 = exp(%0)
      %2 = sum(%1, dim=[1])
      return %1, %2
    })");
  for (const int64_t m : {5, 9, 33, 65}) program.ExpectAsReference({Ramp({7, m})}, 1e-4);
}

// Few rows or columns with many elements are reduced in parts.
TEST(CudaRun, SplitsLongReductions) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, s1], %i: i32[s0, s1])
        -> (f32[s0], f32[s1], f32[], i64[s0], i64[s1], i32[s0], f32[s0], i32[s1])
        where 1 <= s0, 1 <= s1 {
      %0 = sum(%x, dim=[1])
      %1 = mean(%x, dim=[0])
      %2 = amax(%x, dim=[0, 1])
      %3 = argmax(%x, dim=1)
      %4 = argmin(%x, dim=0)
      %5 = amax(%i, dim=[1])
      %6 = amin(%x, dim=[1])
      %7 = amin(%i, dim=[0])
      return %0, %1, %2, %3, %4, %5, %6, %7
    })");
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 20000}, {2, 40001}, {3, 16384}, {300, 3}, {1027, 4}, {4096, 1}}) {
    HostTensor i(DType::kI32, {n, m});
    std::vector<double> values(n * m);
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k * 7919 % 100003);
    i.WriteDoubles(values);
    program.ExpectAsReference({Ramp({n, m}), i}, 1e-4);
  }
}

// Each call that creating and running a program makes fails once: an error says so, the next run
// is right, and nothing is left when the program is gone.
TEST(CudaRun, RunsAgainAfterEveryFailure) {
  const EmulationApi& emulation = Emulated().emulation;
  // Kernels are compiled once.
  const BackendOptions options = {
      {"cuda-driver", "emulated"},
      {"cuda-cache-dir", absl::StrCat(testing::TempDir(), "/failures")}};
  const int64_t live = emulation.counter("live_bytes");
  const int64_t streams = emulation.counter("streams");
  for (const char* call :
       {"cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel",
        "cuStreamSynchronize", "cuStreamCreate", "cuModuleLoadData", "cuModuleGetFunction",
        "cuCtxSetCurrent"}) {
    int failures = 0;
    for (unsigned n = 1;; ++n) {
      EmulatedProgram program(kBlock, options);
      emulation.fail_at(call, n, kCuOutOfMemory);
      const auto got = program.Run(BlockInputs(3));
      emulation.fail_at("", 0, kCuSuccess);
      if (got.ok()) break;
      ++failures;
      // Another error may be one that no run comes back from.
      ASSERT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
      program.ExpectAsReference(BlockInputs(3));
      program.ExpectAsReference(BlockInputs(5));
    }
    EXPECT_GT(failures, 0) << call;
    EXPECT_EQ(emulation.counter("live_bytes"), live) << call;
    EXPECT_EQ(emulation.counter("streams"), streams) << call;
  }
}

TEST(CudaRun, StickyErrorsNameTheirLaunches) {
  const EmulationApi& emulation = Emulated().emulation;
  const int64_t live = emulation.counter("live_bytes");
  {
    EmulatedProgram program(kBlock);
    program.ExpectAsReference(BlockInputs(3));
    emulation.fail_at("cuStreamSynchronize", 1, kCuIllegalAddress);
    const auto got = program.Run(BlockInputs(3));
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(got.status().message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    EXPECT_THAT(got.status().message(), HasSubstr("linear"));
    EXPECT_THAT(got.status().message(), HasSubstr("cannot use the GPU any more"));
    EXPECT_FALSE(program.Run(BlockInputs(3)).ok());
  }
  emulation.reset();
  EXPECT_EQ(emulation.counter("live_bytes"), live);
}

// Equal for every order of threads.
TEST(CudaRun, IsDeterministic) {
  EmulatedProgram program(kBlock);
  const auto first = program.Run(BlockInputs(9));
  ASSERT_TRUE(first.ok()) << first.status();
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Emulated().emulation.seed(seed);
    const auto again = program.Run(BlockInputs(9));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(Difference((*again)[0], (*first)[0], {0, 0}), "") << seed;
  }
}

}  // namespace
}  // namespace weft::cuda
