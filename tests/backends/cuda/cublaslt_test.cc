// Matmuls by cuBLASLt, on its emulation: layouts, batches, sizes, epilogues, errors.
#include "backends/cuda/device/cublaslt.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/driver/cublaslt_library.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using testing::HasSubstr;

// A program that uses the library, without CUDA graphs by default: each run calls it.
class LtProgram : public EmulatedProgram {
 public:
  explicit LtProgram(const std::string& text, const std::string& graphs = "off")
      : EmulatedProgram(text, {{"cuda-driver", "emulated"}, {"cuda-graphs", graphs}}) {}
  int64_t calls() const { return CounterOf(counters(), "cublaslt_calls"); }
};

int64_t Count(const char* counter) { return Emulated().emulation.counter(counter); }

std::string WithType(absl::string_view text, const char* dtype) {
  return absl::StrReplaceAll(text, {{"T[", absl::StrCat(dtype, "[")}});
}

double ToleranceOfSums(DType dtype) {
  return dtype == DType::kF64 ? 1e-12 : dtype == DType::kF32 ? 1e-4 : 2e-2;
}

TEST(CudaCublasLt, MultipliesMatricesOfEveryLayout) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    LtProgram program(WithType(R"(
      func @main(%a: T[s0, s1], %at: T[s1, s0], %b: T[s1, s2], %bt: T[s2, s1])
          -> (T[s0, s2], T[s0, s2], T[s0, s2], T[s0, s2], T[s0, s2])
          where 1 <= s0, 1 <= s1, 1 <= s2 {
        %0 = permute(%at, dims=[1, 0])
        %1 = permute(%bt, dims=[1, 0])
        %2 = matmul(%a, %b)
        %3 = matmul(%0, %b)
        %4 = matmul(%a, %1)
        %5 = matmul(%0, %1)
        %6 = linear(%0, %bt)
        return %2, %3, %4, %5, %6
      })",
                               dtype));
    const DType type = *ParseDType(dtype);
    // Sums of 100 terms have a workspace.
    const std::vector<std::vector<int64_t>> sizes = {{1, 1, 1},   {3, 5, 7},   {1, 5, 7},
                                                     {3, 5, 1},   {3, 1, 7},   {1, 1, 7},
                                                     {65, 40, 9}, {8, 16, 20}, {9, 100, 12}};
    for (const auto& size : sizes) {
      const int64_t m = size[0], k = size[1], n = size[2];
      program.ExpectAsReference(
          {Ramp({m, k}, type), Ramp({k, m}, type), Ramp({k, n}, type), Ramp({n, k}, type)},
          ToleranceOfSums(type));
    }
    EXPECT_EQ(program.calls(), 5 * static_cast<int64_t>(sizes.size())) << dtype;
    EXPECT_EQ(CounterOf(program.counters(), "launches"), 0) << dtype;
    EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0) << dtype;
  }
}

TEST(CudaCublasLt, AddsABias) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    LtProgram program(WithType(R"(
      func @main(%a: T[2, s0, 33], %b: T[7, 33], %c: T[7], %d: T[9])
          -> (T[2, s0, 7], T[2, s0, 7]) where 1 <= s0 {
        %0 = linear(%a, %b, %c)
        %1 = slice(%d, dim=0, start=1, end=8, step=1)
        %2 = linear(%a, %b, %1)
        return %0, %2
      })",
                               dtype));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {1, 5}) {
      program.ExpectAsReference(
          {Ramp({2, n, 33}, type), Ramp({7, 33}, type), Ramp({7}, type), Ramp({9}, type)},
          ToleranceOfSums(type));
    }
    EXPECT_EQ(program.calls(), 4) << dtype;
  }
}

TEST(CudaCublasLt, LeavesBiasesWithGapsToKernels) {
  LtProgram program(R"(
    func @main(%a: f32[3, 5], %b: f32[7, 5], %c: f32[14]) -> (f32[3, 7]) {
      %0 = slice(%c, dim=0, start=0, end=14, step=2)
      %1 = linear(%a, %b, %0)
      return %1
    })");
  program.ExpectAsReference({Ramp({3, 5}), Ramp({7, 5}), Ramp({14})});
  EXPECT_EQ(program.calls(), 0);
  EXPECT_EQ(CounterOf(program.counters(), "launches"), 1);
}

