// cuBLASLt's functions. A matmul is work of its stream, as a kernel's launch is.
//
// They are strict: descriptors have only the attributes that the backend sets, an algorithm is good
// for the problem that it was found for and for operands that are aligned as asked, and sums of
// many terms need a workspace.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/cuda/driver/cublaslt_api.h"
#include "backends/cuda/emulate/entries.h"
#include "backends/cuda/emulate/lt_matmul.h"

namespace weft::cuda {

struct CublasLtHandleRecord {};

struct CublasLtMatmulDescRecord {
  CublasCompute compute = kCublas32F;
  CublasDataType scale = kCublasF32;
  CublasOperation trans_a = kCublasOpN, trans_b = kCublasOpN;
  uint32_t epilogue = kLtEpilogueNone;
  const void* bias = nullptr;
};

struct CublasLtLayoutRecord {
  emulate::LtLayout layout;
};

struct CublasLtPreferenceRecord {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};  // Of a, b, c, d.
};

}  // namespace weft::cuda

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::IsConsistent;
using weft::cuda::emulate::LtLayout;
using weft::cuda::emulate::LtMatmul;
using weft::cuda::emulate::LtRegion;
using weft::cuda::emulate::Memory;
using weft::cuda::emulate::State;
using weft::cuda::emulate::Task;

constexpr unsigned kRecordedThreads = 128;
// Sums of at least as many terms use a workspace.
constexpr int64_t kLongSum = 64;
constexpr size_t kWorkspaceBytes = 4096;
constexpr size_t kWorkspaceAlignment = 256;

// An injected error is one of cuBLASLt's.
CublasStatus EnterLt(State& state, const char* name) {
  const CuResult result = state.Enter(name);
  if (state.sticky != kCuSuccess) return kCublasExecutionFailed;
  if (!state.has_context) return kCublasNotInitialized;
  return result;
}

#define WEFT_ENTER_LT(name)                                                  \
  ::weft::cuda::emulate::State& state = ::weft::cuda::emulate::State::Get(); \
  const std::lock_guard<std::mutex> lock(state.mutex);                       \
  const CublasStatus entered = EnterLt(state, name);                         \
  if (entered != kCublasSuccess) return entered

// For functions that give something back: after an error of a kernel they do so all the same.
#define WEFT_LEAVE_LT(name)                                                  \
  ::weft::cuda::emulate::State& state = ::weft::cuda::emulate::State::Get(); \
  const std::lock_guard<std::mutex> lock(state.mutex);                       \
  const CublasStatus entered = EnterLt(state, name);                         \
  if (entered != kCublasSuccess && state.sticky == kCuSuccess) return entered

template <typename T>
CublasStatus SetTo(const void* value, size_t bytes, T* to) {
  if (value == nullptr || bytes != sizeof(T)) return kCublasInvalidValue;
  std::memcpy(to, value, sizeof(T));
  return kCublasSuccess;
}

template <typename Record>
CublasStatus Create(State& state, Record record, Record** made) {
  ++state.library_objects;
  *made = new Record(record);
  return kCublasSuccess;
}

template <typename Record>
CublasStatus Destroy(State& state, Record* record) {
  if (record == nullptr) return kCublasInvalidValue;
  --state.library_objects;
  delete record;
  return kCublasSuccess;
}

LtMatmul MatmulOf(const CublasLtMatmulDescRecord& desc, CublasLtLayout a, CublasLtLayout b,
                  CublasLtLayout c, CublasLtLayout d) {
  LtMatmul matmul;
  matmul.compute = desc.compute;
  matmul.transpose_a = desc.trans_a == kCublasOpT;
  matmul.transpose_b = desc.trans_b == kCublasOpT;
  matmul.epilogue = desc.epilogue;
  matmul.a_layout = a->layout;
  matmul.b_layout = b->layout;
  matmul.c_layout = c->layout;
  matmul.d_layout = d->layout;
  return matmul;
}

int64_t InnerSize(const LtMatmul& matmul) {
  return matmul.transpose_a ? matmul.a_layout.rows : matmul.a_layout.columns;
}

bool HasBias(const LtMatmul& matmul) { return (matmul.epilogue & kLtEpilogueBias) != 0; }

