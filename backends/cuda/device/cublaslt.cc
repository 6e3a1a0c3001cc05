#include "backends/cuda/device/cublaslt.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "backends/cuda/device/logs.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

// NVIDIA's advice. What an algorithm uses of it is part of a session's scratch memory.
constexpr uint64_t kMaxWorkspaceBytes = uint64_t{32} << 20;

std::vector<int64_t> NumbersOf(const LtProblem& problem) {
  std::vector<int64_t> numbers = {problem.compute,
                                  problem.type,
                                  problem.transpose_a ? 1 : 0,
                                  problem.transpose_b ? 1 : 0,
                                  problem.epilogue,
                                  problem.beta != 0 ? 1 : 0,
                                  problem.bias_alignment,
                                  problem.batches};
  for (const LtMatrix* m : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    numbers.insert(numbers.end(), {m->rows, m->columns, m->ld, m->batch_offset, m->alignment});
  }
  return numbers;
}

// Alpha or beta in the type in which the library reads it.
struct Scalar {
  Scalar(CublasCompute compute, double value) {
    if (compute == kCublas64F) {
      wide = value;
    } else {
      narrow = static_cast<float>(value);
    }
  }
  union {
    float narrow;
    double wide;
  };
};

}  // namespace

// --- Calls -------------------------------------------------------------------------------

LtCall::~LtCall() {
  for (CublasLtLayout layout : {a_, b_, c_, d_}) {
    if (layout != nullptr) api_.layout_destroy(layout);
  }
  if (desc_ != nullptr) api_.desc_destroy(desc_);
}

absl::Status LtCall::MakeLayout(const LtMatrix& matrix, CublasLtLayout* layout) {
  WEFT_RETURN_IF_ERROR(
      ToStatus(api_,
               api_.layout_create(layout, problem_.type, static_cast<uint64_t>(matrix.rows),
                                  static_cast<uint64_t>(matrix.columns), matrix.ld),
               "cublasLtMatrixLayoutCreate"));
  if (problem_.batches == 1) return absl::OkStatus();
  const auto count = static_cast<int32_t>(problem_.batches);
  WEFT_RETURN_IF_ERROR(ToStatus(api_, api_.layout_set(*layout, kLtBatchCount, &count, sizeof count),
                                "cublasLtMatrixLayoutSetAttribute of the batch count"));
  return ToStatus(
      api_,
      api_.layout_set(*layout, kLtBatchOffset, &matrix.batch_offset, sizeof matrix.batch_offset),
      "cublasLtMatrixLayoutSetAttribute of the batch offset");
}

absl::Status LtCall::Setup() {
  const CublasDataType scale = problem_.compute == kCublas64F ? kCublasF64 : kCublasF32;
  WEFT_RETURN_IF_ERROR(ToStatus(api_, api_.desc_create(&desc_, problem_.compute, scale),
                                "cublasLtMatmulDescCreate"));
  const auto set = [this](CublasLtMatmulDescAttribute attribute, const auto& value) {
    return ToStatus(api_, api_.desc_set(desc_, attribute, &value, sizeof value),
                    "cublasLtMatmulDescSetAttribute");
  };
  const CublasOperation trans_a = problem_.transpose_a ? kCublasOpT : kCublasOpN;
  const CublasOperation trans_b = problem_.transpose_b ? kCublasOpT : kCublasOpN;
  WEFT_RETURN_IF_ERROR(set(kLtTransA, trans_a));
  WEFT_RETURN_IF_ERROR(set(kLtTransB, trans_b));
  const uint32_t epilogue = problem_.epilogue == 0 ? kLtEpilogueNone : problem_.epilogue;
  WEFT_RETURN_IF_ERROR(set(kLtEpilogue, epilogue));
  if ((problem_.epilogue & kLtEpilogueBias) != 0) {
    // The search reads the alignment of the address.
    constexpr uintptr_t kSomewhere = uintptr_t{1} << 30;
    const auto bias =
        reinterpret_cast<const void*>(kSomewhere + static_cast<uintptr_t>(problem_.bias_alignment));
    WEFT_RETURN_IF_ERROR(set(kLtBiasPointer, bias));
  }
  WEFT_RETURN_IF_ERROR(MakeLayout(problem_.a, &a_));
  WEFT_RETURN_IF_ERROR(MakeLayout(problem_.b, &b_));
  WEFT_RETURN_IF_ERROR(MakeLayout(problem_.c, &c_));
  return MakeLayout(problem_.d, &d_);
}