TEST(CudaCublasLt, MultipliesBatches) {
  LtProgram program(R"(
    func @main(%a: f32[3, s0, 17], %b: f32[3, 17, 7], %c: f32[17, 7], %d: f32[s0, 17], %v: f32[17],
               %e: f32[1, 17, 7], %f: f32[4, 3, s0, 17], %g: f32[s0, 3, 17])
        -> (f32[3, s0, 7], f32[3, s0, 7], f32[3, s0, 7], f32[3, s0], f32[3, 7], f32[],
            f32[3, s0, 7], f32[4, 3, s0, 7], f32[3, s0, 7]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = matmul(%a, %c)
      %2 = matmul(%d, %b)
      %3 = matmul(%a, %v)
      %4 = matmul(%v, %b)
      %5 = matmul(%v, %v)
      %6 = matmul(%a, %e)
      %7 = matmul(%f, %c)
      %8 = permute(%g, dims=[1, 0, 2])
      %9 = matmul(%8, %b)
      return %0, %1, %2, %3, %4, %5, %6, %7, %9
    })");
  for (const int64_t n : {1, 6}) {
    program.ExpectAsReference({Ramp({3, n, 17}), Ramp({3, 17, 7}), Ramp({17, 7}), Ramp({n, 17}),
                               Ramp({17}), Ramp({1, 17, 7}), Ramp({4, 3, n, 17}),
                               Ramp({n, 3, 17})});
  }
  EXPECT_EQ(program.calls(), 18);
  EXPECT_EQ(CounterOf(program.counters(), "launches"), 0);
}

// Parts of larger tensors: rows with gaps, odd places, and results that are parts.
TEST(CudaCublasLt, MultipliesPartsOfTensors) {
  for (const char* dtype : {"f32", "bf16"}) {
    LtProgram program(WithType(R"(
      func @main(%x: T[7, 40], %y: T[31, 23]) -> (T[6, 10], T[3, 6, 4], T[12, 10], T[6, 20]) {
        %0 = slice(%x, dim=0, start=1, end=7, step=1)
        %1 = slice(%0, dim=1, start=3, end=33, step=1)
        %2 = slice(%y, dim=0, start=1, end=31, step=1)
        %3 = slice(%2, dim=1, start=5, end=15, step=1)
        %4 = matmul(%1, %3)
        %5 = reshape(%0, size=[6, 8, 5])
        %6 = slice(%5, dim=1, start=1, end=4, step=1)
        %7 = permute(%6, dims=[1, 0, 2])
        %8 = slice(%y, dim=0, start=0, end=5, step=1)
        %9 = slice(%8, dim=1, start=7, end=11, step=1)
        %10 = matmul(%7, %9)
        %11 = matmul(%1, %3)
        %12 = cat(%4, %11, dim=0)
        %13 = cat(%4, %11, dim=1)
        return %4, %10, %12, %13
      })",
                               dtype));
    const DType type = *ParseDType(dtype);
    program.ExpectAsReference({Ramp({7, 40}, type), Ramp({31, 23}, type)}, ToleranceOfSums(type));
    EXPECT_EQ(program.calls(), 3) << dtype;
  }
}

// Results are stored where a concatenation has them, also as columns.
TEST(CudaCublasLt, StoresPartsOfTensors) {
  LtProgram program(R"(
    func @main(%a: f32[3, s0, 17], %b: f32[3, 17, 7], %c: f32[s0, 17], %d: f32[17, 7])
        -> (f32[3, 2*s0, 7], f32[3, s0, 14], f32[14, s0]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = matmul(%a, %b)
      %2 = cat(%0, %1, dim=1)
      %3 = matmul(%a, %b)
      %4 = matmul(%a, %b)
      %5 = cat(%3, %4, dim=2)
      %6 = matmul(%c, %d)
      %7 = permute(%6, dims=[1, 0])
      %8 = matmul(%c, %d)
      %9 = permute(%8, dims=[1, 0])
      %10 = cat(%7, %9, dim=0)
      return %2, %5, %10
    })");
  for (const int64_t n : {1, 6}) {
    program.ExpectAsReference({Ramp({3, n, 17}), Ramp({3, 17, 7}), Ramp({n, 17}), Ramp({17, 7})});
  }
  EXPECT_EQ(program.calls(), 12);
  EXPECT_EQ(CounterOf(program.counters(), "launches"), 0);
}