// A number for the problem, by which its algorithms are known.
uint64_t ProblemOf(const LtMatmul& m) {
  uint64_t hash = 1469598103934665603u;
  const auto add = [&hash](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211u;
  };
  for (const LtLayout* l : {&m.a_layout, &m.b_layout, &m.c_layout, &m.d_layout}) {
    for (int64_t value :
         {int64_t{l->type}, l->rows, l->columns, l->ld, l->batches, l->batch_offset}) {
      add(value);
    }
  }
  for (int64_t value : {int64_t{m.compute}, int64_t{m.transpose_a}, int64_t{m.transpose_b},
                        static_cast<int64_t>(m.epilogue)}) {
    add(value);
  }
  return hash;
}

bool IsEpilogue(unsigned flags) {
  const unsigned function = flags & ~unsigned{kLtEpilogueBias};
  return flags == kLtEpilogueNone || (flags != 0 && (function == 0 || function == kLtEpilogueRelu ||
                                                     function == kLtEpilogueGelu));
}

// Types go together.
bool IsSupported(const LtMatmul& m) {
  if ((m.compute == kCublas64F) != (m.a_layout.type == kCublasF64)) return false;
  if (m.compute == kCublas32FFastTF32 && m.a_layout.type != kCublasF32) return false;
  return m.a_layout.type == m.d_layout.type;
}

// The memory around the address. `number`: that of the operand whose range the backend has given.
LtRegion RegionOf(const State& state, const void* address, size_t number) {
  LtRegion region;
  const auto at = reinterpret_cast<CuAddress>(address);
  if (at == 0) return region;
  const Memory::Piece* piece = state.memory.Find(at);
  if (piece == nullptr) return region;
  region.first = Memory::Reveal(at);
  region.begin = piece->host;
  region.end = piece->host + piece->bytes;
  region.shadow = piece->shadow.get();
  if (number < state.operands.size()) {
    const State::Operand& operand = state.operands[number];
    region.begin = std::max(region.begin, operand.begin);
    region.end = std::min(region.end, operand.begin + operand.bytes);
  }
  return region;
}

bool IsAligned(const void* address, uint64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

}  // namespace

WEFT_EXPORT const char* cublasLtGetStatusName(CublasStatus status) {
  switch (status) {
    case kCublasSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kCublasNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kCublasAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kCublasInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kCublasArchMismatch:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kCublasExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kCublasInternalError:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kCublasNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unrecognized status";
  }
}

WEFT_EXPORT const char* cublasLtGetStatusString(CublasStatus status) {
  return status == kCublasSuccess ? "success" : "the emulation has no text for it";
}

WEFT_EXPORT size_t cublasLtGetVersion() { return 130000; }

WEFT_EXPORT CublasStatus cublasLtCreate(CublasLtHandle* handle) {
  WEFT_ENTER_LT("cublasLtCreate");
  return Create(state, CublasLtHandleRecord(), handle);
}

WEFT_EXPORT CublasStatus cublasLtDestroy(CublasLtHandle handle) {
  WEFT_LEAVE_LT("cublasLtDestroy");
  return Destroy(state, handle);
}

WEFT_EXPORT CublasStatus cublasLtMatmulDescCreate(CublasLtMatmulDesc* desc, CublasCompute compute,
                                                  CublasDataType scale) {
  WEFT_ENTER_LT("cublasLtMatmulDescCreate");
  CublasLtMatmulDescRecord record;
  record.compute = compute;
  record.scale = scale;
  return Create(state, record, desc);
}

WEFT_EXPORT CublasStatus cublasLtMatmulDescDestroy(CublasLtMatmulDesc desc) {
  WEFT_LEAVE_LT("cublasLtMatmulDescDestroy");
  return Destroy(state, desc);
}

WEFT_EXPORT CublasStatus cublasLtMatmulDescSetAttribute(CublasLtMatmulDesc desc,
                                                        CublasLtMatmulDescAttribute attribute,
                                                        const void* value, size_t bytes) {
  WEFT_ENTER_LT("cublasLtMatmulDescSetAttribute");
  switch (attribute) {
    case kLtTransA:
      return SetTo(value, bytes, &desc->trans_a);
    case kLtTransB:
      return SetTo(value, bytes, &desc->trans_b);
    case kLtEpilogue:
      return SetTo(value, bytes, &desc->epilogue);
    case kLtBiasPointer:
      return SetTo(value, bytes, &desc->bias);
  }
  return kCublasInvalidValue;
}

WEFT_EXPORT CublasStatus cublasLtMatrixLayoutCreate(CublasLtLayout* layout, CublasDataType type,
                                                    uint64_t rows, uint64_t columns, int64_t ld) {
  WEFT_ENTER_LT("cublasLtMatrixLayoutCreate");
  CublasLtLayoutRecord record;
  record.layout.type = type;
  record.layout.rows = static_cast<int64_t>(rows);
  record.layout.columns = static_cast<int64_t>(columns);
  record.layout.ld = ld;
  return Create(state, record, layout);
}

