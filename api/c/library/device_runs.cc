// Runs of programs on tensors in the memory of a device.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/programs.h"
#include "api/c/entries/tensors.h"
#include "api/c/library/entries.h"
#include "api/program.h"
#include "backends/backend.h"
#include "backends/runtime/device.h"
#include "backends/runtime/device_tensor.h"
#include "base/status_macros.h"

namespace weft::c {
namespace {

constexpr weft_dl_device kHost = {1, 0};

bool operator==(const weft_dl_device& a, const weft_dl_device& b) {
  return a.type == b.type && a.id == b.id;
}

std::string DeviceText(const weft_dl_device& device) {
  return absl::StrCat("(", device.type, ", ", device.id, ")");
}

absl::StatusOr<Program*> CompiledOf(weft_program* program) {
  WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
  if (program->compiled != nullptr) return program->compiled;
  return absl::UnimplementedError(
      "a program of a file works in the host's memory, and program_run runs it");
}

// A part of memory that was given away: a run on it sets the order in which that is freed.
class PartOfGiven : public DeviceMemory {
 public:
  PartOfGiven(std::shared_ptr<DeviceMemory> whole, char* address, int64_t bytes)
      : DeviceMemory(address, bytes), whole_(std::move(whole)) {}
  void SetStream(std::optional<void*> stream) override { whole_->SetStream(stream); }

 private:
  const std::shared_ptr<DeviceMemory> whole_;
};

// The tensors of the process on devices that were given away, which come back as inputs.
class GivenTensors {
 public:
  static GivenTensors& Get() {
    static auto& tensors = *new GivenTensors;
    return tensors;
  }

  void Add(const std::shared_ptr<DeviceMemory>& memory) {
    absl::MutexLock lock(&mutex_);
    memory_[reinterpret_cast<uintptr_t>(memory->data())] = memory;
  }
  void Remove(const DeviceMemory& memory) {
    absl::MutexLock lock(&mutex_);
    memory_.erase(reinterpret_cast<uintptr_t>(memory.data()));
  }
  // Null if the bytes are not in such a tensor.
  std::shared_ptr<DeviceMemory> Find(const void* address, int64_t bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    absl::MutexLock lock(&mutex_);
    const auto behind = memory_.upper_bound(begin);
    if (behind == memory_.begin()) return nullptr;
    const auto& [first, memory] = *std::prev(behind);
    std::shared_ptr<DeviceMemory> found = memory.lock();
    if (found == nullptr) return nullptr;
    const auto end = first + static_cast<uintptr_t>(found->size());
    return begin + static_cast<uintptr_t>(bytes) <= end ? found : nullptr;
  }

 private:
  absl::Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<DeviceMemory>> memory_ ABSL_GUARDED_BY(mutex_);
};

// A program's device and the tensors of a call.
class DeviceTensors {
 public:
  explicit DeviceTensors(std::shared_ptr<DeviceSpace> space) : space_(std::move(space)) {}

  static absl::StatusOr<DeviceTensors> Of(Program* program) {
    WEFT_ASSIGN_OR_RETURN(std::shared_ptr<DeviceSpace> space, program->device());
    return DeviceTensors(std::move(space));
  }

  weft_dl_device device() const {
    return space_ == nullptr ? kHost : weft_dl_device{space_->dlpack_type(), space_->dlpack_id()};
  }

  // A view of the caller's memory, on the device or on the host.
  absl::StatusOr<DeviceTensor> Borrow(const weft_tensor& tensor, absl::string_view name) {
    if (IsOnHost(tensor.device)) {
      WEFT_ASSIGN_OR_RETURN(HostTensor view, BorrowTensor(tensor, name));
      borrowed_.insert(view.buffer().get());
      return DeviceTensor(std::move(view));
    }
    absl::StatusOr<DeviceTensor> view = BorrowThere(tensor);
    if (!view.ok()) return NameTensor(view.status(), name);
    return view;
  }

  // Gives a result away. It must not stand on memory that was borrowed for the time of a call.
  OwnedTensor Give(DeviceTensor tensor, bool may_be_shared) const;

