// Declarations of cuBLASLt, NVIDIA's library of matmuls, by its documentation; see driver_api.h.
// Numbers and layouts are those of its versions 12 and 13.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_API_H_
#define WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_API_H_

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver/driver_api.h"

namespace weft::cuda {

using CublasStatus = int;
using CublasLtHandle = struct CublasLtHandleRecord*;
using CublasLtMatmulDesc = struct CublasLtMatmulDescRecord*;
using CublasLtLayout = struct CublasLtLayoutRecord*;
using CublasLtPreference = struct CublasLtPreferenceRecord*;

inline constexpr CublasStatus kCublasSuccess = 0;
inline constexpr CublasStatus kCublasNotInitialized = 1;
inline constexpr CublasStatus kCublasAllocFailed = 3;
inline constexpr CublasStatus kCublasInvalidValue = 7;
inline constexpr CublasStatus kCublasArchMismatch = 8;
inline constexpr CublasStatus kCublasExecutionFailed = 13;
inline constexpr CublasStatus kCublasInternalError = 14;
inline constexpr CublasStatus kCublasNotSupported = 15;

// Element types.
enum CublasDataType : int { kCublasF32 = 0, kCublasF64 = 1, kCublasF16 = 2, kCublasBF16 = 14 };

// How products are computed and added. TF32 reads f32 operands with 10 bits of mantissa.
enum CublasCompute : int { kCublas32F = 68, kCublas64F = 70, kCublas32FFastTF32 = 77 };

enum CublasOperation : int { kCublasOpN = 0, kCublasOpT = 1 };

enum CublasLtMatmulDescAttribute : int {
  kLtTransA = 3,       // CublasOperation
  kLtTransB = 4,       // CublasOperation
  kLtEpilogue = 7,     // uint32_t
  kLtBiasPointer = 8,  // const void*; queries read its alignment
};

// Flags for what happens to the sum.
enum CublasLtEpilogue : unsigned {
  kLtEpilogueNone = 1,  // Without others.
  kLtEpilogueRelu = 2,
  kLtEpilogueBias = 4,   // A vector along the rows of D.
  kLtEpilogueGelu = 32,  // The form with tanh.
};

enum CublasLtLayoutAttribute : int {
  kLtBatchCount = 5,   // int32_t
  kLtBatchOffset = 6,  // int64_t, in elements
};

enum CublasLtPreferenceAttribute : int {
  kLtMaxWorkspaceBytes = 1,    // uint64_t
  kLtReductionSchemeMask = 3,  // uint32_t
  kLtMinAlignmentA = 5,        // uint32_t, in bytes
  kLtMinAlignmentB = 6,
  kLtMinAlignmentC = 7,
  kLtMinAlignmentD = 8,
};

// Parts of long sums are kept in the compute type, apart from the result.
inline constexpr uint32_t kLtReductionComputeType = 2;

struct CublasLtAlgo {
  uint64_t data[8];
};

struct CublasLtHeuristic {
  CublasLtAlgo algo;
  size_t workspace_bytes;
  CublasStatus state;
  float waves;
  int reserved[4];
};

// X(member of CublasLtApi, exported name, result, parameters)
#define WEFT_CUBLASLT(X)                                                                         \
  X(status_name, "cublasLtGetStatusName", const char*, (CublasStatus status))                    \
  X(status_string, "cublasLtGetStatusString", const char*, (CublasStatus status))                \
  X(version, "cublasLtGetVersion", size_t, ())                                                   \
  X(create, "cublasLtCreate", CublasStatus, (CublasLtHandle * handle))                           \
  X(destroy, "cublasLtDestroy", CublasStatus, (CublasLtHandle handle))                           \
  X(desc_create, "cublasLtMatmulDescCreate", CublasStatus,                                       \
    (CublasLtMatmulDesc * desc, CublasCompute compute, CublasDataType scale))                    \
  X(desc_destroy, "cublasLtMatmulDescDestroy", CublasStatus, (CublasLtMatmulDesc desc))          \
  X(desc_set, "cublasLtMatmulDescSetAttribute", CublasStatus,                                    \
    (CublasLtMatmulDesc desc, CublasLtMatmulDescAttribute attribute, const void* value,          \
     size_t bytes))                                                                              \
  X(layout_create, "cublasLtMatrixLayoutCreate", CublasStatus,                                   \
    (CublasLtLayout * layout, CublasDataType type, uint64_t rows, uint64_t columns, int64_t ld)) \
  X(layout_destroy, "cublasLtMatrixLayoutDestroy", CublasStatus, (CublasLtLayout layout))        \
  X(layout_set, "cublasLtMatrixLayoutSetAttribute", CublasStatus,                                \
    (CublasLtLayout layout, CublasLtLayoutAttribute attribute, const void* value, size_t bytes)) \
  X(preference_create, "cublasLtMatmulPreferenceCreate", CublasStatus,                           \
    (CublasLtPreference * preference))                                                           \
  X(preference_destroy, "cublasLtMatmulPreferenceDestroy", CublasStatus,                         \
    (CublasLtPreference preference))                                                             \
  X(preference_set, "cublasLtMatmulPreferenceSetAttribute", CublasStatus,                        \
    (CublasLtPreference preference, CublasLtPreferenceAttribute attribute, const void* value,    \
     size_t bytes))                                                                              \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic", CublasStatus,                                   \
    (CublasLtHandle handle, CublasLtMatmulDesc desc, CublasLtLayout a, CublasLtLayout b,         \
     CublasLtLayout c, CublasLtLayout d, CublasLtPreference preference, int requested,           \
     CublasLtHeuristic* results, int* count))                                                    \
  X(matmul, "cublasLtMatmul", CublasStatus,                                                      \
    (CublasLtHandle handle, CublasLtMatmulDesc desc, const void* alpha, const void* a,           \
     CublasLtLayout a_layout, const void* b, CublasLtLayout b_layout, const void* beta,          \
     const void* c, CublasLtLayout c_layout, void* d, CublasLtLayout d_layout,                   \
     const CublasLtAlgo* algo, void* workspace, size_t workspace_bytes, CuStream stream))

// The functions of an opened library; none is null.
struct CublasLtApi {
#define WEFT_MEMBER(member, name, result, parameters) result(*member) parameters = nullptr;
  WEFT_CUBLASLT(WEFT_MEMBER)
#undef WEFT_MEMBER
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_CUBLASLT_API_H_