// Heads of attention lie within rows: a batch has two strides unless there is one sequence.
TEST(CudaCublasLt, LeavesBatchesOfTwoStridesToKernels) {
  LtProgram program(R"(
    func @main(%q: f32[s0, 5, 12], %k: f32[s0, 5, 12]) -> (f32[s0, 3, 5, 5]) where 1 <= s0 {
      %0 = reshape(%q, size=[s0, 5, 3, 4])
      %1 = reshape(%k, size=[s0, 5, 3, 4])
      %2 = permute(%0, dims=[0, 2, 1, 3])
      %3 = permute(%1, dims=[0, 2, 3, 1])
      %4 = matmul(%2, %3)
      return %4
    })");
  program.ExpectAsReference({Ramp({1, 5, 12}), Ramp({1, 5, 12})});
  EXPECT_EQ(program.calls(), 1);
  program.ExpectAsReference({Ramp({2, 5, 12}), Ramp({2, 5, 12})});
  EXPECT_EQ(program.calls(), 1);
  EXPECT_EQ(CounterOf(program.counters(), "launches"), 1);
}

TEST(CudaCublasLt, LeavesEmptyMatricesToKernels) {
  LtProgram program(R"(
    func @main(%a: f32[s0, s1], %b: f32[s1, 3], %c: f32[s0, s1], %d: f32[3, s1], %e: f32[3])
        -> (f32[s0, 3], f32[s0, 3]) {
      %0 = matmul(%a, %b)
      %1 = linear(%c, %d, %e)
      return %0, %1
    })");
  for (const auto& [m, k] : std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {2, 0}, {0, 0}}) {
    program.ExpectAsReference({Ramp({m, k}), Ramp({k, 3}), Ramp({m, k}), Ramp({3, k}), Ramp({3})});
  }
  EXPECT_EQ(program.calls(), 0);
  program.ExpectAsReference({Ramp({2, 4}), Ramp({4, 3}), Ramp({2, 4}), Ramp({3, 4}), Ramp({3})});
  EXPECT_EQ(program.calls(), 2);
}

