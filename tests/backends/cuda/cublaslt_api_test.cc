// The declarations of cuBLASLt against NVIDIA's header, and the library itself. Both parts are
// skipped where there is none:
//
//   WEFT_TEST_CUBLASLT_INCLUDE  the folder of cublasLt.h; the packages nvidia-cublas,
//                               nvidia-cuda-runtime, -crt and -cccl of PyPI share it
//   WEFT_TEST_CUBLASLT          the library, or its folder; else an installed one
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cuda/driver/cublaslt_library.h"
#include "backends/cuda/driver/libraries.h"
#include "gtest/gtest.h"

namespace weft::cuda {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A program that compiles if numbers, layouts and the parameters of functions are equal.
constexpr char kProgram[] = R"(
#include <cublasLt.h>

#include <cstddef>
#include <type_traits>

#include "backends/cuda/driver/cublaslt_api.h"

using namespace weft::cuda;

// Types that a call passes in the same way.
template <class A, class B>
constexpr bool kSame =
    sizeof(A) == sizeof(B) && alignof(A) == alignof(B) &&
    std::is_pointer_v<A> == std::is_pointer_v<B> &&
    std::is_floating_point_v<A> == std::is_floating_point_v<B>;
template <class F, class G>
struct SameCall : std::false_type {};
template <class R, class... P, class S, class... Q>
struct SameCall<R (*)(P...), S (*)(Q...)> {
  template <bool equal, class = void>
  struct All : std::false_type {};
  template <class Dummy>
  struct All<true, Dummy> : std::bool_constant<kSame<R, S> && (kSame<P, Q> && ...)> {};
  static constexpr bool value = All<sizeof...(P) == sizeof...(Q)>::value;
};

#define SAME(member, function) \
  static_assert(SameCall<decltype(CublasLtApi::member), decltype(&function)>::value)
SAME(status_name, cublasLtGetStatusName);
SAME(status_string, cublasLtGetStatusString);
SAME(version, cublasLtGetVersion);
SAME(create, cublasLtCreate);
SAME(destroy, cublasLtDestroy);
SAME(desc_create, cublasLtMatmulDescCreate);
SAME(desc_destroy, cublasLtMatmulDescDestroy);
SAME(desc_set, cublasLtMatmulDescSetAttribute);
SAME(layout_create, cublasLtMatrixLayoutCreate);
SAME(layout_destroy, cublasLtMatrixLayoutDestroy);
SAME(layout_set, cublasLtMatrixLayoutSetAttribute);
SAME(preference_create, cublasLtMatmulPreferenceCreate);
SAME(preference_destroy, cublasLtMatmulPreferenceDestroy);
SAME(preference_set, cublasLtMatmulPreferenceSetAttribute);
SAME(heuristic, cublasLtMatmulAlgoGetHeuristic);
SAME(matmul, cublasLtMatmul);

#define EQUAL(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
EQUAL(kCublasSuccess, CUBLAS_STATUS_SUCCESS);
EQUAL(kCublasNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
EQUAL(kCublasAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
EQUAL(kCublasInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
EQUAL(kCublasArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
EQUAL(kCublasExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
EQUAL(kCublasInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
EQUAL(kCublasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
EQUAL(kCublasF32, CUDA_R_32F);
EQUAL(kCublasF64, CUDA_R_64F);
EQUAL(kCublasF16, CUDA_R_16F);
EQUAL(kCublasBF16, CUDA_R_16BF);
EQUAL(kCublas32F, CUBLAS_COMPUTE_32F);
EQUAL(kCublas64F, CUBLAS_COMPUTE_64F);
EQUAL(kCublas32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
EQUAL(kCublasOpN, CUBLAS_OP_N);
EQUAL(kCublasOpT, CUBLAS_OP_T);
EQUAL(kLtTransA, CUBLASLT_MATMUL_DESC_TRANSA);
EQUAL(kLtTransB, CUBLASLT_MATMUL_DESC_TRANSB);
EQUAL(kLtEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
EQUAL(kLtBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
EQUAL(kLtEpilogueNone, CUBLASLT_EPILOGUE_DEFAULT);
EQUAL(kLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
EQUAL(kLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
EQUAL(kLtEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
EQUAL(kLtEpilogueRelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
EQUAL(kLtEpilogueGelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
EQUAL(kLtBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
EQUAL(kLtBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
EQUAL(kLtMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
EQUAL(kLtReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
EQUAL(kLtMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
EQUAL(kLtMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
EQUAL(kLtMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
EQUAL(kLtMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
EQUAL(kLtReductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

static_assert(sizeof(CublasLtAlgo) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(CublasLtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(CublasLtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(CublasLtHeuristic, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(CublasLtHeuristic, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
)";

TEST(CublasLtApi, EqualsTheHeader) {
  const std::string include = FromEnvironment("WEFT_TEST_CUBLASLT_INCLUDE");
  if (!std::ifstream(absl::StrCat(include, "/cublasLt.h"))) {
    GTEST_SKIP() << "there is no cublasLt.h in WEFT_TEST_CUBLASLT_INCLUDE=\"" << include << "\"";
  }
  const std::string program = absl::StrCat(testing::TempDir(), "/cublaslt_api.cc");
  std::ofstream(program) << kProgram;
  // Headers of this tree are beside the test's working folder.
  const std::string command =
      absl::StrCat("g++ -std=c++17 -fsyntax-only -w -I . -isystem '", include, "' '", program, "'");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0) << command;
}

TEST(CublasLtApi, OpensTheLibrary) {
  const auto library = OpenCublasLt(Libraries(), FromEnvironment("WEFT_TEST_CUBLASLT"));
  if (!library.ok()) GTEST_SKIP() << library.status().message();
  const CublasLtApi& api = (*library)->api;
  EXPECT_GE(api.version(), 120000u);
  const absl::Status status = ToStatus(api, kCublasNotSupported, "cublasLtMatmul");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message().substr(0, 50), "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED (15), ");
  CublasLtHandle handle = nullptr;
  const CublasStatus created = api.create(&handle);
  if (created == kCublasSuccess) {
    EXPECT_EQ(api.destroy(handle), kCublasSuccess);
  } else {
    EXPECT_EQ(created, kCublasNotInitialized) << "without a driver";
  }
}

TEST(CublasLtApi, NamesEveryPlaceThatWasTried) {
  Libraries libraries;
  libraries.nvrtc_path = absl::StrCat(testing::TempDir(), "/cu13/lib/libnvrtc.so.13");
  const auto missing = OpenCublasLt(libraries, testing::TempDir());
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    EXPECT_NE(missing.status().message().find(absl::StrCat(testing::TempDir(), name)),
              std::string::npos)
        << missing.status();
  }
}

}  // namespace
}  // namespace weft::cuda