 private:
  absl::StatusOr<DeviceTensor> BorrowThere(const weft_tensor& tensor) {
    if (space_ == nullptr || !(tensor.device == device())) {
      return absl::InvalidArgumentError(absl::StrCat("it is on device ", DeviceText(tensor.device),
                                                     "; the program's is ", DeviceText(device())));
    }
    WEFT_ASSIGN_OR_RETURN(const TensorLayout layout, ReadLayout(tensor));
    if (layout.data != nullptr && layout.strides != ContiguousStrides(layout.dims)) {
      return absl::InvalidArgumentError("it is not dense, as tensors on a device have to be");
    }
    WEFT_ASSIGN_OR_RETURN(DeviceTensor view,
                          space_->Borrow(layout.data, layout.dtype, layout.dims, nullptr));
    auto whole = GivenTensors::Get().Find(layout.data, layout.bytes);
    if (whole == nullptr || layout.data == nullptr) return view;
    auto part =
        std::make_shared<PartOfGiven>(std::move(whole), view.device_address(), layout.bytes);
    return DeviceTensor(layout.dtype, layout.dims, std::move(part), view.memory_space());
  }

  std::shared_ptr<DeviceSpace> space_;
  absl::flat_hash_set<const HostBuffer*> borrowed_;
};

// A tensor on a device that was given away.
struct GivenOnDevice {
  weft_managed_tensor managed = {};
  DeviceTensor tensor;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

void DestroyGiven(weft_managed_tensor* self) {
  const auto* const given = static_cast<GivenOnDevice*>(self->context);
  GivenTensors::Get().Remove(*given->tensor.memory());
  delete given;
}

OwnedTensor DeviceTensors::Give(DeviceTensor tensor, bool may_be_shared) const {
  if (tensor.on_host()) {
    HostTensor host = tensor.host();
    tensor = DeviceTensor();
    if (borrowed_.contains(host.buffer().get())) host = CopyTensor(host);
    const bool shared = may_be_shared && host.buffer().use_count() > 1;
    return GiveTensor(std::move(host), shared);
  }
  auto given = std::make_unique<GivenOnDevice>();
  given->tensor = std::move(tensor);
  given->dims.assign(given->tensor.dims().begin(), given->tensor.dims().end());
  given->strides = ContiguousStrides(given->dims);
  GivenTensors::Get().Add(given->tensor.memory());
  weft_managed_tensor& managed = given->managed;
  managed.version_major = 1;
  managed.context = given.get();
  managed.deleter = DestroyGiven;
  managed.tensor.data = given->tensor.device_address();
  managed.tensor.device = device();
  managed.tensor.ndim = given->tensor.rank();
  managed.tensor.dtype = TypeFrom(given->tensor.dtype());
  managed.tensor.shape = given->dims.data();
  managed.tensor.strides = given->strides.data();
  return OwnedTensor(&given.release()->managed);
}

// Inputs by position; those that are left out are not valid.
absl::StatusOr<std::vector<DeviceTensor>> InputsFrom(const weft_program& program,
                                                     const weft_tensor* const* inputs,
                                                     size_t num_inputs, DeviceTensors* tensors) {
  WEFT_RETURN_IF_ERROR(CheckInputs(program, inputs, num_inputs));
  std::vector<DeviceTensor> given(num_inputs);
  for (size_t i = 0; i < num_inputs; ++i) {
    const Value& input = *program.inputs[i];
    const std::string name = InputText(input.name, i);
    if (inputs[i] != nullptr) {
      WEFT_ASSIGN_OR_RETURN(given[i], tensors->Borrow(*inputs[i], name));
      if (program.copies_inputs) given[i] = CopyTensor(given[i].host());
    } else if (input.info.optional == 0) {
      return absl::InvalidArgumentError(absl::StrCat("no tensor for ", name));
    }
  }
  return given;
}

absl::StatusOr<std::vector<DeviceTensor>> ResultsFrom(const weft_run_options& options,
                                                      DeviceTensors* tensors) {
  if (options.num_results > 0) WEFT_RETURN_IF_ERROR(CheckGiven(options.results, "results"));
  std::vector<DeviceTensor> results(options.num_results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (options.results[i] == nullptr) continue;
    const std::string name = absl::StrCat("output ", i);
    WEFT_ASSIGN_OR_RETURN(results[i], tensors->Borrow(*options.results[i], name));
  }
  return results;
}

}  // namespace

weft_error* ProgramDevice(weft_program* program, weft_dl_device* device) {
  return Guarded("program_device", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(device, "device"));
    *device = kHost;
    WEFT_RETURN_IF_ERROR(CheckGiven(program, "program"));
    if (program->compiled == nullptr) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(const DeviceTensors tensors, DeviceTensors::Of(program->compiled));
    *device = tensors.device();
    return absl::OkStatus();
  });
}