WEFT_EXPORT CublasStatus cublasLtMatrixLayoutDestroy(CublasLtLayout layout) {
  WEFT_LEAVE_LT("cublasLtMatrixLayoutDestroy");
  return Destroy(state, layout);
}

WEFT_EXPORT CublasStatus cublasLtMatrixLayoutSetAttribute(CublasLtLayout layout,
                                                          CublasLtLayoutAttribute attribute,
                                                          const void* value, size_t bytes) {
  WEFT_ENTER_LT("cublasLtMatrixLayoutSetAttribute");
  switch (attribute) {
    case kLtBatchCount: {
      int32_t batches = 0;
      const CublasStatus status = SetTo(value, bytes, &batches);
      layout->layout.batches = batches;
      return status;
    }
    case kLtBatchOffset:
      return SetTo(value, bytes, &layout->layout.batch_offset);
  }
  return kCublasInvalidValue;
}

WEFT_EXPORT CublasStatus cublasLtMatmulPreferenceCreate(CublasLtPreference* preference) {
  WEFT_ENTER_LT("cublasLtMatmulPreferenceCreate");
  return Create(state, CublasLtPreferenceRecord(), preference);
}

WEFT_EXPORT CublasStatus cublasLtMatmulPreferenceDestroy(CublasLtPreference preference) {
  WEFT_LEAVE_LT("cublasLtMatmulPreferenceDestroy");
  return Destroy(state, preference);
}

WEFT_EXPORT CublasStatus cublasLtMatmulPreferenceSetAttribute(CublasLtPreference preference,
                                                              CublasLtPreferenceAttribute attribute,
                                                              const void* value, size_t bytes) {
  WEFT_ENTER_LT("cublasLtMatmulPreferenceSetAttribute");
  switch (attribute) {
    case kLtMaxWorkspaceBytes:
      return SetTo(value, bytes, &preference->workspace);
    case kLtReductionSchemeMask:
      return SetTo(value, bytes, &preference->reductions);
    case kLtMinAlignmentA:
    case kLtMinAlignmentB:
    case kLtMinAlignmentC:
    case kLtMinAlignmentD:
      return SetTo(value, bytes, &preference->alignments[attribute - kLtMinAlignmentA]);
  }
  return kCublasInvalidValue;
}

WEFT_EXPORT CublasStatus cublasLtMatmulAlgoGetHeuristic(
    CublasLtHandle handle, CublasLtMatmulDesc desc, CublasLtLayout a, CublasLtLayout b,
    CublasLtLayout c, CublasLtLayout d, CublasLtPreference preference, int requested,
    CublasLtHeuristic* results, int* count) {
  WEFT_ENTER_LT("cublasLtMatmulAlgoGetHeuristic");
  if (handle == nullptr || requested < 1) return kCublasInvalidValue;
  const LtMatmul matmul = MatmulOf(*desc, a, b, c, d);
  if (!IsConsistent(matmul) || !IsEpilogue(matmul.epilogue)) return kCublasInvalidValue;
  if (HasBias(matmul) && desc->bias == nullptr) return kCublasInvalidValue;
  *count = 0;
  if (!IsSupported(matmul)) return kCublasNotSupported;
  *count = 1;
  *results = {};
  results->state = kCublasSuccess;
  results->algo.data[0] = ProblemOf(matmul);
  for (int i = 0; i < 4; ++i) results->algo.data[1 + i] = preference->alignments[i];
  const bool parts = InnerSize(matmul) >= kLongSum && preference->workspace >= kWorkspaceBytes &&
                     (preference->reductions & kLtReductionComputeType) != 0;
  results->workspace_bytes = parts ? kWorkspaceBytes : 0;
  results->algo.data[5] = results->workspace_bytes;
  return kCublasSuccess;
}

