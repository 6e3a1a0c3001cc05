// The parts of a Program (program.h): its model, variants and state.
#ifndef WEFT_API_PROGRAM_IMPL_H_
#define WEFT_API_PROGRAM_IMPL_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "api/call_inputs.h"
#include "api/dynamic/variant_cache.h"
#include "api/program.h"
#include "backends/backend.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

// State by input, and calls.
class ProgramImpl {
 public:
  ProgramImpl(std::unique_ptr<Module> model, const Backend& backend, ProgramOptions options)
      : model_(std::move(model)),
        backend_(backend),
        backend_options_(options.backend),
        cache_(*model_, std::move(options)),
        state_(InitialState(main())),
        device_state_(state_.size()),
        device_is_newer_(state_.size()),
        writes_state_(MayWriteState()) {}
  // State is freed when nothing uses it.
  ~ProgramImpl() { Release(std::move(device_state_)); }

  absl::Status Check() { return cache_.Check(); }
  const Module& module() const { return *model_; }
  const Graph& main() const { return *model_->main(); }
  ProgramExplanation Explain() const { return cache_.Explain(); }

  // Returns new values of inputs in `written`, except those that are state.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> given,
                                              std::vector<HostTensor>* written);
  absl::StatusOr<std::vector<HostTensor>> FunctionalCall(
      std::map<std::string, HostTensor>* tensors, const std::map<std::string, HostTensor>& inputs);
  absl::StatusOr<std::vector<HostTensor>> Order(
      const std::map<std::string, HostTensor>& inputs) const;

  std::optional<HostTensor> state(absl::string_view name);
  absl::Status SetStates(const std::map<std::string, HostTensor>& tensors);
  std::vector<std::string> state_names() const;

  // --- On the device (program/on_device.cc) -------------------------------------------------
  // The memory of the target's device; null if it works in the host's.
  absl::StatusOr<std::shared_ptr<DeviceSpace>> Space();
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(absl::Span<const DeviceTensor> given,
                                                        const DeviceRunOptions& options,
                                                        std::vector<DeviceTensor>* written);
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor);
  absl::Status Synchronize();

 private:
  bool MayWriteState() const;
  const std::string& StateName(int input) const;
  absl::StatusOr<std::vector<int>> Find(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<std::vector<HostTensor>> Fill(absl::Span<const HostTensor> given) const
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<std::vector<HostTensor>> Call(absl::Span<const HostTensor> given,
                                               absl::Span<const HostTensor> inputs,
                                               std::vector<HostTensor>* written);
  absl::Status PutTogether(const std::map<std::string, HostTensor>& tensors,
                           std::vector<HostTensor>* given, std::vector<std::string>* names) const;

  // Takes the turn of a call that reads state which runs may write on the device, and copies what
  // they have written to state_. `in_turn` ends it.
  absl::Status TakeTurn(std::optional<absl::MutexLock>* in_turn);
  // For calls in turn.
  absl::Status FetchState();
  // Waits for the last run, unless it is done or the next one is ordered behind it. For calls in
  // turn.
  absl::Status Settle(std::optional<void*> stream);
  // Drops tensors of which nobody takes new copies.
  void Release(std::vector<DeviceTensor> tensors);
  // The inputs with state for those that were left out, which are marked in `filled`.
  absl::StatusOr<std::vector<DeviceTensor>> FillOnDevice(absl::Span<const DeviceTensor> given,
                                                         std::vector<bool>* filled);
  // Puts state that the code takes on its device.
  absl::Status Upload(const VariantCache::Found& found, const std::vector<bool>& filled,
                      std::vector<DeviceTensor>* inputs);
  // Takes state back after a run, and its new values; `written` is null after an error.
  void Keep(const std::vector<bool>& filled, std::vector<DeviceTensor>* inputs,
            std::vector<DeviceTensor>* written);

  const std::unique_ptr<Module> model_;
  const Backend& backend_;
  const BackendOptions backend_options_;
  VariantCache cache_;
  absl::Mutex space_mu_;
  std::shared_ptr<DeviceSpace> space_ ABSL_GUARDED_BY(space_mu_);  // Null: not opened yet.
  absl::Mutex run_mu_;  // Held by calls that may write the state, and by writers of it.
  mutable absl::Mutex mu_;
  std::vector<HostTensor> state_ ABSL_GUARDED_BY(mu_);
  // By input: the state on the device, if a run has put it there, and whether it is newer than
  // state_. While a run that writes state has it, it is not here.
  std::vector<DeviceTensor> device_state_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> device_is_newer_ ABSL_GUARDED_BY(mu_);
  // A run on the device may have written state, so that calls which read it take turns.
  std::atomic<bool> writes_on_device_{false};
  // The stream of the last such run, if it may not be done; for calls in turn.
  std::optional<void*> pending_;
  bool has_streams_ = false;  // A run that may write state had a stream; for calls in turn.
  const bool writes_state_;
};

}  // namespace weft

#endif  // WEFT_API_PROGRAM_IMPL_H_