// Vectors and tensors that are added to the sum, whose place may be that of the result, and kernels
// behind the call.
TEST(CudaCublasLt, AppliesEpilogues) {
  const auto program = [&](absl::string_view body, const char* dtype) {
    return std::make_unique<LtProgram>(WithType(
        absl::StrCat("func @main(%x: T[s0, 5], %w: T[7, 5], %b: T[7], %r: T[s0, 7], %s: T[7, s0])"
                     " -> (T[s0, 7]) where 1 <= s0 {\n"
                     "  %0 = fused(%x, %w, %b, %r, %s, kind=\"gemm\") : T[s0, 7] {\n"
                     "    body(%a: T[s0, 5], %c: T[7, 5], %d: T[7], %e: T[s0, 7], %f: T[7, s0])"
                     " -> T[s0, 7] {\n",
                     body, "    }\n  }\n  return %0\n}"),
        dtype));
  };
  const auto inputs = [](int64_t n, DType type) {
    return std::vector<HostTensor>{Ramp({n, 5}, type), Ramp({7, 5}, type), Ramp({7}, type),
                                   Ramp({n, 7}, type), Ramp({7, n}, type)};
  };
  // The number of calls, and of kernels, of a run.
  const struct {
    const char* body;
    const char* dtype;
    int64_t calls, kernels;
  } kCases[] = {
      {"%1 = linear(%a, %c)\n%2 = add(%1, %d)\nreturn %2\n", "f32", 1, 0},
      {"%1 = linear(%a, %c)\n%2 = add(%1, %e)\nreturn %2\n", "f32", 1, 0},
      {"%1 = linear(%a, %c, %d)\n%2 = add(%e, %1)\nreturn %2\n", "f32", 1, 0},
      {"%1 = linear(%a, %c)\n%2 = add(%1, %e)\n%3 = add(%2, %d)\nreturn %3\n", "f32", 1, 0},
      {"%1 = linear(%a, %c)\n%2 = add(%1, %e)\nreturn %2\n", "f64", 1, 0},
      {"%1 = linear(%a, %c, %d)\n%2 = add(%1, %d)\nreturn %2\n", "f32", 1, 1},
      {"%1 = linear(%a, %c)\n%2 = relu(%1)\nreturn %2\n", "f32", 1, 0},
      {"%1 = linear(%a, %c, %d)\n%2 = relu(%1)\nreturn %2\n", "bf16", 1, 0},
      {"%1 = linear(%a, %c)\n%2 = gelu(%1)\nreturn %2\n", "f32", 1, 1},
      {"%1 = linear(%a, %c, %d)\n%2 = add(%1, %e)\n%3 = relu(%2)\nreturn %3\n", "f32", 1, 0},
      {"%1 = linear(%a, %c, %d)\n%2 = add(%1, %e)\n%3 = relu(%2)\n%4 = mul(%3, %d)\n"
       "return %4\n",
       "f32", 1, 1},
      {"%1 = linear(%a, %c, %d)\n%2 = silu(%1)\n%3 = mul(%2, %e)\nreturn %3\n", "bf16", 1, 1},
      {"%1 = linear(%a, %c)\n%2 = add(%1, %d)\nreturn %2\n", "f64", 1, 0},
      {"%1 = linear(%a, %c)\n%2 = relu(%1)\n%3 = add(%2, %d)\nreturn %3\n", "f64", 1, 1},
      // The sum is rounded before the addition, and the result may lie where the operand is.
      {"%1 = linear(%a, %c)\n%2 = add(%1, %e)\nreturn %2\n", "bf16", 1, 1},
      {"%1 = linear(%a, %c)\n%2 = add(%1, %e)\nreturn %2\n", "f16", 1, 1},
  };
  for (const auto& one : kCases) {
    const auto made = program(one.body, one.dtype);
    const DType type = *ParseDType(one.dtype);
    // Rows of whole groups, and others.
    for (const int64_t n : {1, 4}) {
      made->ExpectAsReference(inputs(n, type), ToleranceOfSums(type));
    }
    EXPECT_EQ(made->calls(), 2 * one.calls) << one.dtype << "\n" << one.body;
    EXPECT_EQ(CounterOf(made->counters(), "launches"), 2 * one.kernels) << one.dtype << "\n"
                                                                        << one.body;
    EXPECT_EQ(CounterOf(made->counters(), "host_steps"), 0) << one.dtype << "\n" << one.body;
  }
}

// Kernels behind calls: results of several dims, in whole groups and not.
TEST(CudaCublasLt, FinishesResultsOfEverySize) {
  for (const char* dtype : {"f32", "bf16"}) {
    LtProgram program(WithType(R"(
      func @main(%x: T[3, s0, 5], %w: T[3, 5, s1], %r: T[3, s0, s1], %b: T[s1], %q: T[s0, 1])
          -> (T[3, s0, s1], T[3, s0, s1], T[3, s0, s1]) where 1 <= s0, 1 <= s1 {
        %0 = fused(%x, %w, %r, kind="gemm") : T[3, s0, s1] {
          body(%v1: T[3, s0, 5], %v2: T[3, 5, s1], %v3: T[3, s0, s1]) -> T[3, s0, s1] {
            %4 = matmul(%v1, %v2)
            %5 = mul(%4, %v3)
            return %5
          }
        }
        %6 = fused(%x, %w, %b, %q, kind="gemm") : T[3, s0, s1] {
          body(%v7: T[3, s0, 5], %v8: T[3, 5, s1], %v9: T[s1], %v10: T[s0, 1]) -> T[3, s0, s1] {
            %11 = matmul(%v7, %v8)
            %12 = sub(%11, %v9)
            %13 = maximum(%12, %v10)
            return %13
          }
        }
        %15 = fused(%x, %w, kind="gemm") : T[3, s0, s1] {
          body(%v16: T[3, s0, 5], %v17: T[3, 5, s1]) -> T[3, s0, s1] {
            %18 = matmul(%v16, %v17)
            %19 = tanh(%18)
            return %19
          }
        }
        return %0, %6, %15
      })",
                               dtype));
    const DType type = *ParseDType(dtype);
    for (const auto& [m, n] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 8}, {5, 24}, {4, 12}, {3, 7}}) {
      program.ExpectAsReference({Ramp({3, m, 5}, type), Ramp({3, 5, n}, type),
                                 Ramp({3, m, n}, type), Ramp({n}, type), Ramp({m, 1}, type)},
                                ToleranceOfSums(type));
    }
    EXPECT_EQ(program.calls(), 15) << dtype;
    EXPECT_EQ(CounterOf(program.counters(), "launches"), 15) << dtype;
  }
}

