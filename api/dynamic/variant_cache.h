// The variants of a program, keyed by their guards. Thread-safe.
#ifndef WEFT_API_DYNAMIC_VARIANT_CACHE_H_
#define WEFT_API_DYNAMIC_VARIANT_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "api/dynamic/explain.h"
#include "api/dynamic/size_policy.h"
#include "api/dynamic/variant.h"
#include "api/program_options.h"
#include "api/session.h"
#include "backends/runtime/size_program.h"

namespace weft {

class Module;

class VariantCache {
 public:
  // `model` outlives it and must not change.
  VariantCache(const Module& model, ProgramOptions options);
  VariantCache(const VariantCache&) = delete;
  VariantCache& operator=(const VariantCache&) = delete;
  // InvalidArgument if the options do not fit the model.
  absl::Status Check() { return policy_.Check(); }

  // The code for a call: a variant, or the model as it was imported.
  class Found {
   public:
    explicit Found(std::shared_ptr<const Variant> variant) : variant_(std::move(variant)) {}
    explicit Found(std::shared_ptr<const Session> model) : model_(std::move(model)) {}
    absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                                std::vector<HostTensor>* written) const;
    // As Variant::RunOnDevice.
    absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                          const std::vector<bool>& donated,
                                                          const DeviceRunOptions& options,
                                                          std::vector<DeviceTensor>* written) const;
    bool Takes(int input) const { return variant_ == nullptr || variant_->Takes(input); }
    const Session& session() const { return variant_ != nullptr ? variant_->session() : *model_; }

   private:
    std::shared_ptr<const Variant> variant_;
    std::shared_ptr<const Session> model_;
  };
  // Requires all inputs. Compiles if no variant accepts them.
  absl::StatusOr<Found> Get(absl::Span<const RunInput> inputs);
  absl::StatusOr<Found> Get(absl::Span<const HostTensor> inputs) {
    return Get(std::vector<RunInput>(inputs.begin(), inputs.end()));
  }

  // Waits for the runs of all variants; returns the first error of those that returned before they
  // were done.
  absl::Status Synchronize() const;
  // A copy of a tensor in the memory of a variant's device. Tensors of the host are not copied.
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) const;

  ProgramExplanation Explain() const;

 private:
  struct Entry {
    std::shared_ptr<const Variant> variant;
    std::vector<MissedVariant> misses;
    int64_t calls = 0;
  };
  using Values = std::vector<int64_t>;

  std::vector<Found> All() const;
  std::shared_ptr<const Variant> Find(const Values& values, absl::Span<const RunInput> inputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Found> Compile(const Values& values, absl::Span<const RunInput> inputs);
  std::vector<bool> Exchanged(absl::Span<const RunInput> inputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(compile_mu_);
  absl::StatusOr<Found> PastLimit(std::vector<MissedVariant> misses);
  std::vector<MissedVariant> Misses(const Values& values, absl::Span<const RunInput> inputs) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogVariant(int id, const Variant& variant, const std::vector<MissedVariant>& misses) const;
  MissedVariant Miss(int id, const VariantGuard& guard, const Values& values) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  ExplainedVariant ExplainVariant(int id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Module& model_;
  const ProgramOptions options_;
  const SizeProgram size_program_;
  absl::Mutex compile_mu_ ABSL_ACQUIRED_BEFORE(mu_);  // Held while a variant is made.
  SizePolicy policy_;  // Used while compile_mu_ is held, but for CheckOnHost.
  std::vector<bool> exchanged_ ABSL_GUARDED_BY(compile_mu_);
  mutable absl::Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::vector<int> recent_ ABSL_GUARDED_BY(mu_);  // Indices in entries_, the last used first.
  std::shared_ptr<const Session> as_imported_ ABSL_GUARDED_BY(mu_);
  ProgramExplanation counts_ ABSL_GUARDED_BY(mu_);  // Only the counters and the last miss.
};

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_VARIANT_CACHE_H_