weft_error* ProgramRunOnDevice(weft_program* program, const weft_run_options* options,
                               const weft_tensor* const* inputs, size_t num_inputs,
                               weft_managed_tensor** outputs, size_t num_outputs) {
  return Guarded("program_run_on_device", [&]() -> absl::Status {
    if (outputs != nullptr) std::fill_n(outputs, num_outputs, nullptr);
    WEFT_ASSIGN_OR_RETURN(Program * compiled, CompiledOf(program));
    WEFT_ASSIGN_OR_RETURN(const weft_run_options given, OptionsFrom(options));
    WEFT_RETURN_IF_ERROR(CheckOutputs(*program, outputs, num_outputs));
    WEFT_ASSIGN_OR_RETURN(DeviceTensors tensors, DeviceTensors::Of(compiled));
    WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> run_inputs,
                          InputsFrom(*program, inputs, num_inputs, &tensors));
    WEFT_ASSIGN_OR_RETURN(const std::vector<DeviceTensor> results, ResultsFrom(given, &tensors));
    DeviceRunOptions run;
    if (given.ordered != 0) run.stream = given.stream;
    run.outputs = results;
    WEFT_ASSIGN_OR_RETURN(std::vector<DeviceTensor> made, compiled->RunOnDevice(run_inputs, run));
    run_inputs.clear();
    std::vector<OwnedTensor> owned(made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      if (i < results.size() && results[i].valid()) continue;
      if (!made[i].on_host() && tensors.device() == kHost) {
        WEFT_ASSIGN_OR_RETURN(made[i], compiled->ToHost(made[i]));
      }
      owned[i] = tensors.Give(std::move(made[i]), !program->runs_plans);
    }
    for (size_t i = 0; i < owned.size(); ++i) outputs[i] = owned[i].release();
    return absl::OkStatus();
  });
}

weft_error* ProgramSynchronize(weft_program* program) {
  return Guarded("program_synchronize", [&]() -> absl::Status {
    WEFT_ASSIGN_OR_RETURN(Program * compiled, CompiledOf(program));
    return compiled->Synchronize();
  });
}

weft_error* ProgramCopyTensor(weft_program* program, const weft_tensor* tensor,
                              weft_dl_device device, weft_managed_tensor** copy) {
  return Guarded("program_copy_tensor", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(copy, "copy"));
    *copy = nullptr;
    WEFT_ASSIGN_OR_RETURN(Program * compiled, CompiledOf(program));
    WEFT_RETURN_IF_ERROR(CheckGiven(tensor, "tensor"));
    WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceSpace> space, compiled->device());
    DeviceTensors tensors(space);
    if (!(device == kHost) && !(device == tensors.device())) {
      return absl::InvalidArgumentError(absl::StrCat("the copy would be on device ",
                                                     DeviceText(device), "; the program's is ",
                                                     DeviceText(tensors.device())));
    }
    WEFT_ASSIGN_OR_RETURN(const DeviceTensor from, tensors.Borrow(*tensor, "the copy"));
    WEFT_ASSIGN_OR_RETURN(HostTensor host, compiled->ToHost(from));
    if (device == kHost) {
      *copy = tensors.Give(std::move(host), /*may_be_shared=*/false).release();
      return absl::OkStatus();
    }
    WEFT_ASSIGN_OR_RETURN(DeviceTensor made, space->ToDevice(host));
    *copy = tensors.Give(std::move(made), /*may_be_shared=*/false).release();
    return absl::OkStatus();
  });
}

}  // namespace weft::c