absl::StatusOr<std::optional<CublasLtHeuristic>> LtCall::Search(uint64_t max_workspace) {
  CublasLtPreference preference = nullptr;
  WEFT_RETURN_IF_ERROR(
      ToStatus(api_, api_.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
  const absl::Cleanup destroy = [&] { api_.preference_destroy(preference); };
  const auto set = [&](CublasLtPreferenceAttribute attribute, const auto& value) {
    return ToStatus(api_, api_.preference_set(preference, attribute, &value, sizeof value),
                    "cublasLtMatmulPreferenceSetAttribute");
  };
  WEFT_RETURN_IF_ERROR(set(kLtMaxWorkspaceBytes, max_workspace));
  // Sums in parts would else be rounded to the type of the result.
  WEFT_RETURN_IF_ERROR(set(kLtReductionSchemeMask, kLtReductionComputeType));
  const std::pair<CublasLtPreferenceAttribute, const LtMatrix*> matrices[] = {
      {kLtMinAlignmentA, &problem_.a},
      {kLtMinAlignmentB, &problem_.b},
      {kLtMinAlignmentC, &problem_.c},
      {kLtMinAlignmentD, &problem_.d}};
  for (const auto& [attribute, matrix] : matrices) {
    WEFT_RETURN_IF_ERROR(set(attribute, static_cast<uint32_t>(matrix->alignment)));
  }
  CublasLtHeuristic found = {};
  int count = 0;
  const CublasStatus status =
      api_.heuristic(handle_, desc_, a_, b_, c_, d_, preference, 1, &found, &count);
  // The library finds invalid what it has no algorithm for, too.
  if (status == kCublasNotSupported || status == kCublasInvalidValue) return std::nullopt;
  WEFT_RETURN_IF_ERROR(ToStatus(api_, status, "cublasLtMatmulAlgoGetHeuristic"));
  if (count < 1 || found.state != kCublasSuccess) return std::nullopt;
  return found;
}

absl::Status LtCall::Submit(const LtMemory& memory, CuStream stream) {
  if ((problem_.epilogue & kLtEpilogueBias) != 0) {
    WEFT_RETURN_IF_ERROR(
        ToStatus(api_, api_.desc_set(desc_, kLtBiasPointer, &memory.bias, sizeof memory.bias),
                 "cublasLtMatmulDescSetAttribute of the bias"));
  }
  const Scalar alpha(problem_.compute, 1);
  const Scalar beta(problem_.compute, problem_.beta);
  ++calls_;
  // Without beta, the library reads nothing of c.
  const void* const c = problem_.beta != 0 ? memory.c : memory.d;
  return ToStatus(
      api_,
      api_.matmul(handle_, desc_, &alpha, memory.a, a_, memory.b, b_, &beta, c, c_, memory.d, d_,
                  &algorithm_.algo, memory.workspace, algorithm_.workspace_bytes, stream),
      "cublasLtMatmul");
}

// --- The library -------------------------------------------------------------------------

CublasLt::~CublasLt() {
  if (handle_ != nullptr) library_->api.destroy(handle_);
}

absl::StatusOr<bool> CublasLt::Open() {
  if (handle_ != nullptr) return true;
  if (absent_ || place_ == "none") return false;
  const auto miss = [this](const absl::Status& status) -> absl::StatusOr<bool> {
    if (!place_.empty()) return absl::FailedPreconditionError(status.message());
    absent_ = true;
    Log(hints_log, absl::StrCat("cuBLASLt is not used: ", status.message()));
    return false;
  };
  const absl::StatusOr<const CublasLtLibrary*> library = OpenCublasLt(device_.libraries(), place_);
  if (!library.ok()) return miss(library.status());
  library_ = *library;
  const CublasStatus status = library_->api.create(&handle_);
  if (status == kCublasSuccess) return true;
  handle_ = nullptr;
  const absl::Status error =
      ToStatus(library_->api, status, absl::StrCat("cublasLtCreate of ", library_->path));
  if (status == kCublasAllocFailed) return error;
  return miss(error);
}

absl::StatusOr<std::unique_ptr<LtCall>> CublasLt::Prepare(const LtProblem& problem) {
  std::unique_ptr<LtCall> call(new LtCall(library_->api, handle_, problem, calls_));
  const std::vector<int64_t> numbers = NumbersOf(problem);
  auto known = algorithms_.find(numbers);
  const bool searched = known != algorithms_.end();
  if (!searched || known->second) WEFT_RETURN_IF_ERROR(call->Setup());
  if (!searched) {
    WEFT_ASSIGN_OR_RETURN(auto found, call->Search(kMaxWorkspaceBytes));
    known = algorithms_.emplace(numbers, found).first;
  }
  if (!known->second) return absl::UnimplementedError("cuBLASLt has no algorithm");
  call->algorithm_ = *known->second;
  return call;
}

}  // namespace weft::cuda