// One search for each problem: a step of another size is another one.
TEST(CudaCublasLt, SearchesOnce) {
  LtProgram program(R"(
    func @main(%a: f32[s0, 5], %b: f32[5, 5]) -> (f32[s0, 5], f32[s0, 5]) where 1 <= s0 {
      %0 = matmul(%a, %b)
      %1 = matmul(%0, %b)
      return %0, %1
    })");
  const int64_t before = Count("calls cublasLtMatmulAlgoGetHeuristic");
  for (const int64_t n : {2, 3, 2, 3, 2}) program.ExpectAsReference({Ramp({n, 5}), Ramp({5, 5})});
  EXPECT_EQ(program.calls(), 10);
  EXPECT_EQ(Count("calls cublasLtMatmulAlgoGetHeuristic") - before, 2);
}

constexpr char kLayers[] = R"(
  func @main(%x: f32[s0, 96], %w: f32[70, 96], %b: f32[70]) -> (f32[s0, 70]) where 1 <= s0 {
    %0 = linear(%x, %w, %b)
    %1 = relu(%0)
    return %1
  })";

std::vector<HostTensor> LayerInputs(int64_t n) {
  return {Ramp({n, 96}), Ramp({70, 96}), Ramp({70})};
}

TEST(CudaCublasLt, IsUsedOnlyWhereItIsWanted) {
  EmulatedProgram without(kLayers, {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}});
  without.ExpectAsReference(LayerInputs(3));
  EXPECT_EQ(CounterOf(without.counters(), "cublaslt_calls"), 0);
  EmulatedProgram missing(kLayers,
                          {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "/nowhere/lt.so"}});
  const absl::Status status = missing.Run(LayerInputs(3)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "cuBLASLt was not found; tried /nowhere/lt.so");
}

// No matmul, no library.
TEST(CudaCublasLt, IsOpenedForMatmulsAlone) {
  const int64_t before = Count("calls cublasLtCreate");
  EmulatedProgram program("func @main(%x: f32[4]) -> (f32[4]) {\n  %0 = exp(%x)\n  return %0\n}",
                          {{"cuda-driver", "emulated"}});
  program.ExpectAsReference({Ramp({4})});
  EXPECT_EQ(Count("calls cublasLtCreate"), before);
}

// A library that the driver does not suit is reported, and the program runs without it.
TEST(CudaCublasLt, IsReportedWhereItDoesNotWork) {
  std::string lines;
  SetLogSink([&lines](absl::string_view line) { absl::StrAppend(&lines, line, "\n"); });
  ASSERT_TRUE(SetLogs("perf_hints").ok());
  Emulated().emulation.fail_at("cublasLtCreate", 1, kCublasArchMismatch);
  LtProgram program(kLayers);
  program.ExpectAsReference(LayerInputs(3));
  Emulated().emulation.fail_at("", 0, kCuSuccess);
  ASSERT_TRUE(SetLogs("").ok());
  SetLogSink(nullptr);
  EXPECT_EQ(program.calls(), 0);
  EXPECT_THAT(lines, HasSubstr("cuBLASLt is not used: cublasLtCreate of "));
  EXPECT_THAT(lines, HasSubstr("CUBLAS_STATUS_ARCH_MISMATCH (8)"));
}

// A case that the library does not take runs a kernel.
TEST(CudaCublasLt, RunsKernelsWhereThereIsNoAlgorithm) {
  for (const CublasStatus status : {kCublasNotSupported, kCublasInvalidValue}) {
    Emulated().emulation.fail_at("cublasLtMatmulAlgoGetHeuristic", 1, status);
    LtProgram program(kLayers);
    program.ExpectAsReference(LayerInputs(3));
    Emulated().emulation.fail_at("", 0, kCuSuccess);
    program.ExpectAsReference(LayerInputs(3));
    EXPECT_EQ(program.calls(), 0);
    program.ExpectAsReference(LayerInputs(4));
    EXPECT_EQ(program.calls(), 1);
  }
}