WEFT_EXPORT CublasStatus cublasLtMatmul(CublasLtHandle handle, CublasLtMatmulDesc desc,
                                        const void* alpha, const void* a, CublasLtLayout a_layout,
                                        const void* b, CublasLtLayout b_layout, const void* beta,
                                        const void* c, CublasLtLayout c_layout, void* d,
                                        CublasLtLayout d_layout, const CublasLtAlgo* algo,
                                        void* workspace, size_t workspace_bytes, CuStream stream) {
  WEFT_ENTER_LT("cublasLtMatmul");
  // Ranges are those of the next call alone, as for a launch.
  const std::vector<State::Operand> operands = std::move(state.operands);
  state.operands.clear();
  if (handle == nullptr || state.FindStream(stream) == nullptr || algo == nullptr)
    return kCublasInvalidValue;
  LtMatmul matmul = MatmulOf(*desc, a_layout, b_layout, c_layout, d_layout);
  if (!IsConsistent(matmul) || algo->data[0] != ProblemOf(matmul)) return kCublasInvalidValue;
  const void* const addresses[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!IsAligned(addresses[i], algo->data[1 + i])) return kCublasInvalidValue;
  }
  const bool wide = desc->scale == kCublasF64;
  matmul.alpha = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  matmul.beta = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  state.operands = operands;
  matmul.a = RegionOf(state, a, 0);
  matmul.b = RegionOf(state, b, 1);
  matmul.c = RegionOf(state, c, 2);
  matmul.d = RegionOf(state, d, 3);
  matmul.bias = RegionOf(state, desc->bias, 4);
  const LtRegion space = RegionOf(state, workspace, 5);
  state.operands.clear();
  const size_t needed = algo->data[5];
  if (workspace_bytes < needed || !IsAligned(workspace, kWorkspaceAlignment) ||
      (needed > 0 &&
       (space.first == nullptr || space.first < space.begin || space.first + needed > space.end)) ||
      (matmul.beta != 0 && matmul.c.first == nullptr) || matmul.a.first == nullptr ||
      matmul.b.first == nullptr || matmul.d.first == nullptr ||
      (HasBias(matmul) && matmul.bias.first == nullptr)) {
    return kCublasInvalidValue;
  }
  ++state.library_calls;
  Task task;
  task.name = "a matmul of cuBLASLt";
  // The library launches its kernels by calls that CUPTI records.
  const emulate::CallScope call("cudaLaunchKernelExC", &state.call);
  task.activity =
      emulate::KernelRecord("cublaslt_emulated", {1, 1, 1}, {kRecordedThreads, 1, 1}, 0);
  for (const LtRegion& read : {matmul.a, matmul.b, matmul.c, matmul.bias}) {
    if (read.first != nullptr) task.accesses.push_back({read.begin, read.end, false});
  }
  task.accesses.push_back({matmul.d.begin, matmul.d.end, true});
  if (needed > 0) task.accesses.push_back({space.begin, space.end, true});
  task.run = [matmul, space, needed, &state] {
    if (needed > 0) {
      std::memset(space.first, emulate::kPoison, needed);
      space.shadow->SetWritten(space.first, needed, false);
    }
    const std::string error = Compute(matmul);
    if (error.empty()) return kCuSuccess;
    if (state.report.empty()) state.report = error;
    return kCuIllegalAddress;
  };
  return state.Submit(stream, std::move(task)) == kCuSuccess ? kCublasSuccess : kCublasInvalidValue;
}

// The functions have the declared types.
#define WEFT_SAME_LT(function, member) \
  static_assert(std::is_same_v<decltype(CublasLtApi::member), decltype(&function)>)
WEFT_SAME_LT(cublasLtGetStatusName, status_name);
WEFT_SAME_LT(cublasLtGetStatusString, status_string);
WEFT_SAME_LT(cublasLtGetVersion, version);
WEFT_SAME_LT(cublasLtCreate, create);
WEFT_SAME_LT(cublasLtDestroy, destroy);
WEFT_SAME_LT(cublasLtMatmulDescCreate, desc_create);
WEFT_SAME_LT(cublasLtMatmulDescDestroy, desc_destroy);
WEFT_SAME_LT(cublasLtMatmulDescSetAttribute, desc_set);
WEFT_SAME_LT(cublasLtMatrixLayoutCreate, layout_create);
WEFT_SAME_LT(cublasLtMatrixLayoutDestroy, layout_destroy);
WEFT_SAME_LT(cublasLtMatrixLayoutSetAttribute, layout_set);
WEFT_SAME_LT(cublasLtMatmulPreferenceCreate, preference_create);
WEFT_SAME_LT(cublasLtMatmulPreferenceDestroy, preference_destroy);
WEFT_SAME_LT(cublasLtMatmulPreferenceSetAttribute, preference_set);
WEFT_SAME_LT(cublasLtMatmulAlgoGetHeuristic, heuristic);
WEFT_SAME_LT(cublasLtMatmul, matmul);
