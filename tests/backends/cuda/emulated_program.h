// A program on the emulated CUDA driver, compared with the reference executor. It runs own kernels
// unless the options say otherwise.
#ifndef WEFT_TESTS_BACKENDS_CUDA_EMULATED_PROGRAM_H_
#define WEFT_TESTS_BACKENDS_CUDA_EMULATED_PROGRAM_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/reference/executor.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cuda {

// The emulation; the test fails without it.
inline const Libraries& Emulated() {
  static const Libraries& libraries = *[] {
    auto opened = OpenLibraries("emulated", "");
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *opened;
  }();
  return libraries;
}

class EmulatedProgram {
 public:
  explicit EmulatedProgram(const std::string& text,
                           BackendOptions options = {{"cuda-driver", "emulated"},
                                                     {"cuda-cublaslt", "none"}})
      : module_(Parse(text)),
        backend_(MakeBackend()),
        target_(backend_->target()),
        options_(std::move(options)) {}

  void set_target(const Target& target) { target_ = target; }
  void set_observer(StepObserver* observer) { hooks_.observer = observer; }

  // The plan is made as it is, without passes.
  absl::Status Compile() {
    auto plan = Lower(*module_->main(), target_);
    if (!plan.ok()) return plan.status();
    auto made = backend_->Compile(*module_->main(), *std::move(plan), options_, hooks_);
    if (!made.ok()) return made.status();
    executable_ = *std::move(made);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs) {
    if (executable_ == nullptr) {
      const absl::Status status = Compile();
      if (!status.ok()) return status;
    }
    std::vector<HostTensor> outputs;
    std::vector<HostTensor> written;
    const absl::Status status =
        executable_->Run(inputs, std::vector<bool>(inputs.size()), &outputs, &written);
    if (!status.ok()) return status;
    return outputs;
  }

  // The same with all tensors in the device's memory; those of the runs before stay there.
  absl::StatusOr<std::vector<HostTensor>> RunOnDevice(const std::vector<HostTensor>& inputs) {
    std::vector<DeviceTensor> given;
    for (const HostTensor& input : inputs) {
      auto tensor = executable_->ToDevice(input);
      if (!tensor.ok()) return tensor.status();
      given.push_back(*std::move(tensor));
    }
    kept_.insert(kept_.end(), given.begin(), given.end());
    std::vector<DeviceTensor> outputs;
    std::vector<DeviceTensor> written;
    const absl::Status status =
        executable_->RunOnDevice(given, std::vector<bool>(given.size()), {}, &outputs, &written);
    if (!status.ok()) return status;
    std::vector<HostTensor> results;
    for (const DeviceTensor& output : outputs) {
      auto tensor = executable_->ToHost(output);
      if (!tensor.ok()) return tensor.status();
      results.push_back(*std::move(tensor));
    }
    return results;
  }

  void ExpectAsReference(const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
    ExpectAsReference(inputs, Run(inputs), tolerance);
  }
  // `got`: the outputs of a run.
  void ExpectAsReference(const std::vector<HostTensor>& inputs,
                         const absl::StatusOr<std::vector<HostTensor>>& got, double tolerance) {
    const auto want = reference::Run(*module_->main(), inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], {tolerance, tolerance}), "") << "output " << i;
    }
  }

  Counters counters() const { return executable_->counters(); }
  void Close() { executable_ = nullptr; }

 private:
  std::unique_ptr<Module> module_;
  std::unique_ptr<const Backend> backend_;
  Target target_;
  const BackendOptions options_;
  ExecutableHooks hooks_;
  std::unique_ptr<Executable> executable_;
  std::vector<DeviceTensor> kept_;
};

// Values that repeat late: floats between -1 and 1, and integers whose products wrap.
inline HostTensor Ramp(std::vector<int64_t> dims, DType dtype = DType::kF32) {
  HostTensor t(dtype, std::move(dims));
  const double step = !IsInt(dtype) ? 0.02 : DTypeBits(dtype) == 64 ? 0x1p40 + 3 : 40009;
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 97) - 48) * step;
  }
  if (IsInt(dtype)) {
    t.WriteInts(std::vector<int64_t>(values.begin(), values.end()));
  } else {
    t.WriteDoubles(values);
  }
  return t;
}

inline HostTensor Ints(std::vector<int64_t> dims, const std::vector<double>& values,
                       DType dtype = DType::kI64) {
  HostTensor t(dtype, std::move(dims));
  t.WriteDoubles(values);
  return t;
}

}  // namespace weft::cuda

#endif  // WEFT_TESTS_BACKENDS_CUDA_EMULATED_PROGRAM_H_