// Each call fails once: an error says so, the next run is right, and nothing is left when the
// program is gone.
TEST(CudaCublasLt, RunsAgainAfterEveryFailure) {
  const EmulationApi& emulation = Emulated().emulation;
  const int64_t live = Count("live_bytes");
  const int64_t objects = Count("library_objects");
  for (const char* call :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul", "cuMemAllocFromPoolAsync"}) {
    int failures = 0;
    for (unsigned n = 1;; ++n) {
      LtProgram program(R"(
        func @main(%a: f32[2, s0, 96], %b: f32[2, 96, 3], %w: f32[4, 3], %c: f32[4])
            -> (f32[2, s0, 4]) where 1 <= s0 {
          %0 = matmul(%a, %b)
          %1 = linear(%0, %w, %c)
          return %1
        })");
      const auto inputs = [](int64_t size) {
        return std::vector<HostTensor>{Ramp({2, size, 96}), Ramp({2, 96, 3}), Ramp({4, 3}),
                                       Ramp({4})};
      };
      emulation.fail_at(call, n, call[2] == 'M' ? kCuOutOfMemory : kCublasAllocFailed);
      const auto got = program.Run(inputs(3));
      emulation.fail_at("", 0, kCuSuccess);
      if (got.ok()) break;
      ++failures;
      ASSERT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
      program.ExpectAsReference(inputs(3));
      program.ExpectAsReference(inputs(5));
      EXPECT_GT(program.calls(), 0);
    }
    EXPECT_GT(failures, 0) << call;
    EXPECT_EQ(Count("live_bytes"), live) << call;
    EXPECT_EQ(Count("library_objects"), objects) << call;
  }
}

TEST(CudaCublasLt, ErrorsNameTheCall) {
  LtProgram program(kLayers);
  program.ExpectAsReference(LayerInputs(3));
  Emulated().emulation.fail_at("cublasLtMatmul", 1, kCublasInternalError);
  const absl::Status status = program.Run(LayerInputs(3)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("cublasLtMatmul: CUBLAS_STATUS_INTERNAL_ERROR (14)"));
  program.ExpectAsReference(LayerInputs(3));
}

// An error of an earlier kernel is found by the next synchronization.
TEST(CudaCublasLt, StickyErrorsNameTheStep) {
  const EmulationApi& emulation = Emulated().emulation;
  const int64_t objects = Count("library_objects");
  {
    LtProgram program(kLayers);
    program.ExpectAsReference(LayerInputs(3));
    emulation.fail_at("cuStreamSynchronize", 1, kCuIllegalAddress);
    const absl::Status status = program.Run(LayerInputs(3)).status();
    EXPECT_THAT(status.message(), HasSubstr("linear"));
    EXPECT_THAT(status.message(), HasSubstr("cannot use the GPU any more"));
    EXPECT_FALSE(program.Run(LayerInputs(3)).ok());
  }
  emulation.reset();
  EXPECT_EQ(Count("library_objects"), objects);
}

// Operands are rounded to TF32 if the options allow it.
TEST(CudaCublasLt, ReadsOperandsInTheGivenPrecision) {
  const std::vector<HostTensor> inputs = LayerInputs(5);
  for (const char* precision : {"highest", "high", "medium"}) {
    EmulatedProgram program(kLayers, {{"cuda-driver", "emulated"}, {"f32-precision", precision}});
    const auto got = program.Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const bool rounded = std::string(precision) == "medium";
    program.ExpectAsReference(inputs, got, rounded ? 1e-2 : 1e-5);
    EmulatedProgram exact(kLayers, {{"cuda-driver", "emulated"}});
    const auto want = exact.Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_EQ(Difference((*got)[0], (*want)[0], {1e-5, 1e-5}).empty(), !rounded) << precision;
    // An own kernel reads 22 bits.
    const int64_t calls = std::string(precision) == "high" ? 0 : 1;
    EXPECT_EQ(CounterOf(program.counters(), "cublaslt_calls"), calls) << precision;
  }
}

// Calls are captured; what follows them reads their results.
TEST(CudaCublasLt, RunsInGraphs) {
  LtProgram program(R"(
    func @main(%x: f32[s0, 96], %w: f32[70, 96], %b: f32[70], %v: f32[5, 70], %c: f32[5])
        -> (f32[s0, 70]) where 1 <= s0 {
      %0 = linear(%x, %w, %b)
      %1 = tanh(%0)
      %2 = linear(%1, %v, %c)
      %3 = matmul(%2, %v)
      %4 = exp(%3)
      return %4
    })",
                    "on");
  for (int i = 0; i < 4; ++i) {
    for (const int64_t n : {3, 8}) {
      HostTensor x = Ramp({n, 96});
      x.WriteDoubles(std::vector<double>(static_cast<size_t>(n) * 96, 0.01 * (i + 1)));
      program.ExpectAsReference({x, Ramp({70, 96}), Ramp({70}), Ramp({5, 70}), Ramp({5})});
    }
  }
  EXPECT_GT(CounterOf(program.counters(), "graph_launches"), 0);
}

TEST(CudaCublasLt, AllocatesNothingInASteadyState) {
  LtProgram program(kLayers);
  program.ExpectAsReference(LayerInputs(8));
  const int64_t objects = Count("library_objects");
  const int64_t allocations = Count("calls cuMemAllocFromPoolAsync");
  for (int i = 0; i < 3; ++i) program.ExpectAsReference(LayerInputs(8));
  EXPECT_EQ(Count("library_objects"), objects);
  EXPECT_EQ(Count("calls cuMemAllocFromPoolAsync"), allocations);
  EXPECT_GT(CounterOf(program.counters(), "scratch_bytes"), 0);
}

// What the emulation reports of a call on the memory of operands. The matrices are square, of 8
// rows; a is written but for its last element.
class CudaCublasLtHazards : public testing::Test {
 protected:
  static constexpr int64_t kRows = 8;
  static constexpr int64_t kBytes = kRows * kRows * 4;

  // The message of the error; "" if there is none. `places`: the bytes of a, b and d, from the
  // begin of the memory; the call may access `bytes` bytes of each.
  std::string Report(const LtProblem& problem, const std::vector<int64_t>& places,
                     int64_t bytes = kBytes) {
    auto device = *CudaDevice::Open(Emulated(), 0);
    std::string message;
    {
      CublasLt library(*device, "");
      EXPECT_TRUE(*library.Open());
      auto call = library.Prepare(problem);
      EXPECT_TRUE(call.ok()) << call.status();
      const auto memory = *device->Allocate(3 * kBytes, profiler::MemoryCategory::kTemporary);
      const std::vector<float> values(2 * kRows * kRows - 1, 1);
      const auto size = static_cast<int64_t>(values.size() * sizeof(float));
      EXPECT_TRUE(device->CopyIn(memory->data(), values.data(), size).ok());
      LtMemory at;
      at.a = memory->data() + places[0];
      at.b = memory->data() + places[1];
      at.d = memory->data() + places[2];
      std::vector<OperandRange> ranges;
      for (const void* place :
           {at.a, at.b, static_cast<const void*>(at.d), static_cast<const void*>(at.d)}) {
        ranges.push_back({reinterpret_cast<CuAddress>(place), bytes});
      }
      EXPECT_TRUE(device
                      ->Submit(ranges, "probe",
                               [&](CuStream stream) { return (*call)->Submit(at, stream); })
                      .ok());
      message = std::string(device->Wait().message());
    }
    Emulated().emulation.reset();
    return message;
  }

  static LtProblem Square() {
    LtProblem problem;
    for (LtMatrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
      matrix->rows = matrix->columns = matrix->ld = kRows;
      matrix->alignment = 4;
    }
    return problem;
  }
};

TEST_F(CudaCublasLtHazards, AreReported) {
  EXPECT_EQ(Report(Square(), {0, 0, 2 * kBytes}), "");
  EXPECT_THAT(Report(Square(), {kBytes, 0, 2 * kBytes}),
              HasSubstr("a read of what was not written in matrix a, element (7, 7) of batch 0"));
  EXPECT_THAT(Report(Square(), {0, 0, 2 * kBytes}, kBytes - 4),
              HasSubstr("an access outside of matrix a, element (7, 7)"));
  EXPECT_THAT(Report(Square(), {0, 0, kBytes - 4}),
              HasSubstr("a write, over an operand, of matrix d, element (0, 0)"));
  LtProblem wide = Square();
  wide.a.ld = kRows + 1;
  EXPECT_THAT(Report(wide, {0, 0, 2 * kBytes}), HasSubstr("an access outside of matrix a"));
}

}  // namespace
}  // namespace weft::cuda
